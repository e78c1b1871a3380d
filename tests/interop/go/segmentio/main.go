// segmentio's kafka-go: the scenario of ../../README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	. "ballast.tests/interop/steps"
)

var codecs = []struct {
	name  string
	codec kafka.Compression
}{{"none", 0}, {"gzip", kafka.Gzip}, {"snappy", kafka.Snappy}, {"lz4", kafka.Lz4}, {"zstd", kafka.Zstd}}

var transport = &kafka.Transport{}
var client = &kafka.Client{Addr: kafka.TCP(Bootstrap...), Timeout: Patience, Transport: transport}

func names() (names []string) {
	for _, codec := range codecs {
		names = append(names, codec.name)
	}
	return names
}

func writer(codec kafka.Compression) *kafka.Writer {
	return &kafka.Writer{Addr: kafka.TCP(Bootstrap...), Topic: Topic, Balancer: &kafka.Hash{},
		BatchTimeout: 5 * time.Millisecond, RequiredAcks: kafka.RequireAll, Compression: codec}
}

func messages(values ...string) (messages []kafka.Message) {
	for _, value := range values {
		messages = append(messages, kafka.Message{Value: []byte(value)})
	}
	return messages
}

func member() *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{Brokers: Bootstrap, GroupID: Group, Topic: Topic,
		StartOffset: kafka.FirstOffset, MaxWait: 200 * time.Millisecond, JoinGroupBackoff: 200 * time.Millisecond,
		SessionTimeout: Session, RebalanceTimeout: 10 * time.Second})
}

// poll waits a little for one record.
func poll(reader *kafka.Reader, read *[]kafka.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if message, err := reader.FetchMessage(ctx); err == nil {
		*read = append(*read, message)
	}
}

func values(read []kafka.Message) (values []string) {
	for _, message := range read {
		values = append(values, string(message.Value))
	}
	return values
}

// held is how many partitions each member has been assigned.
func held() (counts []int) {
	told := Ask(func() (*kafka.DescribeGroupsResponse, error) {
		told, err := client.DescribeGroups(Within(), &kafka.DescribeGroupsRequest{GroupIDs: []string{Group}})
		if err == nil {
			err = told.Groups[0].Error
		}
		return told, err
	})
	for _, member := range told.Groups[0].Members {
		for _, topic := range member.MemberAssignments.Topics {
			counts = append(counts, len(topic.Partitions))
		}
	}
	return counts
}

func config(name string) string {
	resources := []kafka.DescribeConfigRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: Topic, ConfigNames: []string{name}}}
	told := Ask(func() (*kafka.DescribeConfigsResponse, error) {
		told, err := client.DescribeConfigs(Within(), &kafka.DescribeConfigsRequest{Resources: resources})
		if err == nil {
			err = told.Resources[0].Error
		}
		return told, err
	})
	return told.Resources[0].ConfigEntries[0].ConfigValue
}

func main() {
	Version("github.com/segmentio/kafka-go")
	administer()
	write()
	share()
	refuse()
}

func administer() {
	create := func() error {
		topic := kafka.TopicConfig{Topic: Topic, NumPartitions: Partitions, ReplicationFactor: Replicas,
			ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: Retention}}}
		told, err := client.CreateTopics(Within(), &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
		if err == nil {
			err = told.Errors[Topic]
		}
		return err
	}
	Step("create", func() string {
		Insist(create, kafka.TopicAlreadyExists)
		return "again: " + Refused(kafka.TopicAlreadyExists, create)
	})
	Step("describe", func() string {
		told := Ask(metadata(Topic))
		Check(len(told.Topics[0].Partitions) == Partitions, "%v", told.Topics[0])
		Settles("retention.ms", func() string { return config("retention.ms") }, Retention)
		return ""
	})
	Step("alter-config", func() string {
		limit := fmt.Sprint(MessageBytesMax)
		set := kafka.IncrementalAlterConfigsRequestConfig{
			Name: "max.message.bytes", Value: limit, ConfigOperation: kafka.ConfigOperationSet}
		change := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: Topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{set}}
		Insist(func() error {
			told, err := client.IncrementalAlterConfigs(Within(), &kafka.IncrementalAlterConfigsRequest{
				Resources: []kafka.IncrementalAlterConfigsRequestResource{change}})
			if err == nil {
				err = told.Resources[0].Error
			}
			return err
		})
		Settles("max.message.bytes", func() string { return config("max.message.bytes") }, limit)
		return ""
	})
}

// metadata asks about a topic.
func metadata(topic string) func() (*kafka.MetadataResponse, error) {
	return func() (*kafka.MetadataResponse, error) {
		told, err := client.Metadata(Within(), &kafka.MetadataRequest{Topics: []string{topic}})
		if err == nil {
			err = told.Topics[0].Error
		}
		return told, err
	}
}

func write() {
	Step("produce", func() string {
		for _, codec := range codecs {
			producer := writer(codec.codec)
			var batch []kafka.Message
			for _, record := range Records(codec.name) {
				batch = append(batch, kafka.Message{Key: record.Key, Value: record.Value})
			}
			Insist(func() error { return producer.WriteMessages(Within(), batch...) })
			Must(producer.Close())
		}
		return strings.Join(names(), " ")
	})
	Step("assign", func() string {
		wanted, read := AllValues(names()), []kafka.Message{}
		for p := range Partitions {
			reader := kafka.NewReader(kafka.ReaderConfig{
				Brokers: Bootstrap, Topic: Topic, Partition: p, MaxWait: 200 * time.Millisecond})
			Must(reader.SetOffset(kafka.FirstOffset))
			end := endOffset(p)
			Until("the partition's end", func() bool {
				if reader.Offset() < end {
					poll(reader, &read)
				}
				return reader.Offset() >= end
			})
			Must(reader.Close())
		}
		CheckSeen(values(read), wanted)
		return ""
	})
}

func endOffset(partition int) int64 {
	asked := map[string][]kafka.OffsetRequest{Topic: {kafka.LastOffsetOf(partition)}}
	told := Ask(func() (*kafka.ListOffsetsResponse, error) {
		told, err := client.ListOffsets(Within(), &kafka.ListOffsetsRequest{Topics: asked})
		if err == nil {
			err = told.Topics[Topic][0].Error
		}
		return told, err
	})
	return told.Topics[Topic][0].LastOffset
}

func share() {
	first, second, seen := member(), member(), []kafka.Message{}
	Step("group", func() string {
		Until("two members share the partitions and see all records", func() bool {
			poll(first, &seen)
			poll(second, &seen)
			// Asked once everything is read: the question is a round trip.
			if !HasAll(values(seen), AllValues(names())) {
				return false
			}
			counts := held()
			return len(counts) == 2 && counts[0]+counts[1] == Partitions
		})
		return ""
	})
	Step("rebalance", func() string {
		Must(second.Close())
		Until("one member holds everything", func() bool {
			poll(first, &seen)
			counts := held()
			return len(counts) == 1 && counts[0] == Partitions
		})
		return ""
	})
	Step("commit", func() string {
		Insist(func() error { return first.CommitMessages(Within(), seen...) })
		asked := map[string][]int{Topic: {0, 1, 2}}
		told := Ask(func() (*kafka.OffsetFetchResponse, error) {
			told, err := client.OffsetFetch(Within(), &kafka.OffsetFetchRequest{GroupID: Group, Topics: asked})
			if err == nil {
				err = told.Error
			}
			return told, err
		})
		for _, partition := range told.Topics[Topic] {
			end := endOffset(partition.Partition)
			at := partition.CommittedOffset
			Check(at == end, "partition %d: committed %d, end %d", partition.Partition, at, end)
		}
		return ""
	})
	Step("restart", func() string {
		producer, read := writer(0), []kafka.Message{}
		defer producer.Close()
		Insist(func() error { return producer.WriteMessages(Within(), messages("before")...) })
		// What it had read before the rebalance may come again: it was not committed yet.
		Until("the record before", func() bool { poll(first, &read); return HasAll(values(read), []string{"before"}) })
		Insist(func() error { return first.CommitMessages(Within(), read...) })
		Restart()
		// It would send its next question on a connection of before.
		transport.CloseIdleConnections()
		Insist(func() error { return producer.WriteMessages(Within(), messages(After...)...) })
		read = nil
		Until("the records after", func() bool { poll(first, &read); return HasAll(values(read), After) })
		CheckSeen(values(read), After)
		Must(first.Close())
		return ""
	})
	Step("resume", func() string {
		again, read := member(), []kafka.Message{}
		Until("the records after the commit", func() bool { poll(again, &read); return HasAll(values(read), After) })
		Must(again.Close())
		CheckSeen(values(read), After)
		return ""
	})
}

func refuse() {
	Step("unknown-topic", func() string {
		return Refused(kafka.UnknownTopicOrPartition, func() error { _, err := metadata(Missing)(); return err })
	})
	Step("too-large", func() string {
		producer := writer(0)
		defer producer.Close()
		return Refused(kafka.MessageSizeTooLarge, func() error {
			err := producer.WriteMessages(Within(), kafka.Message{Value: make([]byte, 5*MessageBytesMax)})
			var each kafka.WriteErrors
			if errors.As(err, &each) {
				return each[0]
			}
			return err
		})
	})
	Step("out-of-range", func() string {
		far := &kafka.FetchRequest{Topic: Topic, Partition: 0, Offset: 1_000_000, MaxWait: time.Second}
		return Refused(kafka.OffsetOutOfRange, func() error {
			told, err := client.Fetch(Within(), far)
			if err == nil {
				err = told.Error
			}
			return err
		})
	})
	Step("delete", func() string {
		remove := func() error {
			told, err := client.DeleteTopics(Within(), &kafka.DeleteTopicsRequest{Topics: []string{Topic}})
			if err == nil {
				err = told.Errors[Topic]
			}
			return err
		}
		Insist(remove, kafka.UnknownTopicOrPartition)
		Insist(func() error {
			told, err := client.DeleteGroups(Within(), &kafka.DeleteGroupsRequest{GroupIDs: []string{Group}})
			if err == nil {
				err = told.Errors[Group]
			}
			return err
		}, kafka.GroupIdNotFound)
		return "again: " + Refused(kafka.UnknownTopicOrPartition, remove)
	})
}

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
var client = &kafka.Client{Addr: kafka.TCP(Bootstrap), Timeout: Patience, Transport: transport}

func names() (names []string) {
	for _, codec := range codecs {
		names = append(names, codec.name)
	}
	return names
}

func writer(codec kafka.Compression) *kafka.Writer {
	return &kafka.Writer{Addr: kafka.TCP(Bootstrap), Topic: Topic, Balancer: &kafka.Hash{},
		BatchTimeout: 5 * time.Millisecond, RequiredAcks: kafka.RequireAll, Compression: codec}
}

func messages(values ...string) (messages []kafka.Message) {
	for _, value := range values {
		messages = append(messages, kafka.Message{Value: []byte(value)})
	}
	return messages
}

func member() *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{Brokers: []string{Bootstrap}, GroupID: Group, Topic: Topic,
		StartOffset: kafka.FirstOffset, MaxWait: 200 * time.Millisecond, JoinGroupBackoff: 200 * time.Millisecond,
		SessionTimeout: 10 * time.Second, RebalanceTimeout: 10 * time.Second})
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
	told := Get(client.DescribeGroups(Within(), &kafka.DescribeGroupsRequest{GroupIDs: []string{Group}}))
	Must(told.Groups[0].Error)
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
	told := Get(client.DescribeConfigs(Within(), &kafka.DescribeConfigsRequest{Resources: resources}))
	Must(told.Resources[0].Error)
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
		topic := kafka.TopicConfig{Topic: Topic, NumPartitions: Partitions, ReplicationFactor: 1,
			ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: Retention}}}
		return Get(client.CreateTopics(Within(), &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})).Errors[Topic]
	}
	Step("create", func() string {
		Must(create())
		again := create()
		Check(errors.Is(again, kafka.TopicAlreadyExists), "again: %v", again)
		return "again: " + again.Error()
	})
	Step("describe", func() string {
		told := Get(client.Metadata(Within(), &kafka.MetadataRequest{Topics: []string{Topic}}))
		Must(told.Topics[0].Error)
		Check(len(told.Topics[0].Partitions) == Partitions, "%v", told.Topics[0])
		Check(config("retention.ms") == Retention, "retention.ms=%s", config("retention.ms"))
		return ""
	})
	Step("alter-config", func() string {
		limit := fmt.Sprint(MessageBytesMax)
		set := kafka.IncrementalAlterConfigsRequestConfig{
			Name: "max.message.bytes", Value: limit, ConfigOperation: kafka.ConfigOperationSet}
		change := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: Topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{set}}
		told := Get(client.IncrementalAlterConfigs(Within(), &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{change}}))
		Must(told.Resources[0].Error)
		Check(config("max.message.bytes") == limit, "%s", config("max.message.bytes"))
		return ""
	})
}

func write() {
	Step("produce", func() string {
		for _, codec := range codecs {
			producer := writer(codec.codec)
			var batch []kafka.Message
			for _, record := range Records(codec.name) {
				batch = append(batch, kafka.Message{Key: record.Key, Value: record.Value})
			}
			Must(producer.WriteMessages(Within(), batch...))
			Must(producer.Close())
		}
		return strings.Join(names(), " ")
	})
	Step("assign", func() string {
		wanted, read := AllValues(names()), []kafka.Message{}
		for p := range Partitions {
			reader := kafka.NewReader(kafka.ReaderConfig{
				Brokers: []string{Bootstrap}, Topic: Topic, Partition: p, MaxWait: 200 * time.Millisecond})
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
		CheckValues(values(read), wanted)
		return ""
	})
}

func endOffset(partition int) int64 {
	asked := map[string][]kafka.OffsetRequest{Topic: {kafka.LastOffsetOf(partition)}}
	told := Get(client.ListOffsets(Within(), &kafka.ListOffsetsRequest{Topics: asked}))
	Must(told.Topics[Topic][0].Error)
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
		Must(first.CommitMessages(Within(), seen...))
		asked := map[string][]int{Topic: {0, 1, 2}}
		told := Get(client.OffsetFetch(Within(), &kafka.OffsetFetchRequest{GroupID: Group, Topics: asked}))
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
		Must(producer.WriteMessages(Within(), messages("before")...))
		// What it had read before the rebalance may come again: it was not committed yet.
		Until("the record before", func() bool { poll(first, &read); return HasAll(values(read), []string{"before"}) })
		Must(first.CommitMessages(Within(), read...))
		Restart()
		// It would send its next question on a connection of before.
		transport.CloseIdleConnections()
		Must(producer.WriteMessages(Within(), messages(After...)...))
		read = nil
		Until("the records after", func() bool { poll(first, &read); return len(read) >= len(After) })
		CheckValues(values(read), After)
		Must(first.Close())
		return ""
	})
	Step("resume", func() string {
		again, read := member(), []kafka.Message{}
		Until("the records after the commit", func() bool { poll(again, &read); return len(read) >= len(After) })
		Must(again.Close())
		CheckValues(values(read), After)
		return ""
	})
}

func refuse() {
	Step("unknown-topic", func() string {
		told := Get(client.Metadata(Within(), &kafka.MetadataRequest{Topics: []string{Missing}}))
		err := told.Topics[0].Error
		Check(errors.Is(err, kafka.UnknownTopicOrPartition), "%v", err)
		return err.Error()
	})
	Step("too-large", func() string {
		producer := writer(0)
		defer producer.Close()
		err := producer.WriteMessages(Within(), kafka.Message{Value: make([]byte, 5*MessageBytesMax)})
		Check(err != nil && strings.Contains(err.Error(), "Message Size Too Large"), "%v", err)
		return err.Error()
	})
	Step("out-of-range", func() string {
		far := &kafka.FetchRequest{Topic: Topic, Partition: 0, Offset: 1_000_000, MaxWait: time.Second}
		told := Get(client.Fetch(Within(), far))
		Check(errors.Is(told.Error, kafka.OffsetOutOfRange), "%v", told.Error)
		return told.Error.Error()
	})
	Step("delete", func() string {
		remove := func() error {
			return Get(client.DeleteTopics(Within(), &kafka.DeleteTopicsRequest{Topics: []string{Topic}})).Errors[Topic]
		}
		Must(remove())
		told := Get(client.DeleteGroups(Within(), &kafka.DeleteGroupsRequest{GroupIDs: []string{Group}}))
		Must(told.Errors[Group])
		err := remove()
		Check(errors.Is(err, kafka.UnknownTopicOrPartition), "%v", err)
		return "again: " + err.Error()
	})
}

// sarama: the scenario of ../../README.md, then a short one in the name of every Kafka version from 2.1 on.
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"

	. "ballast.tests/interop/steps"
)

var codecs = []sarama.CompressionCodec{
	sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4,
	sarama.CompressionZSTD,
}

func settings(version sarama.KafkaVersion) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = version
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = Session
	return config
}

func newest() *sarama.Config { return settings(sarama.MaxVersion) }

func names() (names []string) {
	for _, codec := range codecs {
		names = append(names, codec.String())
	}
	return names
}

func send(producer sarama.SyncProducer, topic string, records ...Record) {
	var messages []*sarama.ProducerMessage
	for _, record := range records {
		message := &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(record.Value)}
		if record.Key != nil {
			message.Key = sarama.ByteEncoder(record.Key)
		}
		messages = append(messages, message)
	}
	Insist(func() error { return producer.SendMessages(messages) })
}

func sendValues(producer sarama.SyncProducer, values ...string) {
	for _, value := range values {
		send(producer, Topic, Record{Value: []byte(value)})
	}
}

// read reads a topic by assignment until it has seen all that is wanted.
func read(config *sarama.Config, topic string, partitions int32, wanted []string) (values []string) {
	consumer := Ask(func() (sarama.Consumer, error) { return sarama.NewConsumer(Bootstrap, config) })
	found := make(chan string, len(wanted))
	var parts []sarama.PartitionConsumer
	for p := range partitions {
		part := Ask(func() (sarama.PartitionConsumer, error) {
			return consumer.ConsumePartition(topic, p, sarama.OffsetOldest)
		})
		parts = append(parts, part)
		go func() {
			for message := range part.Messages() {
				found <- string(message.Value)
			}
		}()
	}
	for patience := time.After(Patience); !HasAll(values, wanted); {
		select {
		case value := <-found:
			values = append(values, value)
		case <-patience:
			panic(fmt.Sprintf("%d values after %v", len(values), Patience))
		}
	}
	for _, part := range parts {
		Must(part.Close())
	}
	Must(consumer.Close())
	return values
}

func config(admin sarama.ClusterAdmin, name string) string {
	resource := sarama.ConfigResource{Type: sarama.TopicResource, Name: Topic, ConfigNames: []string{name}}
	entries := Ask(func() ([]sarama.ConfigEntry, error) { return admin.DescribeConfig(resource) })
	Check(len(entries) == 1, "%d entries of %s", len(entries), name)
	return entries[0].Value
}

func main() {
	Version("github.com/IBM/sarama")
	admin := Ask(func() (sarama.ClusterAdmin, error) { return sarama.NewClusterAdmin(Bootstrap, newest()) })
	administer(admin)
	write()
	share(admin)
	refuse(admin)
	Step("versions", everyVersion)
}

func administer(admin sarama.ClusterAdmin) {
	retention := Retention
	create := func() error {
		settings := map[string]*string{"retention.ms": &retention}
		detail := &sarama.TopicDetail{NumPartitions: Partitions, ReplicationFactor: int16(Replicas), ConfigEntries: settings}
		return admin.CreateTopic(Topic, detail, false)
	}
	Step("create", func() string {
		Insist(create, sarama.ErrTopicAlreadyExists)
		return "again: " + Refused(sarama.ErrTopicAlreadyExists, create)
	})
	Step("describe", func() string {
		topics := Ask(func() ([]*sarama.TopicMetadata, error) { return admin.DescribeTopics([]string{Topic}) })
		Check(len(topics) == 1 && len(topics[0].Partitions) == Partitions, "%v", topics)
		Settles("retention.ms", func() string { return config(admin, "retention.ms") }, Retention)
		return ""
	})
	Step("alter-config", func() string {
		limit := fmt.Sprint(MessageBytesMax)
		change := map[string]sarama.IncrementalAlterConfigsEntry{
			"max.message.bytes": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &limit}}
		Insist(func() error { return admin.IncrementalAlterConfig(sarama.TopicResource, Topic, change, false) })
		Settles("max.message.bytes", func() string { return config(admin, "max.message.bytes") }, limit)
		return ""
	})
}

func write() {
	Step("produce", func() string {
		for _, codec := range codecs {
			config := newest()
			config.Producer.Compression = codec
			producer := Ask(func() (sarama.SyncProducer, error) { return sarama.NewSyncProducer(Bootstrap, config) })
			send(producer, Topic, Records(codec.String())...)
			Must(producer.Close())
		}
		return strings.Join(names(), " ")
	})
	Step("assign", func() string {
		wanted := AllValues(names())
		CheckSeen(read(newest(), Topic, Partitions, wanted), wanted)
		return ""
	})
}

func share(admin sarama.ClusterAdmin) {
	first, second := Join(newest(), Group, Topic), Join(newest(), Group, Topic)
	Step("group", func() string {
		Until("two members share the partitions and see all records", func() bool {
			seen := append(first.Values(), second.Values()...)
			return first.Held() > 0 && second.Held() > 0 && first.Held()+second.Held() == Partitions &&
				HasAll(seen, AllValues(names()))
		})
		return ""
	})
	Step("rebalance", func() string {
		second.Leave()
		Until("one member holds everything", func() bool { return first.Held() == Partitions })
		return ""
	})
	Step("commit", func() string {
		client := Ask(func() (sarama.Client, error) { return sarama.NewClient(Bootstrap, newest()) })
		defer client.Close()
		Until("everything is committed", func() bool {
			first.Commit()
			told := Ask(func() (*sarama.OffsetFetchResponse, error) {
				return admin.ListConsumerGroupOffsets(Group, map[string][]int32{Topic: {0, 1, 2}})
			})
			for p := range int32(Partitions) {
				if told.GetBlock(Topic, p).Offset != Ask(func() (int64, error) {
					return client.GetOffset(Topic, p, sarama.OffsetNewest)
				}) {
					return false
				}
			}
			return true
		})
		return ""
	})
	Step("restart", func() string {
		producer := Ask(func() (sarama.SyncProducer, error) { return sarama.NewSyncProducer(Bootstrap, newest()) })
		defer producer.Close()
		sendValues(producer, "before")
		Until("the record before", func() bool { return HasAll(first.Values(), []string{"before"}) })
		first.Commit()
		first.Hold()
		Restart()
		sendValues(producer, After...)
		Until("the records after", func() bool { return HasAll(first.Values(), After) })
		first.Leave()
		return ""
	})
	Step("resume", func() string {
		again := Join(newest(), Group, Topic)
		Until("the records after the commit", func() bool { return HasAll(again.Values(), After) })
		again.Leave()
		CheckSeen(again.Values(), After)
		return ""
	})
}

func refuse(admin sarama.ClusterAdmin) {
	Step("unknown-topic", func() string {
		producer := Ask(func() (sarama.SyncProducer, error) { return sarama.NewSyncProducer(Bootstrap, newest()) })
		defer producer.Close()
		return Refused(sarama.ErrUnknownTopicOrPartition, func() error {
			_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: Missing, Value: sarama.StringEncoder("x")})
			return err
		})
	})
	Step("too-large", func() string {
		producer := Ask(func() (sarama.SyncProducer, error) { return sarama.NewSyncProducer(Bootstrap, newest()) })
		defer producer.Close()
		large := sarama.ByteEncoder(make([]byte, 5*MessageBytesMax))
		return Refused(sarama.ErrMessageSizeTooLarge, func() error {
			_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: Topic, Value: large})
			return err
		})
	})
	Step("out-of-range", func() string {
		consumer := Ask(func() (sarama.Consumer, error) { return sarama.NewConsumer(Bootstrap, newest()) })
		defer consumer.Close()
		return Refused(sarama.ErrOffsetOutOfRange, func() error {
			_, err := consumer.ConsumePartition(Topic, 0, 1_000_000)
			return err
		})
	})
	Step("delete", func() string {
		remove := func() error { return admin.DeleteTopic(Topic) }
		Insist(remove, sarama.ErrUnknownTopicOrPartition)
		Insist(func() error { return admin.DeleteConsumerGroup(Group) }, sarama.ErrGroupIDNotFound)
		return "again: " + Refused(sarama.ErrUnknownTopicOrPartition, remove)
	})
}

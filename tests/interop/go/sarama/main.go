// sarama: the scenario of ../../README.md, then a short one in the name of every Kafka version from 2.1 on.
package main

import (
	"errors"
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
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = 10 * time.Second
	return config
}

func newest() *sarama.Config { return settings(sarama.MaxVersion) }

func brokers() []string { return []string{Bootstrap} }

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
	Must(producer.SendMessages(messages))
}

func sendValues(producer sarama.SyncProducer, values ...string) {
	for _, value := range values {
		send(producer, Topic, Record{Value: []byte(value)})
	}
}

// read reads `count` values of a topic by assignment.
func read(config *sarama.Config, topic string, partitions int32, count int) (values []string) {
	consumer := Get(sarama.NewConsumer(brokers(), config))
	found := make(chan string, count)
	var parts []sarama.PartitionConsumer
	for p := range partitions {
		part := Get(consumer.ConsumePartition(topic, p, sarama.OffsetOldest))
		parts = append(parts, part)
		go func() {
			for message := range part.Messages() {
				found <- string(message.Value)
			}
		}()
	}
	for patience := time.After(Patience); len(values) < count; {
		select {
		case value := <-found:
			values = append(values, value)
		case <-patience:
			panic(fmt.Sprintf("%d of %d values after %v", len(values), count, Patience))
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
	entries := Get(admin.DescribeConfig(resource))
	Check(len(entries) == 1, "%d entries of %s", len(entries), name)
	return entries[0].Value
}

func main() {
	Version("github.com/IBM/sarama")
	admin := Get(sarama.NewClusterAdmin(brokers(), newest()))
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
		detail := &sarama.TopicDetail{NumPartitions: Partitions, ReplicationFactor: 1, ConfigEntries: settings}
		return admin.CreateTopic(Topic, detail, false)
	}
	Step("create", func() string {
		Must(create())
		again := create()
		Check(errors.Is(again, sarama.ErrTopicAlreadyExists), "again: %v", again)
		return "again: " + again.Error()
	})
	Step("describe", func() string {
		topics := Get(admin.DescribeTopics([]string{Topic}))
		Check(len(topics) == 1 && len(topics[0].Partitions) == Partitions, "%v", topics)
		Check(config(admin, "retention.ms") == Retention, "retention.ms=%s", config(admin, "retention.ms"))
		return ""
	})
	Step("alter-config", func() string {
		limit := fmt.Sprint(MessageBytesMax)
		change := map[string]sarama.IncrementalAlterConfigsEntry{
			"max.message.bytes": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &limit}}
		Must(admin.IncrementalAlterConfig(sarama.TopicResource, Topic, change, false))
		Check(config(admin, "max.message.bytes") == limit, "%s", config(admin, "max.message.bytes"))
		return ""
	})
}

func write() {
	Step("produce", func() string {
		for _, codec := range codecs {
			config := newest()
			config.Producer.Compression = codec
			producer := Get(sarama.NewSyncProducer(brokers(), config))
			send(producer, Topic, Records(codec.String())...)
			Must(producer.Close())
		}
		return strings.Join(names(), " ")
	})
	Step("assign", func() string {
		wanted := AllValues(names())
		CheckValues(read(newest(), Topic, Partitions, len(wanted)), wanted)
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
		client := Get(sarama.NewClient(brokers(), newest()))
		defer client.Close()
		Until("everything is committed", func() bool {
			first.Commit()
			told := Get(admin.ListConsumerGroupOffsets(Group, map[string][]int32{Topic: {0, 1, 2}}))
			for p := range int32(Partitions) {
				if told.GetBlock(Topic, p).Offset != Get(client.GetOffset(Topic, p, sarama.OffsetNewest)) {
					return false
				}
			}
			return true
		})
		return ""
	})
	Step("restart", func() string {
		producer := Get(sarama.NewSyncProducer(brokers(), newest()))
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
		Until("the records after the commit", func() bool { return len(again.Values()) >= len(After) })
		again.Leave()
		CheckValues(again.Values(), After)
		return ""
	})
}

func refuse(admin sarama.ClusterAdmin) {
	Step("unknown-topic", func() string {
		producer := Get(sarama.NewSyncProducer(brokers(), newest()))
		defer producer.Close()
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: Missing, Value: sarama.StringEncoder("x")})
		Check(errors.Is(err, sarama.ErrUnknownTopicOrPartition), "%v", err)
		return err.Error()
	})
	Step("too-large", func() string {
		producer := Get(sarama.NewSyncProducer(brokers(), newest()))
		defer producer.Close()
		large := sarama.ByteEncoder(make([]byte, 5*MessageBytesMax))
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: Topic, Value: large})
		Check(errors.Is(err, sarama.ErrMessageSizeTooLarge), "%v", err)
		return err.Error()
	})
	Step("out-of-range", func() string {
		consumer := Get(sarama.NewConsumer(brokers(), newest()))
		defer consumer.Close()
		_, err := consumer.ConsumePartition(Topic, 0, 1_000_000)
		Check(errors.Is(err, sarama.ErrOffsetOutOfRange), "%v", err)
		return err.Error()
	})
	Step("delete", func() string {
		Must(admin.DeleteTopic(Topic))
		Must(admin.DeleteConsumerGroup(Group))
		err := admin.DeleteTopic(Topic)
		Check(errors.Is(err, sarama.ErrUnknownTopicOrPartition), "%v", err)
		return "again: " + err.Error()
	})
}

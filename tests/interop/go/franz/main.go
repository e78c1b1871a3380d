// franz-go (kgo and kadm): the scenario of ../../README.md.
package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	. "ballast.tests/interop/steps"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}
var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

func client(options ...kgo.Opt) *kgo.Client {
	return Get(kgo.NewClient(append(options, kgo.SeedBrokers(Bootstrap))...))
}

func member() *kgo.Client {
	return client(kgo.ConsumerGroup(Group), kgo.ConsumeTopics(Topic), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(10*time.Second), kgo.RebalanceTimeout(20*time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(kgo.RangeBalancer()))
}

// poll waits a little for records. Errors that a restart explains pass.
func poll(consumer *kgo.Client, values *[]string) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	consumer.PollFetches(ctx).EachRecord(func(record *kgo.Record) { *values = append(*values, string(record.Value)) })
}

// held is how many partitions a member has been assigned.
func held(admin *kadm.Client) (counts []int) {
	group := Get(admin.DescribeGroups(Within(), Group))[Group]
	Must(group.Err)
	for _, member := range group.Members {
		if assigned, ok := member.Assigned.AsConsumer(); ok {
			for _, topic := range assigned.Topics {
				counts = append(counts, len(topic.Partitions))
			}
		}
	}
	return counts
}

func config(admin *kadm.Client, name string) string {
	configs := Get(Get(admin.DescribeTopicConfigs(Within(), Topic)).On(Topic, nil))
	Must(configs.Err)
	for _, config := range configs.Configs {
		if config.Key == name {
			return config.MaybeValue()
		}
	}
	panic("no config " + name)
}

func main() {
	Version("github.com/twmb/franz-go")
	admin := kadm.NewClient(client())
	administer(admin)
	write()
	first, second := member(), member()
	share(admin, first, second)
	goOn(first)
	refuse(admin)
}

func administer(admin *kadm.Client) {
	retention := Retention
	create := func() error {
		settings := map[string]*string{"retention.ms": &retention}
		return Get(admin.CreateTopics(Within(), Partitions, 1, settings, Topic))[Topic].Err
	}
	Step("create", func() string {
		Must(create())
		again := create()
		Check(errors.Is(again, kerr.TopicAlreadyExists), "again: %v", again)
		return "again: " + again.Error()
	})
	Step("describe", func() string {
		topic := Get(admin.ListTopics(Within(), Topic))[Topic]
		Must(topic.Err)
		Check(len(topic.Partitions) == Partitions, "%v", topic.Partitions)
		Check(config(admin, "retention.ms") == Retention, "retention.ms=%s", config(admin, "retention.ms"))
		return ""
	})
	Step("alter-config", func() string {
		limit := "20000"
		change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &limit}}
		Must(Get(Get(admin.AlterTopicConfigs(Within(), change, Topic)).On(Topic, nil)).Err)
		Check(config(admin, "max.message.bytes") == limit, "%s", config(admin, "max.message.bytes"))
		return ""
	})
}

func send(producer *kgo.Client, values ...string) {
	for _, value := range values {
		Must(producer.ProduceSync(Within(), &kgo.Record{Topic: Topic, Value: []byte(value)}).FirstErr())
	}
}

func write() {
	Step("produce", func() string {
		for _, codec := range codecNames {
			producer := client(kgo.ProducerBatchCompression(codecs[codec]), kgo.ProducerLinger(5*time.Millisecond))
			var records []*kgo.Record
			for _, record := range Records(codec) {
				records = append(records, &kgo.Record{Topic: Topic, Key: record.Key, Value: record.Value})
			}
			Must(producer.ProduceSync(Within(), records...).FirstErr())
			producer.Close()
		}
		return strings.Join(codecNames, " ")
	})
	Step("assign", func() string {
		places := map[string]map[int32]kgo.Offset{Topic: {}}
		for p := range int32(Partitions) {
			places[Topic][p] = kgo.NewOffset().AtStart()
		}
		reader, values := client(kgo.ConsumePartitions(places)), []string{}
		defer reader.Close()
		wanted := AllValues(codecNames)
		Until("all records", func() bool { poll(reader, &values); return len(values) >= len(wanted) })
		CheckValues(values, wanted)
		return ""
	})
}

func share(admin *kadm.Client, first, second *kgo.Client) {
	Step("group", func() string {
		seen := []string{}
		Until("two members share the partitions and see all records", func() bool {
			poll(first, &seen)
			poll(second, &seen)
			counts := held(admin)
			return len(counts) == 2 && counts[0]+counts[1] == Partitions && HasAll(seen, AllValues(codecNames))
		})
		return ""
	})
	Step("rebalance", func() string {
		second.Close()
		Until("one member holds everything", func() bool {
			poll(first, &[]string{})
			counts := held(admin)
			return len(counts) == 1 && counts[0] == Partitions
		})
		return ""
	})
	Step("commit", func() string {
		ends := Get(admin.ListEndOffsets(Within(), Topic)).Offsets()
		var failed error
		tell := func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
			failed = err
		}
		first.CommitOffsetsSync(Within(), toCommit(ends), tell)
		Must(failed)
		first.SetOffsets(toCommit(ends))
		committed := Get(admin.FetchOffsets(Within(), Group))
		for p := range int32(Partitions) {
			at, _ := committed.Lookup(Topic, p)
			end, _ := ends.Lookup(Topic, p)
			Check(at.At == end.At, "partition %d: committed %d, end %d", p, at.At, end.At)
		}
		return ""
	})
}

func toCommit(offsets kadm.Offsets) map[string]map[int32]kgo.EpochOffset {
	places := map[string]map[int32]kgo.EpochOffset{}
	offsets.Each(func(o kadm.Offset) {
		if places[o.Topic] == nil {
			places[o.Topic] = map[int32]kgo.EpochOffset{}
		}
		places[o.Topic][o.Partition] = kgo.EpochOffset{Epoch: -1, Offset: o.At}
	})
	return places
}

func goOn(first *kgo.Client) {
	Step("restart", func() string {
		producer, values := client(), []string{}
		defer producer.Close()
		send(producer, "before")
		Until("the record before", func() bool { poll(first, &values); return len(values) > 0 })
		CheckValues(values, []string{"before"})
		Must(first.CommitUncommittedOffsets(Within()))
		Restart()
		send(producer, After...)
		values = values[:0]
		Until("the records after", func() bool { poll(first, &values); return len(values) >= len(After) })
		CheckValues(values, After)
		first.Close()
		return ""
	})
	Step("resume", func() string {
		again, values := member(), []string{}
		Until("the records after the commit", func() bool { poll(again, &values); return len(values) >= len(After) })
		again.Close()
		CheckValues(values, After)
		return ""
	})
}

func refuse(admin *kadm.Client) {
	Step("unknown-topic", func() string {
		producer := client(kgo.UnknownTopicRetries(2))
		defer producer.Close()
		err := producer.ProduceSync(Within(), &kgo.Record{Topic: Missing, Value: []byte("x")}).FirstErr()
		Check(errors.Is(err, kerr.UnknownTopicOrPartition), "%v", err)
		return err.Error()
	})
	Step("too-large", func() string {
		producer := client(kgo.ProducerBatchCompression(kgo.NoCompression()))
		defer producer.Close()
		large := &kgo.Record{Topic: Topic, Value: make([]byte, 5*MessageBytesMax)}
		err := producer.ProduceSync(Within(), large).FirstErr()
		Check(errors.Is(err, kerr.MessageTooLarge), "%v", err)
		return err.Error()
	})
	Step("out-of-range", func() string {
		far := map[string]map[int32]kgo.Offset{Topic: {0: kgo.NewOffset().At(1_000_000)}}
		reader := client(kgo.ConsumePartitions(far), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
		defer reader.Close()
		err := reader.PollFetches(Within()).Err()
		Check(errors.Is(err, kerr.OffsetOutOfRange), "%v", err)
		return err.Error()
	})
	Step("delete", func() string {
		Must(Get(admin.DeleteTopics(Within(), Topic)).Error())
		Must(Get(admin.DeleteGroups(Within(), Group)).Error())
		err := Get(admin.DeleteTopics(Within(), Topic)).Error()
		Check(errors.Is(err, kerr.UnknownTopicOrPartition), "%v", err)
		return "again: " + err.Error()
	})
}

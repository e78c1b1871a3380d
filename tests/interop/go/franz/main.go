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
	return Get(kgo.NewClient(append(options, kgo.SeedBrokers(Bootstrap...))...))
}

func member() *kgo.Client {
	return client(kgo.ConsumerGroup(Group), kgo.ConsumeTopics(Topic), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(Session), kgo.RebalanceTimeout(20*time.Second),
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
	group := Ask(func() (kadm.DescribedGroup, error) {
		told, err := admin.DescribeGroups(Within(), Group)
		if err != nil {
			return kadm.DescribedGroup{}, err
		}
		return told[Group], told[Group].Err
	})
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
	configs := Ask(func() (kadm.ResourceConfig, error) {
		told, err := admin.DescribeTopicConfigs(Within(), Topic)
		if err != nil {
			return kadm.ResourceConfig{}, err
		}
		configs, err := told.On(Topic, nil)
		return configs, errors.Join(err, configs.Err)
	})
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
	goOn(admin, first)
	refuse(admin)
}

func administer(admin *kadm.Client) {
	retention := Retention
	create := func() error {
		settings := map[string]*string{"retention.ms": &retention}
		told, err := admin.CreateTopics(Within(), Partitions, int16(Replicas), settings, Topic)
		return errors.Join(err, told[Topic].Err)
	}
	Step("create", func() string {
		Insist(create, kerr.TopicAlreadyExists)
		return "again: " + Refused(kerr.TopicAlreadyExists, create)
	})
	Step("describe", func() string {
		topic := Ask(func() (kadm.TopicDetail, error) {
			told, err := admin.ListTopics(Within(), Topic)
			return told[Topic], errors.Join(err, told[Topic].Err)
		})
		Check(len(topic.Partitions) == Partitions, "%v", topic.Partitions)
		Settles("retention.ms", func() string { return config(admin, "retention.ms") }, Retention)
		return ""
	})
	Step("alter-config", func() string {
		limit := "20000"
		change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &limit}}
		Insist(func() error {
			told, err := admin.AlterTopicConfigs(Within(), change, Topic)
			if err != nil {
				return err
			}
			altered, err := told.On(Topic, nil)
			return errors.Join(err, altered.Err)
		})
		Settles("max.message.bytes", func() string { return config(admin, "max.message.bytes") }, limit)
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
		Until("all records", func() bool { poll(reader, &values); return HasAll(values, wanted) })
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
		ends := commitEnds(admin, first, &[]string{})
		first.SetOffsets(toCommit(ends))
		committed := Ask(func() (kadm.OffsetResponses, error) {
			told, err := admin.FetchOffsets(Within(), Group)
			return told, errors.Join(err, told.Error())
		})
		for p := range int32(Partitions) {
			at, _ := committed.Lookup(Topic, p)
			end, _ := ends.Lookup(Topic, p)
			Check(at.At == end.At, "partition %d: committed %d, end %d", p, at.At, end.At)
		}
		return ""
	})
}

// commitEnds commits the ends: a member that has just come back stands where it had committed before.
func commitEnds(admin *kadm.Client, first *kgo.Client, values *[]string) kadm.Offsets {
	ends := Ask(func() (kadm.Offsets, error) {
		told, err := admin.ListEndOffsets(Within(), Topic)
		return told.Offsets(), errors.Join(err, told.Error())
	})
	Insist(func() (failed error) {
		poll(first, values)
		first.CommitOffsetsSync(Within(), toCommit(ends), func(
			_ *kgo.Client, _ *kmsg.OffsetCommitRequest, told *kmsg.OffsetCommitResponse, err error) {
			failed = errors.Join(err, commitError(told))
		})
		return failed
	})
	return ends
}

// commitError is what the broker said of a partition, if it said no to one.
func commitError(told *kmsg.OffsetCommitResponse) error {
	if told == nil {
		return nil
	}
	for _, topic := range told.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
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

func goOn(admin *kadm.Client, first *kgo.Client) {
	Step("restart", func() string {
		producer, values := client(), []string{}
		defer producer.Close()
		send(producer, "before")
		Until("the record before", func() bool { poll(first, &values); return HasAll(values, []string{"before"}) })
		CheckSeen(values, []string{"before"})
		commitEnds(admin, first, &values)
		Restart()
		send(producer, After...)
		values = values[:0]
		Until("the records after", func() bool { poll(first, &values); return HasAll(values, After) })
		CheckSeen(values, After)
		first.Close()
		return ""
	})
	Step("resume", func() string {
		again, values := member(), []string{}
		Until("the records after the commit", func() bool { poll(again, &values); return HasAll(values, After) })
		again.Close()
		CheckSeen(values, After)
		return ""
	})
}

func refuse(admin *kadm.Client) {
	Step("unknown-topic", func() string {
		producer := client(kgo.UnknownTopicRetries(2))
		defer producer.Close()
		return Refused(kerr.UnknownTopicOrPartition, func() error {
			return producer.ProduceSync(Within(), &kgo.Record{Topic: Missing, Value: []byte("x")}).FirstErr()
		})
	})
	Step("too-large", func() string {
		producer := client(kgo.ProducerBatchCompression(kgo.NoCompression()))
		defer producer.Close()
		large := &kgo.Record{Topic: Topic, Value: make([]byte, 5*MessageBytesMax)}
		return Refused(kerr.MessageTooLarge, func() error { return producer.ProduceSync(Within(), large).FirstErr() })
	})
	Step("out-of-range", func() string {
		far := map[string]map[int32]kgo.Offset{Topic: {0: kgo.NewOffset().At(1_000_000)}}
		reader := client(kgo.ConsumePartitions(far), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
		defer reader.Close()
		return Refused(kerr.OffsetOutOfRange, func() error { return reader.PollFetches(Within()).Err() })
	})
	Step("delete", func() string {
		remove := func() error {
			told, err := admin.DeleteTopics(Within(), Topic)
			return errors.Join(err, told.Error())
		}
		Insist(remove, kerr.UnknownTopicOrPartition)
		Insist(func() error {
			told, err := admin.DeleteGroups(Within(), Group)
			return errors.Join(err, told.Error())
		}, kerr.GroupIDNotFound)
		return "again: " + Refused(kerr.UnknownTopicOrPartition, remove)
	})
}

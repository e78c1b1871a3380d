// Every Kafka version that sarama can pretend to speak, from 2.1 on: each has its own request versions.
package main

import (
	"fmt"

	"github.com/IBM/sarama"

	. "ballast.tests/interop/steps"
)

// atOnce is how many versions run side by side: most of the time is waiting.
const atOnce = 8

func everyVersion() string {
	var versions []sarama.KafkaVersion
	for _, version := range sarama.SupportedVersions {
		if version.IsAtLeast(sarama.V2_1_0_0) {
			versions = append(versions, version)
		}
	}
	turns, failures := make(chan struct{}, atOnce), make(chan error, len(versions))
	for _, version := range versions {
		go func() {
			turns <- struct{}{}
			failures <- oneVersion(version)
			<-turns
		}()
	}
	for range versions {
		Must(<-failures)
	}
	return fmt.Sprintf("%d versions, %v to %v", len(versions), versions[0], versions[len(versions)-1])
}

// oneVersion creates, writes, reads by assignment and in a group, commits and deletes.
func oneVersion(version sarama.KafkaVersion) (failure error) {
	defer func() {
		if reason := recover(); reason != nil {
			failure = fmt.Errorf("as %v: %v", version, reason)
		}
	}()
	config := settings(version)
	topic, group := fmt.Sprintf("%s-%v", Topic, version), fmt.Sprintf("%s-%v", Group, version)
	admin := Ask(func() (sarama.ClusterAdmin, error) { return sarama.NewClusterAdmin(Bootstrap, config) })
	defer admin.Close()
	detail := &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: int16(Replicas)}
	Insist(func() error { return admin.CreateTopic(topic, detail, false) }, sarama.ErrTopicAlreadyExists)
	producer := Ask(func() (sarama.SyncProducer, error) { return sarama.NewSyncProducer(Bootstrap, config) })
	defer producer.Close()
	records, wanted := Records("none"), AllValues([]string{"none"})
	send(producer, topic, records...)
	CheckSeen(read(config, topic, 1, wanted), wanted)

	member := Join(config, group, topic)
	Until("the member sees all records", func() bool { return HasAll(member.Values(), wanted) })
	Until("everything is committed", func() bool {
		member.Commit()
		told := Ask(func() (*sarama.OffsetFetchResponse, error) {
			return admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
		})
		return told.GetBlock(topic, 0).Offset >= int64(len(records))
	})
	Until("the group is stable with one member", func() bool {
		described := Ask(func() ([]*sarama.GroupDescription, error) {
			return admin.DescribeConsumerGroups([]string{group})
		})
		return described[0].State == "Stable" && len(described[0].Members) == 1
	})
	member.Leave()
	Insist(func() error { return admin.DeleteConsumerGroup(group) }, sarama.ErrGroupIDNotFound)
	Insist(func() error { return admin.DeleteTopic(topic) }, sarama.ErrUnknownTopicOrPartition)
	return nil
}

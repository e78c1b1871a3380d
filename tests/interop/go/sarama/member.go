// A member of a group: joins, collects what it reads, and commits only when told.
package main

import (
	"context"
	"sync"

	"github.com/IBM/sarama"

	. "ballast.tests/interop/steps"
)

// Member is one consumer of a group. Marked records are committed by Commit alone.
type Member struct {
	group   sarama.ConsumerGroup
	stop    context.CancelFunc
	stopped chan struct{}

	lock    sync.Mutex
	session sarama.ConsumerGroupSession
	values  []string
	// Nothing more is marked: the last commit stays the last.
	held bool
}

// Join starts a member that rejoins until it is told to leave.
func Join(config *sarama.Config, group, topic string) *Member {
	ctx, stop := context.WithCancel(context.Background())
	joined := Ask(func() (sarama.ConsumerGroup, error) { return sarama.NewConsumerGroup(Bootstrap, group, config) })
	member := &Member{group: joined, stop: stop, stopped: make(chan struct{})}
	go func() {
		for range member.group.Errors() {
			// A restart shows here; the member rejoins.
		}
	}()
	go func() {
		defer close(member.stopped)
		for ctx.Err() == nil {
			_ = member.group.Consume(ctx, []string{topic}, member)
		}
	}()
	return member
}

// Leave leaves the group.
func (m *Member) Leave() {
	m.stop()
	<-m.stopped
	if err := m.group.Close(); !Bounces {
		// A coordinator that is away cannot be told; it misses the member by itself.
		Must(err)
	}
}

// Values is what it has read, in order of arrival.
func (m *Member) Values() []string {
	m.lock.Lock()
	defer m.lock.Unlock()
	return append([]string{}, m.values...)
}

// Held is how many partitions it has been assigned.
func (m *Member) Held() (count int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.session != nil {
		for _, partitions := range m.session.Claims() {
			count += len(partitions)
		}
	}
	return count
}

// Commit commits what it has read.
func (m *Member) Commit() {
	m.lock.Lock()
	session := m.session
	m.lock.Unlock()
	if session != nil {
		session.Commit()
	}
}

// Hold ends marking.
func (m *Member) Hold() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.held = true
}

// Setup is called by sarama when an assignment begins.
func (m *Member) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session = session
	return nil
}

// Cleanup is called by sarama when an assignment ends.
func (m *Member) Cleanup(sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session = nil
	return nil
}

// ConsumeClaim is called by sarama for each partition.
func (m *Member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.lock.Lock()
		m.values = append(m.values, string(message.Value))
		if !m.held {
			session.MarkMessage(message, "")
		}
		m.lock.Unlock()
	}
	return nil
}

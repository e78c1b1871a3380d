"""What a test of an application that uses Kafka looks like."""

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

TOPIC = "orders"


def producer(broker, **settings):
    return Producer({"bootstrap.servers": broker.bootstrap, "retry.backoff.ms": 10, **settings})


def send(producer, *values):
    """Sends values, and raises what became of the first that failed."""
    failures = []
    for value in values:
        producer.produce(TOPIC, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    producer.flush()
    if failures:
        raise KafkaException(failures[0])


def read(broker, count):
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    values = []
    while len(values) < count:
        message = consumer.poll(20)
        assert message is not None, f"only {values} came"
        if message.error() is None:
            values.append(message.value().decode())
    consumer.close()
    return values


def test_what_is_sent_is_read(broker):
    send(producer(broker), "tea", "coffee")
    assert read(broker, 2) == ["tea", "coffee"]


def test_a_producer_tries_again_when_the_leader_has_moved(broker):
    client = producer(broker)
    send(client, "first")
    fault = broker.fault("fail_next", api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=2, topic=TOPIC)
    broker.record()
    send(client, "second")
    assert broker.fired(fault) == 2
    assert [request["topics"][0]["name"] for request in broker.requests("Produce")] == [TOPIC] * 3
    assert read(broker, 2) == ["first", "second"]


def test_an_idempotent_producer_writes_once_though_the_answer_was_lost(broker):
    client = producer(broker, **{"enable.idempotence": True})
    send(client, "first")
    fault = broker.fault("lose_answer", api="Produce")
    send(client, "second")
    assert broker.fired(fault) == 1
    assert read(broker, 2) == ["first", "second"]


def test_a_full_disk_reaches_the_application(broker):
    client = producer(broker, **{"message.timeout.ms": 500})
    send(client, "first")
    broker.fault("disk_full")
    with pytest.raises(KafkaException):
        send(client, "second")
    broker.clear_faults()
    send(client, "third")


def test_a_fault_that_makes_no_sense_is_refused(broker):
    with pytest.raises(ValueError, match="ms is missing"):
        broker.fault("delay", api="Produce")

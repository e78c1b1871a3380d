"""confluent-kafka (librdkafka): the scenario of ../README.md."""

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from steps import (BOOTSTRAP, CONFIGS, GROUP, MESSAGE_BYTES_MAX, PARTITIONS, PATIENCE_S, POLL_MS_MAX, PREFIX,
                   REPLICAS, SESSION_MS, TOPIC, all_values, expect, has_all, insist, once, records, restart, say,
                   settles, step, until)

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
COMMON = {"bootstrap.servers": BOOTSTRAP, "broker.address.family": "v4"}
admin = AdminClient(COMMON)
resource = ConfigResource(ResourceType.TOPIC, TOPIC)
say(f"version {confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})")


def only(futures):
    (future,) = futures.values()
    return future.result(PATIENCE_S)


def code(wanted):
    return lambda error: isinstance(error, KafkaException) and error.args[0].code() == wanted


def send(producer, key, value, topic=TOPIC):
    """Queues a record; the list fills with the error or None once it is delivered."""
    told = []
    producer.produce(topic, value=value, key=key, on_delivery=lambda error, _: told.append(error))
    return told


def flush(producer, tolds):
    assert producer.flush(PATIENCE_S) == 0, "records are left over"
    for told in tolds:
        if told[0]:
            raise KafkaException(told[0])


def consumer(**settings):
    return Consumer({**COMMON, "group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest",
                     "session.timeout.ms": SESSION_MS, "max.poll.interval.ms": POLL_MS_MAX, **settings})


def poll(member, values):
    message = member.poll(0.2)
    if message is not None:
        if message.error():
            raise KafkaException(message.error())
        values.append(message.value().decode())


@step("create")
def create():
    topic = NewTopic(TOPIC, PARTITIONS, REPLICAS, config=CONFIGS)
    exists = code(KafkaError.TOPIC_ALREADY_EXISTS)
    insist(lambda: only(admin.create_topics([topic])), exists)
    return "again: " + expect(KafkaException, exists, lambda: only(admin.create_topics([topic])))


def config(name):
    return insist(lambda: only(admin.describe_configs([resource])))[name].value


@step("describe")
def describe():
    partitions = insist(lambda: admin.list_topics(TOPIC, timeout=PATIENCE_S)).topics[TOPIC].partitions
    assert len(partitions) == PARTITIONS and all(p.leader >= 0 for p in partitions.values()), partitions
    settles("retention.ms", lambda: config("retention.ms"), CONFIGS["retention.ms"])


@step("alter-config")
def alter_config():
    change = ConfigEntry("max.message.bytes", str(MESSAGE_BYTES_MAX), incremental_operation=AlterConfigOpType.SET)
    changes = [ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[change])]
    insist(lambda: only(admin.incremental_alter_configs(changes)))
    settles("max.message.bytes", lambda: config("max.message.bytes"), str(MESSAGE_BYTES_MAX))


@step("produce")
def produce():
    for codec in CODECS:
        producer = Producer({**COMMON, "compression.type": codec, "enable.idempotence": True, "linger.ms": 5})
        flush(producer, [send(producer, key, value) for key, value in records(codec)])
    return " ".join(CODECS)


@step("assign")
def assign():
    reader, values = consumer(), []
    reader.assign([TopicPartition(TOPIC, p, confluent_kafka.OFFSET_BEGINNING) for p in range(PARTITIONS)])
    until("all records", lambda: poll(reader, values) or has_all(values, all_values(CODECS)))
    reader.close()
    assert sorted(values) == all_values(CODECS), values
    return f"{len(values)} records"


first, second, seen = consumer(), consumer(), []


@step("group")
def group():
    for member in (first, second):
        member.subscribe([TOPIC])

    def shared():
        poll(first, seen), poll(second, seen)
        held = [len(member.assignment()) for member in (first, second)]
        return min(held) > 0 and sum(held) == PARTITIONS

    until("both members hold partitions", shared)
    until("all records", lambda: shared() and has_all(seen, all_values(CODECS)))


@step("rebalance")
def rebalance():
    second.close()
    until("one member holds everything", lambda: poll(first, seen) or len(first.assignment()) == PARTITIONS)


def commit_ends(values):
    """Commits the ends: a member that has just come back stands where it had committed before."""
    def end(place):
        return insist(lambda: first.get_watermark_offsets(place, PATIENCE_S))[1]

    ends = [TopicPartition(TOPIC, p, end(TopicPartition(TOPIC, p))) for p in range(PARTITIONS)]
    insist(lambda: poll(first, values) or first.commit(offsets=ends, asynchronous=False))
    return ends


@step("commit")
def commit():
    ends = commit_ends(seen)
    committed = insist(lambda: first.committed([TopicPartition(TOPIC, p) for p in range(PARTITIONS)], PATIENCE_S))
    assert [c.offset for c in committed] == [e.offset for e in ends], committed
    for end in ends:
        insist(lambda: poll(first, seen) or first.seek(end))


AFTER = [f"after {i}" for i in range(5)]


@step("restart")
def go_on():
    producer, values = Producer(COMMON), []
    flush(producer, [send(producer, None, "before")])
    until("the record before", lambda: poll(first, values) or "before" in values)
    commit_ends(values)
    assert once(values) == ["before"], values
    restart()
    flush(producer, [send(producer, None, value) for value in AFTER])
    values.clear()
    until("the records after", lambda: poll(first, values) or has_all(values, AFTER))
    assert once(values) == AFTER, values
    first.close()


@step("resume")
def resume():
    member, values = consumer(), []
    member.subscribe([TOPIC])
    until("the records after the commit", lambda: poll(member, values) or has_all(values, AFTER))
    member.close()
    assert once(values) == AFTER, values


@step("unknown-topic")
def unknown_topic():
    reader = consumer()
    reader.subscribe([f"{PREFIX}-missing"])
    told = expect(KafkaException, code(KafkaError.UNKNOWN_TOPIC_OR_PART),
                  lambda: until("the refusal", lambda: poll(reader, [])))
    reader.close()
    return told


@step("too-large")
def too_large():
    producer = Producer({**COMMON, "compression.type": "none"})
    told = [send(producer, None, "x" * 5 * MESSAGE_BYTES_MAX)]
    return expect(KafkaException, code(KafkaError.MSG_SIZE_TOO_LARGE), lambda: flush(producer, told))


@step("out-of-range")
def out_of_range():
    reader = consumer(**{"auto.offset.reset": "error"})
    reader.assign([TopicPartition(TOPIC, 0, 1_000_000)])
    told = expect(KafkaException, code(KafkaError._AUTO_OFFSET_RESET),
                  lambda: until("the refusal", lambda: poll(reader, [])))
    reader.close()
    assert "OFFSET_OUT_OF_RANGE" in told or "out of range" in told.lower(), told
    return told


@step("delete")
def delete():
    gone, no_group = code(KafkaError.UNKNOWN_TOPIC_OR_PART), code(KafkaError.GROUP_ID_NOT_FOUND)
    insist(lambda: only(admin.delete_topics([TOPIC])), gone)
    insist(lambda: only(admin.delete_consumer_groups([GROUP])), no_group)
    return "again: " + expect(KafkaException, gone, lambda: only(admin.delete_topics([TOPIC])))

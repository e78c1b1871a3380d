"""kafka-python (pure Python): the scenario of ../README.md."""

import threading
import time
import traceback

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (GroupIdNotFoundError, MessageSizeTooLargeError, OffsetOutOfRangeError,
                          TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code)
from kafka.structs import OffsetAndMetadata

from steps import (BOOTSTRAP, BOUNCES, CONFIGS, GROUP, MESSAGE_BYTES_MAX, PARTITIONS, PATIENCE_S, POLL_MS_MAX,
                   PREFIX, REPLICAS, SESSION_MS, TOPIC, all_values, expect, has_all, insist, once, records, restart,
                   say, settles, step, until)

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PLACES = [TopicPartition(TOPIC, p) for p in range(PARTITIONS)]
admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)
say(f"version {kafka.__version__}")


def any_error(_):
    return True


def consumer(group=GROUP, **settings):
    return KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=group, enable_auto_commit=False,
                         **{"auto_offset_reset": "earliest", "session_timeout_ms": SESSION_MS,
                            "max_poll_interval_ms": POLL_MS_MAX, **settings})


def producer(**settings):
    return KafkaProducer(bootstrap_servers=BOOTSTRAP, linger_ms=5, **settings)


def send(sender, pairs):
    """Sends all, then waits for all."""
    futures = [sender.send(TOPIC, value.encode(), key.encode() if key else None) for key, value in pairs]
    for future in futures:
        future.get(PATIENCE_S)


# When each member asked for its coordinator, with what it waits for.
asked_since = {}
LOST_AFTER_S = 15


def find_anew(member):
    """kafka-python 3.0.12 may wait for ever for the answer to a FindCoordinator that was never sent, if a node goes just then."""
    coordinator = member._coordinator
    asked = coordinator._find_coordinator_future
    before, since = asked_since.get(member, (None, 0))
    if asked is None or asked is not before:
        asked_since[member] = asked, time.monotonic()
    elif time.monotonic() - since > LOST_AFTER_S:
        coordinator._find_coordinator_future = None


def poll(member, values):
    if BOUNCES:
        find_anew(member)
    # kafka-python forgets the answer to SyncGroup that comes just as a poll ends, and is no member then: polls last longer than
    # a group that has lost its coordinator needs.
    for batch in member.poll(timeout_ms=5_000 if BOUNCES else 200).values():
        values.extend(record.value.decode() for record in batch)


@step("create")
def create():
    def make():
        admin.create_topics({TOPIC: {"num_partitions": PARTITIONS, "replication_factor": REPLICAS, "configs": CONFIGS}})

    insist(make, lambda error: isinstance(error, TopicAlreadyExistsError))
    return "again: " + expect(TopicAlreadyExistsError, any_error, make)


def config(name):
    resource = ConfigResource(ConfigResourceType.TOPIC, TOPIC)
    told = insist(lambda: admin.describe_configs([resource], config_filter="all"))
    return told["topic"][TOPIC][name]["value"]


def described():
    (topic,) = admin.describe_topics([TOPIC])
    if topic["error_code"]:
        raise for_code(topic["error_code"])(topic)
    return topic


@step("describe")
def describe():
    topic = insist(described)
    assert len(topic["partitions"]) == PARTITIONS, topic
    assert all(p["leader_id"] >= 0 for p in topic["partitions"]), topic
    settles("retention.ms", lambda: config("retention.ms"), CONFIGS["retention.ms"])


@step("alter-config")
def alter_config():
    change = {"max.message.bytes": str(MESSAGE_BYTES_MAX)}
    told = insist(lambda: admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC, change)]))
    assert told == {"topic": {TOPIC: "OK"}}, told
    settles("max.message.bytes", lambda: config("max.message.bytes"), str(MESSAGE_BYTES_MAX))


@step("produce")
def produce():
    for codec in CODECS:
        sender = producer(compression_type=None if codec == "none" else codec)
        send(sender, records(codec))
        sender.close()
    return " ".join(CODECS)


@step("assign")
def assign():
    reader, values = consumer(group=None), []
    reader.assign(PLACES)
    reader.seek_to_beginning()
    until("all records", lambda: poll(reader, values) or has_all(values, all_values(CODECS)))
    reader.close()
    assert sorted(values) == all_values(CODECS), values
    return f"{len(values)} records"


first, seen = consumer(), []


class Second(threading.Thread):
    """The second member. A join blocks until all have joined, so it needs a thread of its own."""

    def __init__(self):
        super().__init__(daemon=True)
        self.member, self.leaving = consumer(), threading.Event()

    def run(self):
        self.member.subscribe([TOPIC])
        while not self.leaving.is_set():
            try:
                poll(self.member, seen)
            except Exception:
                # What it gives back while brokers come and go; its place shows in what it holds.
                traceback.print_exc()
                if not BOUNCES:
                    raise
        self.member.close()


second = Second()


@step("group")
def group():
    first.subscribe([TOPIC])
    second.start()

    def shared():
        poll(first, seen)
        held = [len(member.assignment()) for member in (first, second.member)]
        return min(held) > 0 and sum(held) == PARTITIONS

    until("both members hold partitions", shared)
    until("all records", lambda: shared() and has_all(seen, all_values(CODECS)))


@step("rebalance")
def rebalance():
    second.leaving.set()
    until("one member holds everything", lambda: poll(first, seen) or len(first.assignment()) == PARTITIONS)


def commit_ends(values):
    """Commits the ends: a member that has just come back stands where it had committed before."""
    ends = insist(lambda: first.end_offsets(PLACES))
    places = {place: OffsetAndMetadata(end, "", -1) for place, end in ends.items()}
    insist(lambda: poll(first, values) or first.commit(places))
    return ends


@step("commit")
def commit():
    ends = commit_ends(seen)
    committed = {place: insist(lambda: first.committed(place)) for place in PLACES}
    assert committed == ends, (committed, ends)
    for place, end in ends.items():
        insist(lambda: poll(first, seen) or first.seek(place, end))


AFTER = [f"after {i}" for i in range(5)]


@step("restart")
def go_on():
    sender, values = producer(), []
    send(sender, [(None, "before")])
    until("the record before", lambda: poll(first, values) or "before" in values)
    commit_ends(values)
    assert once(values) == ["before"], values
    restart()
    send(sender, [(None, value) for value in AFTER])
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


# An admin client does not come back by itself when its only broker was away.
admin.close()
admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)


@step("unknown-topic")
def unknown_topic():
    return expect(UnknownTopicOrPartitionError, any_error, lambda: admin.delete_topics([f"{PREFIX}-missing"]))


@step("too-large")
def too_large():
    sender = producer()
    return expect(MessageSizeTooLargeError, any_error, lambda: send(sender, [(None, "x" * 5 * MESSAGE_BYTES_MAX)]))


@step("out-of-range")
def out_of_range():
    reader = consumer(group=None, auto_offset_reset="none")
    reader.assign(PLACES[:1])
    reader.seek(PLACES[0], 1_000_000)
    told = expect(OffsetOutOfRangeError, any_error, lambda: until("the refusal", lambda: poll(reader, [])))
    reader.close()
    return told


@step("delete")
def delete():
    insist(lambda: admin.delete_topics([TOPIC]), lambda error: isinstance(error, UnknownTopicOrPartitionError))
    insist(lambda: admin.delete_groups([GROUP]), lambda error: isinstance(error, GroupIdNotFoundError))
    return "again: " + expect(UnknownTopicOrPartitionError, any_error, lambda: admin.delete_topics([TOPIC]))

"""aiokafka (asyncio): the scenario of ../README.md."""

import asyncio

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (MessageSizeTooLargeError, OffsetOutOfRangeError, TopicAlreadyExistsError,
                             UnknownTopicOrPartitionError, for_code)

from steps import (BOOTSTRAP, CONFIGS, GROUP, MESSAGE_BYTES_MAX, PARTITIONS, PATIENCE_S, POLL_MS_MAX, PREFIX,
                   REPLICAS, SESSION_MS, TOPIC, all_values, expect, has_all, insist, once, records, restart, say,
                   settles, step)

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PLACES = [TopicPartition(TOPIC, p) for p in range(PARTITIONS)]
# One loop for the whole scenario: its clients live across steps.
loop = asyncio.new_event_loop()
say(f"version {aiokafka.__version__}")


def wait(coroutine):
    return loop.run_until_complete(asyncio.wait_for(coroutine, PATIENCE_S))


async def started(client):
    await client.start()
    return client


# Clients want a running loop when they are made.
async def consumer(*topics, group=GROUP, **settings):
    return await started(AIOKafkaConsumer(*topics, bootstrap_servers=BOOTSTRAP, group_id=group,
                                          enable_auto_commit=False, session_timeout_ms=SESSION_MS,
                                          max_poll_interval_ms=POLL_MS_MAX,
                                          **{"auto_offset_reset": "earliest", **settings}))


async def producer(**settings):
    return await started(AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, linger_ms=5, **settings))


async def new_admin():
    return await started(AIOKafkaAdminClient(bootstrap_servers=BOOTSTRAP))


admin = wait(new_admin())


async def send(sender, pairs):
    futures = [await sender.send(TOPIC, value.encode(), key.encode() if key else None) for key, value in pairs]
    await asyncio.gather(*futures)


async def poll(member, values):
    for batch in (await member.getmany(timeout_ms=200)).values():
        values.extend(record.value.decode() for record in batch)


async def read(member, values, enough):
    while not enough():
        await poll(member, values)


def checked(response):
    """The admin client hands out responses as they came: raises what they say."""
    for name, code, *_ in getattr(response, "topic_errors", None) or response.topic_error_codes:
        if code:
            raise for_code(code)(name)


@step("create")
def create():
    topic = NewTopic(TOPIC, PARTITIONS, REPLICAS, topic_configs=CONFIGS)
    insist(lambda: checked(wait(admin.create_topics([topic]))),
           lambda error: isinstance(error, TopicAlreadyExistsError))
    return "again: " + expect(TopicAlreadyExistsError, bool, lambda: checked(wait(admin.create_topics([topic]))))


def config(name):
    resource = ConfigResource(ConfigResourceType.TOPIC, TOPIC)
    (response,) = insist(lambda: wait(admin.describe_configs([resource])))
    ((code, message, _, _, entries),) = response.resources
    assert code == 0, message
    return {entry[0]: entry[1] for entry in entries}[name]


def described():
    (topic,) = wait(admin.describe_topics([TOPIC]))
    if topic["error_code"]:
        raise for_code(topic["error_code"])(topic)
    return topic


@step("describe")
def describe():
    topic = insist(described)
    assert len(topic["partitions"]) == PARTITIONS, topic
    assert all(p["leader"] >= 0 for p in topic["partitions"]), topic
    settles("retention.ms", lambda: config("retention.ms"), CONFIGS["retention.ms"])


@step("alter-config")
def alter_config():
    # It has the older call alone, which replaces the whole set.
    change = {**CONFIGS, "max.message.bytes": str(MESSAGE_BYTES_MAX)}
    resource = ConfigResource(ConfigResourceType.TOPIC, TOPIC, change)
    (response,) = insist(lambda: wait(admin.alter_configs([resource])))
    ((code, message, _, _),) = response.resources
    assert code == 0, message
    settles("max.message.bytes", lambda: config("max.message.bytes"), str(MESSAGE_BYTES_MAX))


@step("produce")
def produce():
    async def write(codec):
        sender = await producer(compression_type=None if codec == "none" else codec, enable_idempotence=True)
        await send(sender, records(codec))
        await sender.stop()

    for codec in CODECS:
        wait(write(codec))
    return " ".join(CODECS)


@step("assign")
def assign():
    async def all_of_it():
        reader, values = await consumer(group=None), []
        reader.assign(PLACES)
        await reader.seek_to_beginning()
        await read(reader, values, lambda: has_all(values, all_values(CODECS)))
        await reader.stop()
        return values

    values = wait(all_of_it())
    assert sorted(values) == all_values(CODECS), values
    return f"{len(values)} records"


members, seen = [], []


@step("group")
def group():
    async def shared():
        # The second member's start waits for the join, which waits for the first member's poll.
        members.append(await consumer(TOPIC))
        joining = asyncio.ensure_future(consumer(TOPIC))
        await read(members[0], seen, joining.done)
        members.append(joining.result())
        held = [0, 0]
        while min(held) == 0 or sum(held) != PARTITIONS or not has_all(seen, all_values(CODECS)):
            await asyncio.gather(*(poll(member, seen) for member in members))
            held = [len(member.assignment()) for member in members]

    wait(shared())


@step("rebalance")
def rebalance():
    wait(members[1].stop())
    wait(read(members[0], seen, lambda: len(members[0].assignment()) == PARTITIONS))


@step("commit")
def commit():
    async def at_the_end():
        first = members[0]
        await poll(first, seen)
        ends = await first.end_offsets(PLACES)
        await first.commit(ends)
        for place, end in ends.items():
            first.seek(place, end)
        return ends, {place: await first.committed(place) for place in PLACES}

    ends, committed = insist(lambda: wait(at_the_end()))
    assert committed == ends, (committed, ends)


AFTER = [f"after {i}" for i in range(5)]


@step("restart")
def go_on():
    sender, values, first = wait(producer()), [], members[0]
    wait(send(sender, [(None, "before")]))
    wait(read(first, values, lambda: "before" in values))

    async def commit_what_was_read():
        # The ends: a member that has just come back stands where it had committed before.
        await poll(first, values)
        await first.commit(await first.end_offsets(PLACES))

    insist(lambda: wait(commit_what_was_read()))
    assert once(values) == ["before"], values
    restart()
    wait(send(sender, [(None, value) for value in AFTER]))
    values.clear()
    wait(read(first, values, lambda: has_all(values, AFTER)))
    wait(sender.stop())
    wait(first.stop())
    assert once(values) == AFTER, values


@step("resume")
def resume():
    member, values = wait(consumer(TOPIC)), []
    wait(read(member, values, lambda: has_all(values, AFTER)))
    wait(member.stop())
    assert once(values) == AFTER, values


@step("unknown-topic")
def unknown_topic():
    return expect(UnknownTopicOrPartitionError, bool,
                  lambda: checked(wait(admin.delete_topics([f"{PREFIX}-missing"]))))


@step("too-large")
def too_large():
    sender = wait(producer())
    told = expect(MessageSizeTooLargeError, bool,
                  lambda: wait(send(sender, [(None, "x" * 5 * MESSAGE_BYTES_MAX)])))
    wait(sender.stop())
    return told


@step("out-of-range")
def out_of_range():
    async def too_far():
        reader = await consumer(group=None, auto_offset_reset="none")
        try:
            reader.assign(PLACES[:1])
            reader.seek(PLACES[0], 1_000_000)
            await read(reader, [], lambda: False)
        finally:
            await reader.stop()

    return expect(OffsetOutOfRangeError, bool, lambda: wait(too_far()))


@step("delete")
def delete():
    insist(lambda: checked(wait(admin.delete_topics([TOPIC]))),
           lambda error: isinstance(error, UnknownTopicOrPartitionError))
    return "again: " + expect(UnknownTopicOrPartitionError, bool,
                              lambda: checked(wait(admin.delete_topics([TOPIC]))))


wait(admin.close())

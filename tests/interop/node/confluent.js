// @confluentinc/kafka-javascript (librdkafka under the interface of kafkajs): the scenario of ../README.md.
'use strict'

const {
  KafkaJS: { Kafka, logLevel },
  features,
  librdkafkaVersion
} = require('@confluentinc/kafka-javascript')
const {
  Without,
  after,
  allValues,
  brokers,
  check,
  checkValues,
  group,
  hasAll,
  insist,
  missing,
  partitions,
  pollMsMax,
  records,
  refused,
  replicas,
  restart,
  retentionMs,
  say,
  sessionMs,
  step,
  topic,
  until
} = require('./steps')

// zstd is there when the machine that builds it has libzstd's headers.
const codecs = ['none', 'gzip', 'snappy', 'lz4', ...(features.includes('zstd') ? ['zstd'] : [])]
const kafka = new Kafka({
  kafkaJS: { brokers, logLevel: logLevel.NOTHING },
  'broker.address.family': 'v4'
})
const admin = kafka.admin()

/** A member that collects what it reads and commits only when told. */
async function join() {
  const consumer = kafka.consumer({
    kafkaJS: {
      groupId: group,
      autoCommit: false,
      fromBeginning: true,
      sessionTimeout: sessionMs,
      rebalanceTimeout: pollMsMax
    }
  })
  const member = { consumer, values: [], next: {} }
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      member.values.push(message.value.toString())
      member.next[partition] = String(BigInt(message.offset) + 1n)
    }
  })
  return member
}

const held = (member) => member.consumer.assignment().length
const commit = (member) =>
  member.consumer.commitOffsets(
    Object.entries(member.next).map(([p, offset]) => ({ topic, partition: Number(p), offset }))
  )

async function producer(settings = {}, more = {}) {
  const sender = kafka.producer({ kafkaJS: settings, ...more })
  await sender.connect()
  return sender
}

const ofType = (type) => (error) => error.type === type

async function administer() {
  await step('create', async () => {
    const wanted = {
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor: replicas,
          configEntries: [{ name: 'retention.ms', value: retentionMs }]
        }
      ]
    }
    // It says of a topic that is there that it was not created: on a repetition the first try was heard.
    let tries = 0
    await insist(async () => {
      tries += 1
      check((await admin.createTopics(wanted)) || tries > 1, 'not created')
    })
    check(!(await insist(() => admin.createTopics(wanted))), 'created twice')
    return 'again: refused'
  })
  await step('describe', async () => {
    const found = await insist(() => admin.fetchTopicMetadata({ topics: [topic] }))
    const { partitions: described } = (found.topics ?? found)[0]
    check(described.length === partitions, found)
  })
  await step('alter-config', async () => {
    throw new Without('no call for settings')
  })
}

async function write() {
  await step('produce', async () => {
    for (const codec of codecs) {
      const sender = await producer({}, { 'compression.codec': codec })
      await sender.send({ topic, messages: records(codec) })
      await sender.disconnect()
    }
    return codecs.join(' ')
  })
  await step('assign', async () => {
    throw new Without('its consumers subscribe')
  })
}

async function share() {
  let first, second
  await step('group', async () => {
    ;[first, second] = await Promise.all([join(), join()])
    await until(
      'both members hold partitions',
      () => held(first) > 0 && held(second) > 0 && held(first) + held(second) === partitions
    )
    await until('all records', () => hasAll([...first.values, ...second.values], allValues(codecs)))
  })
  await step('rebalance', async () => {
    await second.consumer.disconnect()
    await until('one member holds everything', () => held(first) === partitions)
    await until('all records', () => hasAll(first.values, allValues(codecs)))
  })
  await step('commit', async () => {
    await insist(() => commit(first))
    const ends = await insist(() => admin.fetchTopicOffsets(topic))
    const [{ partitions: committed }] = await insist(() => admin.fetchOffsets({ groupId: group, topics: [topic] }))
    for (const { partition, offset } of ends) {
      check(committed.find((c) => c.partition === partition).offset === offset, { ends, committed })
    }
  })
  await step('restart', async () => {
    const sender = await producer()
    await insist(() => sender.send({ topic, messages: [{ value: 'before' }] }))
    await until('the record before', () => first.values.includes('before'))
    await insist(() => commit(first))
    await restart()
    await insist(() => sender.send({ topic, messages: after.map((value) => ({ value })) }))
    await until('the records after', () => hasAll(first.values, after))
    await sender.disconnect()
    await first.consumer.disconnect()
  })
  await step('resume', async () => {
    const member = await join()
    await until('the records after the commit', () => hasAll(member.values, after))
    await member.consumer.disconnect()
    checkValues(new Set(member.values), after)
  })
}

async function refuse() {
  await step('unknown-topic', () =>
    refused(ofType('ERR_UNKNOWN_TOPIC_OR_PART'), () => admin.fetchTopicOffsets(missing))
  )
  await step('too-large', async () => {
    // No call for settings: the broker's own limit is exceeded.
    const sender = await producer({}, { 'message.max.bytes': 4_000_000 })
    const told = await refused(ofType('ERR_MSG_SIZE_TOO_LARGE'), () =>
      sender.send({ topic, messages: [{ value: 'x'.repeat(2_000_000) }] })
    )
    await sender.disconnect()
    return told
  })
  await step('out-of-range', async () => {
    throw new Without('it goes to its default offset by itself')
  })
  await step('delete', async () => {
    await insist(() => admin.deleteTopics({ topics: [topic] }), () => true)
    await insist(() => admin.deleteGroups([group]), () => true)
    return (
      'again: ' +
      (await refused(
        () => true,
        () => admin.deleteTopics({ topics: [topic] })
      ))
    )
  })
}

async function main() {
  say('version', `${require('@confluentinc/kafka-javascript/package.json').version} (librdkafka ${librdkafkaVersion})`)
  await admin.connect()
  await administer()
  await write()
  await share()
  await refuse()
  process.exit(0)
}

main()

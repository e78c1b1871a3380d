// kafkajs: the scenario of ../README.md.
'use strict'

const {
  CompressionCodecs,
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  PartitionAssigners,
  logLevel
} = require('kafkajs')
const { ZstdCodec } = require('zstd-codec')
const lz4 = require('lz4-napi')
const snappy = require('kafkajs-snappy')
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
  messageBytesMax,
  missing,
  partitions,
  records,
  refused,
  replicas,
  restart,
  retentionMs,
  say,
  sessionMs,
  settles,
  step,
  topic,
  until
} = require('./steps')

const types = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}
const codecs = Object.keys(types)
// Its pauses grow without this; a consumer has its own count, 5, and then crashes.
const retry = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 60 }
const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry })
const impatient = new Kafka({
  brokers,
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 50, retries: 1 }
})
const admin = kafka.admin()
const resource = { type: ConfigResourceTypes.TOPIC, name: topic }

/** kafkajs brings gzip alone: the others are given to it. */
async function register() {
  const zstd = await new Promise((resolve) => ZstdCodec.run((module) => resolve(new module.Simple())))
  CompressionCodecs[CompressionTypes.Snappy] = snappy
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: (encoder) => lz4.compressFrame(encoder.buffer),
    decompress: (buffer) => lz4.decompressFrame(buffer)
  })
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
    decompress: async (buffer) => Buffer.from(zstd.decompress(buffer))
  })
}

async function config(name) {
  const { resources } = await insist(() =>
    admin.describeConfigs({ resources: [resource], includeSynonyms: false })
  )
  return resources[0].configEntries.find((entry) => entry.configName === name).configValue
}

/** A member that collects what it reads and commits only when told. */
async function join(groupId = group) {
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: sessionMs,
    rebalanceTimeout: 10_000,
    heartbeatInterval: 500,
    partitionAssigners: [PartitionAssigners.roundRobin],
    maxWaitTimeInMs: 200,
    retry
  })
  const member = { consumer, values: [], next: {}, held: 0 }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.held = payload.memberAssignment[topic]?.length ?? 0
  })
  const start = async () => {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        member.values.push(message.value.toString())
        member.next[partition] = String(BigInt(message.offset) + 1n)
      }
    })
  }
  // It gives up for good when looking for the coordinator meets a refused connection: programs that must live start anew.
  consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || setTimeout(() => insist(start), 200))
  await start()
  return member
}

const commit = (member) =>
  member.consumer.commitOffsets(
    Object.entries(member.next).map(([p, offset]) => ({ topic, partition: Number(p), offset }))
  )

async function producer(settings = {}, from = kafka) {
  const sender = from.producer(settings)
  await sender.connect()
  return sender
}

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
    const { topics } = await insist(() => admin.fetchTopicMetadata({ topics: [topic] }))
    check(topics[0].partitions.length === partitions, topics)
    await settles('retention.ms', () => config('retention.ms'), retentionMs)
  })
  await step('alter-config', async () => {
    // It has the older call alone, which replaces the whole set.
    const configEntries = [
      { name: 'retention.ms', value: retentionMs },
      { name: 'max.message.bytes', value: String(messageBytesMax) }
    ]
    await insist(() => admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] }))
    await settles('max.message.bytes', () => config('max.message.bytes'), String(messageBytesMax))
  })
}

async function write() {
  await step('produce', async () => {
    const sender = await producer()
    for (const codec of codecs) {
      await insist(() => sender.send({ topic, compression: types[codec], messages: records(codec) }))
    }
    await sender.disconnect()
    return codecs.join(' ')
  })
  await step('assign', async () => {
    throw new Without('every consumer of kafkajs is in a group')
  })
}

async function share() {
  let first, second
  await step('group', async () => {
    ;[first, second] = await Promise.all([join(), join()])
    await until(
      'both members hold partitions',
      () => first.held > 0 && second.held > 0 && first.held + second.held === partitions
    )
    await until('all records', () => hasAll([...first.values, ...second.values], allValues(codecs)))
  })
  await step('rebalance', async () => {
    await second.consumer.disconnect()
    await until('one member holds everything', () => first.held === partitions)
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
    // A rebalance on the way shows a record twice: nothing has been committed.
    checkValues(new Set(member.values), after)
  })
}

const ofType = (type) => (error) => (error.cause?.type ?? error.type) === type

async function refuse() {
  await step('unknown-topic', async () => {
    const asking = impatient.admin()
    await asking.connect()
    const told = await refused(ofType('UNKNOWN_TOPIC_OR_PARTITION'), () => asking.fetchTopicOffsets(missing))
    await asking.disconnect()
    return told
  })
  await step('too-large', async () => {
    const sender = await producer({}, impatient)
    const told = await refused(ofType('MESSAGE_TOO_LARGE'), () =>
      sender.send({ topic, messages: [{ value: 'x'.repeat(5 * messageBytesMax) }] })
    )
    await sender.disconnect()
    return told
  })
  await step('out-of-range', async () => {
    throw new Without('kafkajs goes to its default offset by itself')
  })
  await step('delete', async () => {
    await insist(() => admin.deleteTopics({ topics: [topic] }), ofType('UNKNOWN_TOPIC_OR_PARTITION'))
    await insist(() => admin.deleteGroups([group]), () => true)
    return 'again: ' + (await refused(ofType('UNKNOWN_TOPIC_OR_PARTITION'), () => impatientDelete()))
  })
}

async function impatientDelete() {
  const asking = impatient.admin()
  await asking.connect()
  try {
    await asking.deleteTopics({ topics: [topic] })
  } finally {
    await asking.disconnect()
  }
}

async function main() {
  say('version', require('kafkajs/package.json').version)
  await register()
  await admin.connect()
  await administer()
  await write()
  await share()
  await refuse()
  process.exit(0)
}

main()

// node-rdkafka (librdkafka, the classic callback interface): the scenario of ../README.md.
'use strict'

const Kafka = require('node-rdkafka')
const {
  Without,
  after,
  allValues,
  bootstrap,
  check,
  checkSeen,
  checkValues,
  group,
  hasAll,
  insist,
  missing,
  partitions,
  patienceMs,
  pollMsMax,
  records,
  replicas,
  restart,
  retentionMs,
  say,
  sessionMs,
  step,
  topic,
  until,
  refused
} = require('./steps')

// zstd is there when the machine that builds it has libzstd's headers.
const codecs = ['none', 'gzip', 'snappy', 'lz4', ...(Kafka.features.includes('zstd') ? ['zstd'] : [])]
const common = { 'bootstrap.servers': bootstrap, 'broker.address.family': 'v4' }
const { ERRORS } = Kafka.CODES
const admin = Kafka.AdminClient.create(common)

/** Calls what takes a callback as its last argument. */
const call = (object, method, ...values) =>
  new Promise((resolve, reject) => {
    object[method](...values, (error, result) => (error ? reject(error) : resolve(result)))
  })

const connected = (client) => call(client, 'connect', {}).then(() => client)
const disconnected = (client) => call(client, 'disconnect')

/** A connected producer whose deliveries are awaited one by one. */
async function producer(settings = {}) {
  const sender = await connected(new Kafka.HighLevelProducer({ ...common, 'linger.ms': 5, ...settings }))
  return {
    send: (key, value, to = topic) => call(sender, 'produce', to, null, Buffer.from(value), key, null),
    close: () => disconnected(sender)
  }
}

/** A consumer that collects what it reads and commits only when told. */
async function consumer(settings = {}, topicSettings = {}) {
  const client = new Kafka.KafkaConsumer(
    {
      ...common,
      'group.id': group,
      'enable.auto.commit': false,
      'session.timeout.ms': sessionMs,
      'max.poll.interval.ms': pollMsMax,
      ...settings
    },
    { 'auto.offset.reset': 'earliest', ...topicSettings }
  )
  await connected(client)
  client.setDefaultConsumeTimeout(200)
  return client
}

async function member() {
  const client = await consumer()
  client.subscribe([topic])
  return client
}

async function poll(client, values) {
  for (const message of await call(client, 'consume', 50)) values.push(message.value.toString())
}

const places = () => [...Array(partitions).keys()].map((partition) => ({ topic, partition }))
const ofCode = (code) => (error) => error.code === code

async function administer() {
  await step('create', async () => {
    const wanted = { topic, num_partitions: partitions, replication_factor: replicas, config: { 'retention.ms': retentionMs } }
    const create = () => call(admin, 'createTopic', wanted, patienceMs)
    await insist(create, ofCode(ERRORS.ERR_TOPIC_ALREADY_EXISTS))
    return 'again: ' + (await refused(ofCode(ERRORS.ERR_TOPIC_ALREADY_EXISTS), create))
  })
  await step('describe', async () => {
    const client = await consumer()
    const { topics } = await insist(() => call(client, 'getMetadata', { topic, timeout: patienceMs }))
    const found = topics.find((one) => one.name === topic).partitions
    check(found.length === partitions && found.every((partition) => partition.leader >= 0), found)
    await disconnected(client)
  })
  await step('alter-config', async () => {
    throw new Without('no call for settings')
  })
}

async function write() {
  await step('produce', async () => {
    for (const codec of codecs) {
      const sender = await producer({ 'compression.codec': codec })
      await Promise.all(records(codec).map(({ key, value }) => sender.send(key, value)))
      await sender.close()
    }
    return codecs.join(' ')
  })
  await step('assign', async () => {
    const reader = await consumer()
    const values = []
    reader.assign(places().map((place) => ({ ...place, offset: 0 })))
    await until('all records', async () => {
      await poll(reader, values)
      return hasAll(values, allValues(codecs))
    })
    await disconnected(reader)
    checkValues(values, allValues(codecs))
    return `${values.length} records`
  })
}

/** Where the partitions end: what is committed, since a member that has just come back stands where it had committed before. */
async function ends(client) {
  const found = []
  for (const place of places()) {
    const { highOffset } = await insist(() => call(client, 'queryWatermarkOffsets', topic, place.partition, patienceMs))
    found.push({ ...place, offset: highOffset })
  }
  return found
}

async function share() {
  const [first, second] = [await member(), await member()]
  const seen = []
  await step('group', () =>
    until('two members share the partitions and see all records', async () => {
      await Promise.all([poll(first, seen), poll(second, seen)])
      const held = [first, second].map((client) => client.assignments().length)
      return Math.min(...held) > 0 && held[0] + held[1] === partitions && hasAll(seen, allValues(codecs))
    })
  )
  await step('rebalance', async () => {
    await disconnected(second)
    await until('one member holds everything', async () => {
      await poll(first, seen)
      return first.assignments().length === partitions
    })
  })
  await step('commit', async () => {
    const end = await ends(first)
    await insist(async () => {
      await poll(first, seen)
      first.commitSync(end)
    })
    const committed = await insist(() => call(first, 'committed', places(), patienceMs))
    check(
      committed.every(({ partition, offset }) => offset === end[partition].offset),
      { committed, end }
    )
    for (const place of end) await insist(() => call(first, 'seek', place, patienceMs))
  })
  await step('restart', async () => {
    const sender = await producer()
    const values = []
    await sender.send(null, 'before')
    await until('the record before', async () => {
      await poll(first, values)
      return values.includes('before')
    })
    await insist(async () => {
      await poll(first, values)
      first.commitSync(await ends(first))
    })
    await restart()
    for (const value of after) await sender.send(null, value)
    values.length = 0
    await until('the records after', async () => {
      await poll(first, values)
      return hasAll(values, after)
    })
    checkSeen(values, after)
    await sender.close()
    await disconnected(first)
  })
  await step('resume', async () => {
    const again = await member()
    const values = []
    await until('the records after the commit', async () => {
      await poll(again, values)
      return hasAll(values, after)
    })
    await disconnected(again)
    checkSeen(values, after)
  })
}

async function refuse() {
  await step('unknown-topic', async () =>
    refused(ofCode(ERRORS.ERR_UNKNOWN_TOPIC_OR_PART), () => call(admin, 'deleteTopic', missing, patienceMs))
  )
  await step('too-large', async () => {
    // No call for settings: the broker's own limit is exceeded.
    const sender = await producer({ 'message.max.bytes': 4_000_000 })
    const told = await refused(
      (error) => /size too large/i.test(error.message),
      () => sender.send(null, 'x'.repeat(2_000_000))
    )
    await sender.close()
    return told
  })
  await step('out-of-range', async () => {
    const reader = await consumer({}, { 'auto.offset.reset': 'error' })
    reader.assign([{ topic, partition: 0, offset: 1_000_000 }])
    const told = await refused(ofCode(ERRORS.ERR__AUTO_OFFSET_RESET), () =>
      until('the refusal', () => poll(reader, []))
    )
    await disconnected(reader)
    return told
  })
  await step('delete', async () => {
    const remove = () => call(admin, 'deleteTopic', topic, patienceMs)
    await insist(remove, ofCode(ERRORS.ERR_UNKNOWN_TOPIC_OR_PART))
    return 'again: ' + (await refused(ofCode(ERRORS.ERR_UNKNOWN_TOPIC_OR_PART), remove))
  })
}

async function main() {
  say(
    'version',
    `${require('node-rdkafka/package.json').version.replace('v', '')} (librdkafka ${Kafka.librdkafkaVersion})`
  )
  await administer()
  await write()
  await share()
  await refuse()
  process.exit(0)
}

main()

// The step protocol as JavaScript speaks it, and the records that every scenario writes (../README.md).
//
// Steps run one after the other. What a step returns is its detail; what it throws is its failure, and later steps run
// all the same.
'use strict'

const readline = require('node:readline')

const [bootstrap, topic, replicas] = process.argv.slice(2)
// More replicas than one also say that brokers come and go meanwhile.
const bounces = Number(replicas) > 1
const patienceMs = bounces ? 120_000 : 60_000
// Nobody polls while a restart is waited for.
const pollMsMax = bounces ? 120_000 : 15_000
// A member that could not take its leave must be missed before the next broker goes down: then its session begins anew.
const sessionMs = bounces ? 6_000 : 10_000
const input = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()

/** The client has no such thing: said instead of faked. */
class Without extends Error {}

function say(...words) {
  process.stdout.write(words.join(' ').replaceAll('\n', ' ').trimEnd() + '\n')
}

async function step(name, body) {
  try {
    say('step', name, 'ok', (await body()) ?? '')
  } catch (error) {
    say('step', name, error instanceof Without ? 'none' : 'fail', error?.message ?? error)
  }
}

/** Has the broker restarted, and waits until it is back. */
async function restart() {
  say('restart please')
  const { value } = await input.next()
  check(value === 'restarted', `asked for a restart, was told ${value}`)
}

function check(so, what) {
  if (!so) throw new Wrong(typeof what === 'string' ? what : JSON.stringify(what))
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Asks until it is so. */
async function until(what, ask) {
  for (const started = Date.now(); !(await ask()); await pause(100)) {
    check(Date.now() - started < patienceMs, `not within ${patienceMs} ms: ${what}`)
  }
}

/** A wrong result, which no repetition mends. */
class Wrong extends Error {}

/**
 * Does it. While brokers come and go it is tried until they do not disturb it. `done` tells the error by which a repetition
 * says that an earlier try was heard and only its answer was lost.
 */
async function insist(action, done = () => false) {
  for (let [started, tries] = [Date.now(), 1]; ; tries++, await pause(200)) {
    try {
      return await action()
    } catch (error) {
      if (tries > 1 && done(error)) return
      if (!bounces || error instanceof Wrong || Date.now() - started > patienceMs) throw error
    }
  }
}

/** It is so. While brokers come and go, one that has just come back may be the one that has not heard yet. */
async function settles(what, ask, wanted) {
  if (bounces) return until(what, async () => (await ask()) === wanted)
  const told = await ask()
  check(told === wanted, `${what} is ${told}`)
}

/** The action must fail in the way told; gives what it said. */
const refused = (matches, action) =>
  insist(async () => {
    try {
      await action()
    } catch (error) {
      if (!matches(error)) throw error
      return error.message
    }
    throw new Wrong('nothing was refused')
  })

/** Ten records with keys and ten without. */
function records(codec) {
  const padding = 'ä'.repeat(50)
  const ten = [...Array(10).keys()]
  return [
    ...ten.map((i) => ({ key: `k${i}`, value: `${codec} keyed ${i} ${padding}` })),
    ...ten.map((i) => ({ key: null, value: `${codec} plain ${i} ${padding}` }))
  ]
}

const allValues = (codecs) =>
  codecs
    .flatMap(records)
    .map((record) => record.value)
    .sort()

function checkValues(found, wanted) {
  check(JSON.stringify([...found].sort()) === JSON.stringify(wanted), `other values: ${[...found]}`)
}

/**
 * What a group has read. It may read again when its coordinator or its member was lost, and a producer without idempotence
 * may write again: while brokers come and go each value counts once.
 */
const checkSeen = (found, wanted) => checkValues(bounces ? new Set(found) : found, wanted)

const hasAll = (found, wanted) => wanted.every((value) => found.includes(value))

module.exports = {
  bootstrap,
  brokers: bootstrap.split(','),
  topic,
  replicas: Number(replicas),
  bounces,
  group: `${topic}-group`,
  missing: `${topic}-missing`,
  partitions: 3,
  retentionMs: '3600000',
  messageBytesMax: 20_000,
  after: ['after 0', 'after 1', 'after 2', 'after 3', 'after 4'],
  patienceMs,
  pollMsMax,
  sessionMs,
  Without,
  say,
  step,
  restart,
  check,
  pause,
  until,
  refused,
  records,
  allValues,
  checkValues,
  checkSeen,
  insist,
  settles,
  hasAll
}

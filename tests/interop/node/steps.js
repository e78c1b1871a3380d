// The step protocol as JavaScript speaks it, and the records that every scenario writes (../README.md).
//
// Steps run one after the other. What a step returns is its detail; what it throws is its failure, and later steps run
// all the same.
'use strict'

const readline = require('node:readline')

const [bootstrap, topic] = process.argv.slice(2)
const patienceMs = 60_000
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
  if (!so) throw new Error(typeof what === 'string' ? what : JSON.stringify(what))
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Asks until it is so. */
async function until(what, ask) {
  for (const started = Date.now(); !(await ask()); await pause(100)) {
    check(Date.now() - started < patienceMs, `not within ${patienceMs} ms: ${what}`)
  }
}

/** The action must fail in the way told; gives what it said. */
async function refused(matches, action) {
  try {
    await action()
  } catch (error) {
    check(matches(error), `another error: ${error}`)
    return error.message
  }
  throw new Error('nothing was refused')
}

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

const hasAll = (found, wanted) => wanted.every((value) => found.includes(value))

module.exports = {
  bootstrap,
  topic,
  group: `${topic}-group`,
  missing: `${topic}-missing`,
  partitions: 3,
  retentionMs: '3600000',
  messageBytesMax: 20_000,
  after: ['after 0', 'after 1', 'after 2', 'after 3', 'after 4'],
  patienceMs,
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
  hasAll
}

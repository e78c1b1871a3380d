#!/usr/bin/env bash
# kcat (an old librdkafka, on purpose): the scenario of ../README.md. Arguments: HOST:PORT,… NAME REPLICAS.
set -uo pipefail
bootstrap=$1 topic=$2 group=$2-group replicas=$3
codecs="none gzip snappy lz4 zstd"
patience_s=60
# While brokers come and go: what kcat calls an error may pass (it would exit), and a member that could not take its leave
# must be missed before the next broker goes down.
steady=() session_ms=10000
if ((replicas > 1)); then patience_s=120 steady=(-E) session_ms=6000; fi
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

say() { printf '%s\n' "$(tr '\n' ' ' <<<"$*")"; }
kc() { kcat -b "$bootstrap" "${steady[@]}" "$@" 2>>"$work/errors"; }
# Values in order. While brokers come and go each counts once: kcat writes without idempotence, and a group may read again.
once() { if ((replicas > 1)); then sort -u; else sort; fi; }

# step NAME FUNCTION: what it prints is the detail, a false end is its failure.
step() {
  local told
  if told=$("$2" 2>&1); then say "step $1 ok $told"; else say "step $1 fail ${told:0:300}"; fi
}
none() { say "step $1 none $2"; }

# until WHAT COMMAND...: asks until it is so.
until_so() {
  local what=$1 end=$((SECONDS + patience_s)); shift
  until "$@"; do
    if ((SECONDS > end)); then echo "not within $patience_s s: $what"; return 1; fi
    sleep 0.2
  done
}

restart() {
  say "restart please"
  read -r answer && [ "$answer" = restarted ]
}

# Ten records with keys and ten without; every value once.
keyed() { for i in 0 1 2 3 4 5 6 7 8 9; do echo "k$i:$1-keyed-$i-ünïcode"; done; }
plain() { for i in 0 1 2 3 4 5 6 7 8 9; do echo "$1-plain-$i-ünïcode"; done; }
all_values() { for c in $codecs; do keyed "$c" | cut -d: -f2; plain "$c"; done | sort; }

create() { # kcat has no admin calls: the broker makes the topic when it is asked about, if it is told to
  kc -L -t "$topic" -J -X allow.auto.create.topics=true >/dev/null
  until_so "the topic is there" leads
}
leads() { kc -L -t "$topic" -J | grep -q '"partition":2,"leader":[0-9]'; }
describe() {
  local told; told=$(kc -L -t "$topic" -J)
  [ "$(grep -o '"partition":' <<<"$told" | wc -l)" = 3 ] || { echo "$told"; return 1; }
}
produce() {
  for c in $codecs; do
    keyed "$c" | kc -P -t "$topic" -K : -z "$c" || { echo "$c"; return 1; }
    plain "$c" | kc -P -t "$topic" -z "$c" || { echo "$c"; return 1; }
  done
  echo "$codecs"
}
assign() {
  for p in 0 1 2; do kc -C -t "$topic" -p $p -o beginning -e -q -f '%s\n'; done | once >"$work/read"
  diff <(all_values) "$work/read" >&2 && echo "$(wc -l <"$work/read") records"
}

# join FILE: a member in the background, which writes what it reads to FILE and what it is assigned to FILE.err.
join() {
  kcat -b "$bootstrap" "${steady[@]}" -G "$group" -u -f '%s\n' -X auto.offset.reset=earliest \
    -X session.timeout.ms=$session_ms \
    -X auto.commit.interval.ms=100 "$topic" >"$1" 2>"$1.err" &
  echo $! >"$1.pid"
}
# held FILE: how many partitions it has been assigned last.
held() { grep -a "assigned" "$1.err" | tail -1 | grep -o "\[[0-9]*\]" | wc -l; }
shared() {
  local first second
  first=$(held "$work/1") second=$(held "$work/2")
  ((first > 0 && second > 0 && first + second == 3))
}
read_all() { [ "$(cat "$work/1" "$work/2" | sort -u)" = "$(all_values)" ]; }
all_held() { [ "$(held "$work/1")" = 3 ]; }
group_of_two() { until_so "both members hold partitions" shared && until_so "all records" read_all; }
rebalance() {
  kill -INT "$(cat "$work/2.pid")"
  until_so "one member holds everything" all_held
}
# Commits go by time: a group that starts again after a stop shows them.
commit() {
  kill -INT "$(cat "$work/1.pid")"
  until_so "the member has left" gone
  plain committed | kc -P -t "$topic" -p 0
  kc -G "$group" -c 10 -q -f '%s\n' -X auto.offset.reset=error "$topic" | once | diff <(plain committed | sort) - >&2
}
gone() { ! kill -0 "$(cat "$work/1.pid")" 2>/dev/null; }
# The members: a step runs in a subshell, they must outlive it.
after_restart() {
  for i in 0 1 2 3 4; do echo "after $i"; done | kc -P -t "$topic" -p 1
  for p in 0 1 2; do kc -C -t "$topic" -p $p -o beginning -e -q -f '%s\n'; done | once >"$work/read"
  diff <({ all_values; plain committed; for i in 0 1 2 3 4; do echo "after $i"; done; } | sort) "$work/read" >&2
}
resume() {
  kc -G "$group" -c 5 -q -f '%s\n' -X auto.offset.reset=error "$topic" | once |
    diff <(for i in 0 1 2 3 4; do echo "after $i"; done) - >&2
}
unknown_topic() {
  ! kcat -b "$bootstrap" -C -t "$topic-missing" -p 0 -e -X allow.auto.create.topics=false >"$work/out" 2>&1 || return 1
  grep -a -i "unknown topic" "$work/out"
}
too_large() {
  ! head -c 2000000 /dev/zero | tr '\0' x |
    kcat -b "$bootstrap" -P -t "$topic" -p 0 -X message.max.bytes=4000000 >"$work/out" 2>&1 || return 1
  grep -a -i "too large" "$work/out"
}
out_of_range() {
  ! kcat -b "$bootstrap" -C -t "$topic" -p 0 -o 1000000 -X auto.offset.reset=error \
    >"$work/out" 2>&1 || return 1
  grep -a -i "range\|not available" "$work/out"
}

# told WORD: the number after a word in what kcat says of itself.
told() { kcat -V | grep -o "$1 [0-9.]*" | cut -d' ' -f2; }
say "version $(told Version) (librdkafka $(told librdkafka))"
step create create
step describe describe
none alter-config "kcat has no admin calls"
step produce produce
step assign assign
join "$work/1"; join "$work/2"
step group group_of_two
step rebalance rebalance
step commit commit
if restart; then step restart after_restart; fi
step resume resume
step unknown-topic unknown_topic
step too-large too_large
step out-of-range out_of_range
none delete "kcat has no admin calls"

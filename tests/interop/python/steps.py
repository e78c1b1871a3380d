"""The step protocol as Python speaks it, and the records that every scenario writes (../README.md).

A step runs where it is written: its function is called at once, what it returns is the detail, what it raises is its
failure. Later steps run all the same.
"""

import sys
import time

BOOTSTRAP, PREFIX, REPLICAS = sys.argv[1], sys.argv[2], int(sys.argv[3])
# More than one also says that brokers come and go meanwhile.
BOUNCES = REPLICAS > 1
TOPIC, GROUP = PREFIX, f"{PREFIX}-group"
PARTITIONS = 3
CONFIGS = {"retention.ms": "3600000"}
MESSAGE_BYTES_MAX = 20_000
PATIENCE_S = 120 if BOUNCES else 60
# Nobody polls while a restart is waited for.
POLL_MS_MAX = 120_000 if BOUNCES else 15_000
# A member that could not take its leave must be missed before the next broker goes down: then its session begins anew.
SESSION_MS = 6_000 if BOUNCES else 10_000


class Without(Exception):
    """The client has no such thing: said instead of faked."""


def say(line):
    print(line.replace("\n", " "), flush=True)


def step(name):
    def run(body):
        try:
            say(f"step {name} ok {body() or ''}")
        except Without as reason:
            say(f"step {name} none {reason}")
        except Exception as error:
            say(f"step {name} fail {type(error).__name__}: {error}")
        return body

    return run


def restart():
    """Has the broker restarted, and waits until it is back."""
    say("restart please")
    answer = sys.stdin.readline().strip()
    assert answer == "restarted", f"asked for a restart, was told {answer!r}"


def records(codec):
    """Ten records with keys and ten without."""
    keyed = [(f"k{i}", f"{codec} keyed {i} " + "ä" * 50) for i in range(10)]
    return keyed + [(None, f"{codec} plain {i} " + "ä" * 50) for i in range(10)]


def all_values(codecs):
    return sorted(value for codec in codecs for _, value in records(codec))


def until(what, ask):
    """Asks until it is so; what is asked does the waiting."""
    deadline = time.monotonic() + PATIENCE_S
    while not ask():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"


def insist(action, done=lambda error: False):
    """Does it. While brokers come and go it is tried until they do not disturb it; a wrong result is one at any time.

    `done` tells the error by which a repetition says that an earlier try was heard and only its answer was lost.
    """
    deadline, tries = time.monotonic() + PATIENCE_S, 0
    while True:
        try:
            tries += 1
            return action()
        except Exception as error:
            if tries > 1 and done(error):
                return None
            if not BOUNCES or isinstance(error, AssertionError) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def expect(error_type, matches, action):
    """The action must fail in the way told; gives what it said."""
    def attempt():
        try:
            action()
        except error_type as error:
            if not matches(error):
                raise
            return str(error)
        raise AssertionError("nothing was refused")

    return insist(attempt)


def settles(what, ask, wanted):
    """It is so. While brokers come and go, a broker that has just come back may be the one that has not heard yet."""
    told = ask()
    if BOUNCES:
        until(what, lambda: ask() == wanted)
    else:
        assert told == wanted, (what, told, wanted)


def has_all(values, wanted):
    return set(values) >= set(wanted)


def once(values):
    """In order. What a group reads it may read again when its coordinator or its member was lost: then each counts once."""
    return sorted(set(values) if BOUNCES else values)

"""kaskade, a console for the terminal: started as a user starts it, and read off its screen. Own steps: see clients.rs.

Topic names are short: a screen cuts what is long.
"""

import fcntl
import importlib.metadata
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from steps import BOOTSTRAP, PATIENCE_S, REPLICAS, say, step

TOPIC, VALUE = f"browse{os.getpid()}", f"browsed-{os.getpid()}"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07|\x1b.")
say(f"version {importlib.metadata.version('kaskade')}")


class Screen:
    """A terminal of 160 by 48 with a program in it; remembers everything that was ever shown."""

    def __init__(self, *arguments):
        self.shown = ""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
        program = os.path.join(os.path.dirname(sys.executable), "kaskade")
        self.child = subprocess.Popen([program, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                      env={**os.environ, "TERM": "xterm-256color"}, start_new_session=True)
        os.close(slave)

    def await_words(self, *words):
        deadline = time.monotonic() + PATIENCE_S
        while not all(word in self.shown for word in words):
            assert time.monotonic() < deadline, f"not shown: {words}; the end is {self.shown[-400:]!r}"
            if select.select([self.master], [], [], 0.2)[0]:
                self.shown += ESCAPES.sub("", os.read(self.master, 65536).decode(errors="replace"))

    def press(self, keys):
        self.shown = ""
        os.write(self.master, keys)

    def close(self):
        self.child.kill()
        self.child.wait()
        os.close(self.master)


admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
admin.create_topics([NewTopic(TOPIC, 2, REPLICAS)])[TOPIC].result(PATIENCE_S)
producer = Producer({"bootstrap.servers": BOOTSTRAP})
producer.produce(TOPIC, key="k", value=VALUE)
assert producer.flush(PATIENCE_S) == 0
screen = Screen("admin", "-b", BOOTSTRAP)


@step("list")
def listed():
    screen.await_words(TOPIC)


@step("describe")
def describe():
    screen.press(b"\r")
    screen.await_words("PARTITIONS")
    # The tab of settings.
    screen.press(b"\x1b[C")
    screen.await_words("GROUPS")


screen.close()


@step("browse")
def browse():
    reader = Screen("consumer", "-b", BOOTSTRAP, "-t", TOPIC, "--earliest", "-k", "string", "-v", "string")
    reader.await_words(VALUE)
    reader.close()


admin.delete_topics([TOPIC])[TOPIC].result(PATIENCE_S)

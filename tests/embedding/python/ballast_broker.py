"""A Ballast broker for tests: spawned in a moment, told to misbehave over HTTP, gone at the end.

Copy this file into your tests. It needs nothing but the `ballast` program, found through the environment variable
BALLAST or on the search path.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

READY_SECONDS_MAX = 30


class Broker:
    """A running broker. Use it with `with`, or call `stop`."""

    def __init__(self, *settings):
        """Starts a broker with these settings (`key=value`) and waits until it serves."""
        self._folder = tempfile.TemporaryDirectory(prefix="ballast-test-")
        folder = pathlib.Path(self._folder.name)
        ready, self._log = folder / "ready", folder / "log"
        program = os.environ.get("BALLAST", "ballast")
        command = [program, "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--ready-file", str(ready)]
        # One node whose groups settle at once, and faults over HTTP.
        for setting in (
            "test.faults.enable=true",
            "group.initial.rebalance.delay.ms=0",
            "offsets.topic.num.partitions=1",
            *settings,
        ):
            command += ["--set", setting]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._await(ready)
        lines = ready.read_text().splitlines()
        self.bootstrap = lines[0]
        self._http = "http://" + next(line[len("http=") :] for line in lines if line.startswith("http="))

    def _await(self, ready):
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError("the broker did not come up:\n" + self._log.read_text())
            time.sleep(0.002)

    def fault(self, fault, **fields):
        """Plants a fault and gives its id: `fault("fail_next", api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=2)`."""
        return self._ask("POST", "/api/v1/faults", {"fault": fault, **fields})["id"]

    def fired(self, fault_id):
        """How often a fault has happened."""
        return next(one["fired"] for one in self._ask("GET", "/api/v1/faults")["faults"] if one["id"] == fault_id)

    def clear_faults(self):
        """Removes every fault."""
        self._ask("DELETE", "/api/v1/faults")

    def record(self):
        """Writes requests down from now on."""
        self._ask("POST", "/api/v1/requests")

    def requests(self, api=None):
        """The requests since `record`, or those of one API."""
        return self._ask("GET", "/api/v1/requests" + (f"?api={api}" if api else ""))["requests"]

    def stop(self):
        """Ends it. Its data goes with it."""
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self._http + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode()) from None
        return json.loads(text) if text else None

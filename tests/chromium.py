"""A real headless Chromium, driven by its debugging protocol over two pipes.

The standard library is enough: with --remote-debugging-pipe each message is JSON and a NUL.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
DEADLINE_S = 120.0
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
# What is asked of an element that is not there, or not any more, does not hold yet.
_PATIENT = """(() => {{
  try {{ return Boolean({}); }} catch (e) {{ if (e instanceof TypeError) return false; throw e; }}
}})()"""
_KEYS = {"+": "Equal", "-": "Minus"}

Json = dict[str, Any]


class ProtocolError(Exception):
    """Chromium could not do what it was told to."""


class Page:
    """One tab; `complaints` are the errors that its console was told of, and where from."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._unread = b""
        self._serial = 0
        self._session = ""
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        # Else a tab behind another, or one that is slow to come up, hears of no focus.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> Json:
        """One command of the protocol, and its answer."""
        self._serial += 1
        message = {"id": self._serial, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._requests, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._serial:
            self._note(answer)
        if "error" in answer:
            raise ProtocolError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url: str) -> None:
        """Go to a page and wait for nothing: what should be there, `wait` waits for."""
        self.call("Page.navigate", url=url)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; of a promise, what it comes to."""
        done = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait(self, expression: str, deadline_s: float = DEADLINE_S) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + deadline_s
        while not self._holds(expression):
            assert time.monotonic() < deadline, f"not within {deadline_s:.0f} s: {expression}"
            time.sleep(0.02)

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.run(_PATIENT.format(expression)))
        except ProtocolError:  # between two documents there is nowhere to ask
            return False

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, by their names in KeyboardEvent.key."""
        for key in keys:
            typed = {"text": {"Enter": "\r", " ": " "}[key]} if key in {"Enter", " "} else {}
            for kind in ("keyDown", "keyUp"):
                self.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=_KEYS.get(key, key),
                    windowsVirtualKeyCode={"Tab": 9, "Enter": 13}.get(key, 0),
                    **typed,
                )

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def slow(self, latency_ms: float) -> None:
        """Have each answer of a server come so late."""
        self.call("Network.enable")
        limits = {"downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", offline=False, latency=latency_ms, **limits)

    def dark(self, *, on: bool = True) -> None:
        """What the reader's system prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def resize(self, width: int = 1400, height: int = 900) -> None:
        """Give the page a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path: Path, *, width: int = 1400, height: int = 900) -> None:
        """What is seen, as PNG."""
        self.resize(width, height)
        time.sleep(0.3)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _next(self) -> Json:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], DEADLINE_S)
            chunk = os.read(self._answers, 1 << 20) if ready else b""
            assert chunk, "chromium does not answer"
            self._unread += chunk
        line, self._unread = self._unread.split(b"\0", 1)
        return json.loads(line)

    def _note(self, event: Json) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.complaints.append(details.get("exception", details).get("description", ""))
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                entry = parameters["entry"]
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
            case "Runtime.consoleAPICalled" if parameters["type"] in {"error", "assert"}:
                self.complaints.append(str([a.get("value") for a in parameters["args"]]))


@contextmanager
def chromium(profile: Path) -> Iterator[Callable[[], Page]]:
    """A browser with a new profile in that directory; what is given opens a tab in it."""
    assert CHROMIUM is not None
    (read_requests, requests), (answers, write_answers) = _pipe(), _pipe()

    def pipes() -> None:
        os.dup2(read_requests, 3)
        os.dup2(write_answers, 4)

    browser = subprocess.Popen(
        [CHROMIUM, *_FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
        preexec_fn=pipes,  # noqa: PLW1509 - two system calls, which take no lock
        close_fds=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_requests)
    os.close(write_answers)
    try:
        yield lambda: Page(requests, answers)
    finally:
        os.close(requests)
        os.close(answers)
        browser.terminate()
        browser.wait(DEADLINE_S)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends have numbers beyond the two that Chromium wants for its own."""
    low = os.pipe()
    reading, writing = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return reading, writing

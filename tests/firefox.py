"""A real headless Firefox, driven by WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/).

Its pages answer to the same words as those of `tests.chromium`, as far as the tests need them.
"""

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.chromium import DEADLINE_S, Json, ProtocolError

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
# https://www.w3.org/TR/webdriver2/#keyboard-actions
_KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Home": "\ue011", "End": "\ue010"}
_SETTINGS = {
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
}


class FirefoxPage:
    """The one tab of a browser; `complaints` are the errors of its scripts."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._serial = 0
        self.complaints: list[str] = []
        self.call("session.new", capabilities={})
        self._context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("session.subscribe", events=["log.entryAdded"])

    def call(self, method: str, **parameters: Any) -> Json:
        """One command of the protocol, and its answer."""
        self._serial += 1
        message = {"id": self._serial, "method": method, "params": parameters}
        self._connection.send(json.dumps(message))
        while (answer := json.loads(self._connection.recv(DEADLINE_S))).get("id") != self._serial:
            entry = answer.get("params", {})
            if answer.get("method") == "log.entryAdded" and entry.get("level") == "error":
                self.complaints.append(str(entry.get("text")))
        if answer["type"] == "error":
            raise ProtocolError(f"{method}: {answer['message']}")
        return answer["result"]

    def open(self, url: str) -> None:
        """Go to a page and wait for nothing: what should be there, `wait` waits for."""
        self.call("browsingContext.navigate", context=self._context, url=url, wait="none")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; of a promise, what it comes to."""
        done = self.call(
            "script.evaluate",
            expression=expression,
            target={"context": self._context},
            awaitPromise=True,
        )
        if done["type"] == "exception":
            raise AssertionError(f"{expression[:300]}: {done['exceptionDetails']['text'][:300]}")
        return _plain(done["result"])

    def wait(self, expression: str, deadline_s: float = DEADLINE_S) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + deadline_s
        while not self._holds(expression):
            assert time.monotonic() < deadline, f"not within {deadline_s:.0f} s: {expression}"
            time.sleep(0.02)

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.run(f"(() => Boolean({expression}))()"))
        except (ProtocolError, AssertionError):  # between two documents, or not drawn yet
            return False

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, by their names in KeyboardEvent.key."""
        for key in keys:
            value = _KEYS.get(key, key)
            strokes = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
            self.call(
                "input.performActions",
                context=self._context,
                actions=[{"type": "key", "id": "keyboard", "actions": strokes}],
            )

    def resize(self, width: int = 1400, height: int = 900) -> None:
        """Give the page a window of this size."""
        size = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self._context, viewport=size)

    def screenshot(self, path: Path, *, width: int = 1400, height: int = 900) -> None:
        """What is seen, as PNG."""
        self.resize(width, height)
        time.sleep(0.3)
        shot = self.call("browsingContext.captureScreenshot", context=self._context)
        path.write_bytes(base64.b64decode(shot["data"]))


def _plain(remote: Json) -> Any:
    """A value as the protocol writes it: its type, and what it holds."""
    value = remote.get("value")
    match remote["type"]:
        case "array":
            return [_plain(one) for one in value or []]
        case "object":
            return {key: _plain(one) for key, one in value or []}
        case _:
            return value


@contextmanager
def firefox(profile: Path, *, dark: bool = False) -> Iterator[FirefoxPage]:
    """A tab of a browser with a new profile there; `dark` is what its reader prefers."""
    assert FIREFOX is not None
    scheme = {"layout.css.prefers-color-scheme.content-override": int(not dark)}
    lines = [
        f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in (_SETTINGS | scheme).items()
    ]
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
    log = profile / "firefox.log"
    with log.open("wb") as file:
        browser = subprocess.Popen(
            [
                *(FIREFOX, "--headless", "--no-remote", "--profile", str(profile)),
                *("--remote-debugging-port", "0", "about:blank"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        with connect(f"{_address(browser, log)}/session", max_size=None, compression=None) as wire:
            yield FirefoxPage(wire)
    finally:
        browser.terminate()
        browser.wait(DEADLINE_S)


def _address(browser: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + DEADLINE_S
    while not (said := _LISTENS.search(log.read_text(encoding="utf-8", errors="replace"))):
        assert browser.poll() is None, log.read_text(encoding="utf-8", errors="replace")[-2000:]
        assert time.monotonic() < deadline, "firefox does not listen"
        time.sleep(0.1)
    return said[1]

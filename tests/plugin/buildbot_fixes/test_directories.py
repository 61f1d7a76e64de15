"""No directory of the farm's machines stands in what everybody may read."""

import json
from types import SimpleNamespace

import pytest
from buildbot.data.base import ListResult
from buildbot.data.logchunks import LogChunkEndpoint, RawLogChunkEndpoint
from buildbot.www import rest
from buildbot.www.rest import BadJsonRpc2
from buildbot.www.sse import Consumer
from buildbot.www.ws import WsProtocol

from buildbot_bench.core.errors import NotYetError
from buildbot_bench.plugin.buildbot_fixes import directories
from buildbot_bench.plugin.buildbot_fixes.directories import WithoutDirectories, hiding
from buildbot_bench.plugin.rest.endpoints import NOT_YET, ReadableRoot

BASE, THEIRS = "/srv/farms/net/master", "/var/db/lab7"
MASTER = {"masterid": 1, "name": f"m1.example.org:{BASE}", "last_active": 3, "active": True}
LEFT = MASTER | {"name": "m1.example.org"}
WORKER = {"name": "lab", "workerinfo": {"host": "h"}}
LINES = [
    "h/opt/bench/bin/bench-build freebsd --obj=/opt/obj\n",
    "h in dir /elsewhere/builder/job (timeout 1200 secs)\n",
    "h argv: [b'/opt/bench/bin/python', b'-m', b'x']\n",
    f"occ -I{THEIRS}/job/sys /usr/src/sys/kern.c\n",
    "oin dir /usr/src https://example.org/a/b\n",
]


@pytest.fixture
def master(monkeypatch):
    monkeypatch.setenv("HOME", "/home/bench")
    workers = {"lab": SimpleNamespace(worker_basedir=THEIRS), "away": SimpleNamespace()}

    async def iter_log_lines(_logid):
        for line in LINES:
            yield line

    return SimpleNamespace(
        basedir=BASE,
        workers=SimpleNamespace(workers=workers),
        db=SimpleNamespace(logs=SimpleNamespace(iter_log_lines=iter_log_lines)),
    )


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (MASTER, LEFT),
        ({"schedulers": [{"master": MASTER}]}, {"schedulers": [{"master": LEFT}]}),
        ({"name": "lab", "workerinfo": {"basedir": "/x", "host": "h"}}, WORKER),
        ({"builddir": ("/x/b", "Worker"), "owner": ("ann", "Force")}, {"owner": ["ann", "Force"]}),
        (f"cannot read {BASE}/mirror.git", "cannot read …/mirror.git"),
        ("git at /srv/farms/net and /srv/farms/network", "git at … and /srv/farms/network"),
        ("/home/bench/src, /home, /usr/src", "…/src, /home, /usr/src"),
        ({"n": 1, "x": None, "f": 0.5}, {"n": 1, "x": None, "f": 0.5}),
    ],
)
def test_what_tells_where_something_lies_is_left_out(master, told, left):
    before = json.dumps(told)
    assert hiding(master)(told) == left
    assert json.dumps(told) == before  # others may have the same object


def test_a_page_of_a_list_says_as_before_how_long_that_is(master):
    shown = hiding(master)(ListResult([MASTER], offset=3, total=9, limit=1))
    assert (shown.offset, shown.total, shown.limit) == (3, 9, 1)
    assert shown.data[0]["name"] == "m1.example.org"


async def test_a_log_keeps_its_lines_and_says_where_no_command_ran(master):
    shown = (
        "…/bench-build freebsd --obj=…/obj\n"
        " in dir …/job (timeout 1200 secs)\n"
        " argv: [b'…/python', b'-m', b'x']\n"
        "cc -I…/job/sys /usr/src/sys/kern.c\n"
        "in dir /usr/src https://example.org/a/b\n"
    )
    raw = WithoutDirectories(RawLogChunkEndpoint(None, master), hiding(master))
    pieces = raw._endpoint.get_log_lines(SimpleNamespace(id=1, type="s"), "Builder: b\n")
    assert "".join([one async for one in pieces]) == "Builder: b\n" + shown

    class Contents(LogChunkEndpoint):
        async def get(self, _spec, _kwargs):
            return {"logid": 1, "firstline": 0, "content": "".join(LINES)}

    told = await WithoutDirectories(Contents(None, master), hiding(master)).get(None, {})
    assert [line[1:] for line in told["content"].splitlines()] == shown.splitlines()


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (OSError(f"no space at {BASE}/x"), "no space at …/x"),
        (BadJsonRpc2(f"no {THEIRS}/a here", 1), "no …/a here"),
        (NotYetError("the farm is starting"), "the farm is starting"),
    ],
)
def test_an_error_tells_none_and_says_what_succeeds_later(master, monkeypatch, problem, told):
    monkeypatch.setattr(rest.log, "err", lambda **_: None)
    answers: list[tuple[str, int, int]] = []
    root = ReadableRoot.__new__(ReadableRoot)
    root.master = master
    with root.handleErrors(lambda *answer: answers.append(answer)):
        raise problem
    ((words, status, code),) = answers
    assert told in words
    assert (status == 503) is (code == NOT_YET) is isinstance(problem, NotYetError)


def test_events_tell_none_either(master, monkeypatch):
    for one, name in ((WsProtocol, "to_json"), (Consumer, "onMessage")):
        monkeypatch.setattr(one, name, getattr(one, name))
    directories.install()
    message = {"k": "masters/1/started", "m": MASTER}
    assert BASE.encode() not in WsProtocol.to_json(SimpleNamespace(master=master), message)
    written: list[bytes] = []
    request = SimpleNamespace(write=written.append, site=SimpleNamespace(master=master))
    Consumer(request).onMessage(["masters", "1", "started"], MASTER)
    text = b"".join(written)
    assert text.startswith(b"event: event\ndata: ")
    assert text.endswith(b"\n\n")
    assert BASE.encode() not in text

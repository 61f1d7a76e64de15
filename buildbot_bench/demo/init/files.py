"""The contents of a new farm's files, by the farm's description."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from shlex import quote
from string import Template
from urllib.parse import urlsplit

from buildbot_bench.demo.init.answers import FarmAnswers, MailAnswers, Master
from buildbot_bench.installed import shipped

PRIVATE, PROGRAM = 0o600, 0o700
CERTIFICATES, ROUTER = "certificates", "router"
WORKERS = ("builder", "lab")
_KERNCONF = "builder/BOX"
_TEMPLATES = Path(__file__).with_name("templates")
# A lab job, and the lab's jobs alone, outlive what started them: the next worker attaches to them.
_LAB_ALONE = (
    "# A lab job outlives its worker on purpose: the next one attaches to it.\nKillMode=process\n"
)
_OF_MASTER = """\
ExecReload=/bin/kill -HUP $MAINPID
# A master that does not answer for a minute is started again; a start may take longer.
Type=notify
WatchdogSec=60
TimeoutStartSec=120
TimeoutAbortSec=10
# An image of its memory would hold passwords.
LimitCORE=0
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedFile:
    """A file of the farm: its path in the farm's directory, what it says, and its mode."""

    path: str
    content: str
    mode: int = PRIVATE


def parts(answers: FarmAnswers) -> tuple[str, ...]:
    """What `run` runs, in the order in which it is started."""
    routers = (ROUTER,) if answers.router else ()
    return (*routers, *(master.name for master in answers.masters), *WORKERS)


def planned_files(
    answers: FarmAnswers, passwords: dict[str, str], bin_: Path, readme: str
) -> Iterator[PlannedFile]:
    """All files but certificates; `bin_` has the commands, `passwords` one for each name."""
    directory = str(answers.directory)
    yield PlannedFile(path="bench.yml", content=workflow(answers))
    yield PlannedFile(path="README", content=readme)
    yield PlannedFile(path="master.cfg", content=_text(shipped("master.cfg")))
    run = _filled("run", parts=", ".join(parts(answers)), bin=quote(str(bin_)))
    yield PlannedFile(path="run", content=run, mode=PROGRAM)
    for master in answers.masters:
        tac = _filled("master.tac", directory=directory, part=master.name)
        yield PlannedFile(path=f"{master.name}/buildbot.tac", content=tac)
        yield PlannedFile(path=f"{master.name}/environment", content=_of_master(answers, master))
        for name, password in passwords.items():
            yield PlannedFile(path=f"{master.name}/secrets/{name}", content=f"{password}\n")
    for name in WORKERS:
        tac = _text(shipped(f"workers/{name}/buildbot.tac"))
        yield PlannedFile(path=f"{name}/buildbot.tac", content=tac)
        yield PlannedFile(path=f"{name}/password", content=f"{passwords[f'{name}.pass']}\n")
        environment = _assignments(**_of_worker(answers, name))
        yield PlannedFile(path=f"{name}/environment", content=environment)
    yield from _of_lab(answers)
    if answers.router:
        yield PlannedFile(path=f"{ROUTER}/config.json", content=_of_router(answers.router))
    for part in parts(answers):
        yield _unit(answers, part)


def workflow(answers: FarmAnswers) -> str:
    """What bench.yml says."""
    return _filled(
        "bench.yml",
        name=json.dumps(answers.name),
        repository=_watched(answers),
        branches=json.dumps(answers.branches),
        jobs=_text(_TEMPLATES / f"{answers.lab}.yml"),
        min_effect=answers.kind.min_effect,
        mail=_mail(answers.mail) if answers.mail else "",
    )


def _watched(answers: FarmAnswers) -> str:
    named = {one.name: {"url": one.url} for one in answers.repositories if one.name}
    if not named:
        alone = next((one.url for one in answers.repositories), "src")
        return f"repository: {json.dumps(alone)}"
    lines = (f"  {name}: {json.dumps(said)}" for name, said in named.items())
    return "\n".join(["repositories:", *lines])


def unit_name(answers: FarmAnswers, part: str) -> str:
    """What systemd or rc(8) calls a part of this farm."""
    if answers.units == "systemd":
        return f"bench-{answers.slug}-{part}"
    return f"bench_{answers.slug}_{part}".replace("-", "_")


def _mail(mail: MailAnswers) -> str:
    text = _filled(
        "mail.yml",
        sender=json.dumps(mail.sender),
        to=json.dumps(mail.to),
        host=json.dumps(mail.host),
        port=mail.port,
    )
    if mail.user:
        text += _filled("mail-login.yml", user=json.dumps(mail.user))
    return text


def _of_master(answers: FarmAnswers, master: Master) -> str:
    here = answers.directory / CERTIFICATES
    way = f"tcp:{master.pb_port}:interface=127.0.0.1"
    if answers.tls:
        way = f"ssl:{master.pb_port}:privateKey={here}/master.key:certKey={here}/master.pem"
    listen = answers.listen.replace(":", r"\:")  # as Twisted's endpoints want it
    router = {"BENCH_ROUTER": answers.router} if answers.router else {}
    return _assignments(
        BENCH_URL=master.url,
        BENCH_DB=answers.database,
        BENCH_WWW=f"tcp:{master.www_port}:interface={listen}",
        BENCH_PB=way,
        **router,
    )


def _of_worker(answers: FarmAnswers, name: str) -> dict[str, str]:
    """The masters; for a box also what its kernels are made of, and where its testbed stands."""
    places = ",".join(f"{master.host}:{master.pb_port}" for master in answers.masters)
    of_box = {
        "builder": {"BENCH_KERNCONF": str(answers.directory / _KERNCONF)},
        "lab": {"BENCH_LAB_TESTBEDS": answers.testbeds},
    }
    return {"BENCH_MASTER": places, **(of_box[name] if answers.lab == "box" else {})}


def _of_lab(answers: FarmAnswers) -> Iterator[PlannedFile]:
    if answers.lab == "box":
        yield PlannedFile(path=_KERNCONF, content=_text(shipped("workers/lab/BOX")))
        return
    if answers.lab != "ssh":
        table = _text(_TEMPLATES / f"{answers.lab}.toml")
        yield PlannedFile(path="lab/testbeds.toml", content=table)
        return
    example = shipped("workers/lab")
    yield PlannedFile(path="lab/testbeds.toml", content=_text(example / "apu2.toml"))
    for path in sorted((example / "workloads").rglob("*")):
        if path.is_file():
            yield PlannedFile(path=f"lab/{path.relative_to(example)}", content=_text(path))


def _of_router(url: str) -> str:
    """Crossbar's configuration; it listens on an address that the URL names, else here alone."""
    config = json.loads(_text(shipped("docs/crossbar.json")))
    (transport,) = config["workers"][0]["transports"]
    place = urlsplit(url)
    transport["endpoint"]["port"] = place.port or transport["endpoint"]["port"]
    with suppress(ValueError):  # a name is no address
        transport["endpoint"]["interface"] = str(ip_address(place.hostname or ""))
    return json.dumps(config, indent=2) + "\n"


def _unit(answers: FarmAnswers, part: str) -> PlannedFile:
    name = unit_name(answers, part)
    words = {"directory": answers.directory, "part": part, "unit": name, "user": answers.user}
    if answers.units == "rc.d":
        return PlannedFile(path=f"units/{name}", content=_filled("rc.d", **words), mode=PROGRAM)
    masters = {master.name for master in answers.masters}
    more = _OF_MASTER if part in masters else _LAB_ALONE if part == "lab" else ""
    text = _filled("systemd.service", **words, more=more)
    return PlannedFile(path=f"units/{name}.service", content=text)


def _assignments(**values: str) -> str:
    """For sh(1), which reads it by `.`; no value has a character that is special in quotes."""
    return "".join(f"{name}='{value}'\n" for name, value in values.items())


def _filled(template: str, /, **words: object) -> str:
    return Template(_text(_TEMPLATES / template)).substitute(words)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")

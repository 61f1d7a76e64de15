"""`bench-farm init`: its options, parsed into a description of the farm, and its steps."""

import argparse
import re
import socket
import sys
from getpass import getuser
from pathlib import Path
from typing import Any

from buildbot_bench.cli.option_values import a_path
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.demo.init.answers import (
    HERE,
    LABS,
    MOST_MASTERS,
    FarmAnswers,
    MailAnswers,
    Master,
    NamedRepository,
    check,
    database_url,
)

_ROUTER = "ws://127.0.0.1:8080"
_SMTP_PORT = 25
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,49})=(.+)", re.ASCII | re.DOTALL)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the questions of a farm; each has an answer that works."""
    parser.add_argument(
        "directory", type=a_path, metavar="DIR", help="of the farm; nothing there is overwritten"
    )
    what = parser.add_argument_group("what is measured")
    what.add_argument("--name", help="of the farm, in mails and pages (default: that of DIR)")
    what.add_argument(
        "--repository",
        action="append",
        type=_repository,
        metavar="[NAME=]URL",
        help="the source, a URL or a path; may be said again with a NAME each, the first one first"
        " (default: FreeBSD's; for the embedded lab a small history with a planted slowdown, made"
        " in DIR/src)",
    )
    what.add_argument(
        "--branch",
        action="append",
        metavar="NAME",
        help="watched; may be said again, the trunk first (default: main)",
    )
    what.add_argument(
        "--lab",
        choices=LABS,
        default="embedded",
        help="a program on this machine, FreeBSD in virtual machines that count instructions, real"
        " machines, the same in a box (`bench-lab box`), or any command (default: %(default)s)",
    )
    group = parser.add_argument_group("who gets mails")
    group.add_argument("--mail-to", action="append", metavar="ADDRESS", help="may be said again")
    group.add_argument("--mail-from", metavar="ADDRESS", help="default: bench@ this machine")
    group.add_argument(
        "--smtp",
        type=_server,
        default="localhost",
        metavar="HOST[:PORT]",
        help="default: %(default)s, port 25",
    )
    group.add_argument("--smtp-user", metavar="NAME", help="to log in there; then TLS is a must")
    group.add_argument(
        "--smtp-password-file", type=a_path, metavar="FILE", help="its first line is the password"
    )
    _add_masters(parser.add_argument_group("the master"))
    units = parser.add_argument_group("who keeps it running")
    units.add_argument("--user", default=getuser(), help="of master and workers (default: you)")
    units.add_argument(
        "--units",
        choices=("systemd", "rc.d"),
        default="rc.d" if sys.platform.startswith("freebsd") else "systemd",
        help="default: this system's",
    )


def _add_masters(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--database",
        default="sqlite",
        metavar="sqlite|URL",
        help="or postgresql://USER@HOST/NAME, without a password (default: %(default)s)",
    )
    group.add_argument(
        "--url", action="append", help="of the pages; once for each master (default: by its port)"
    )
    group.add_argument(
        "--host",
        action="append",
        help="the name by which workers call the master; once for each (default: localhost)",
    )
    group.add_argument(
        "--listen", default="127.0.0.1", metavar="ADDRESS", help="the pages' (default: %(default)s)"
    )
    group.add_argument(
        "--port", type=_port, default=8010, help="of the pages (default: %(default)s)"
    )
    group.add_argument(
        "--pb-port", type=_port, default=9989, help="of the workers (default: %(default)s)"
    )
    group.add_argument(
        "--tls",
        action="store_true",
        help="make certificates; workers connect by TLS (default for each --host but localhost)",
    )
    group.add_argument(
        "--masters",
        type=int,
        default=1,
        metavar="N",
        help="that stand in for one another, on PostgreSQL (default: %(default)s)",
    )
    group.add_argument(
        "--router", metavar="URL", help=f"where several masters meet (default: {_ROUTER})"
    )


def answers_of(options: argparse.Namespace) -> FarmAnswers:
    """The farm that the options describe."""
    directory = options.directory.resolve()
    masters = _masters(options)
    repositories = _repositories(options)
    if not repositories and options.lab != "embedded":
        raise UsageError(
            f"--lab {options.lab} measures a repository of yours", hint="say --repository"
        )
    if len(masters) == 1 and options.router:
        raise UsageError("--router is where several masters meet", hint="say --masters 2 as well")
    answers = FarmAnswers(
        directory=directory,
        name=options.name or directory.name,
        repositories=repositories,
        branches=tuple(options.branch or ["main"]),
        lab=options.lab,
        database=database_url(options.database),
        mail=_mail(options),
        masters=masters,
        listen=options.listen,
        router=(options.router or _ROUTER) if len(masters) > 1 else None,
        tls=options.tls or any(master.host not in HERE for master in masters),
        user=options.user,
        units=options.units,
    )
    check(answers)
    return answers


def _repositories(options: argparse.Namespace) -> tuple[NamedRepository, ...]:
    """What is measured; nothing where the farm makes a history of its own."""
    usual = LABS[options.lab].repository
    said = options.repository or ([NamedRepository(name="", url=usual)] if usual else [])
    names = [one.name for one in said]
    if len(said) > 1 and not all(names):
        raise UsageError(
            "of several repositories each needs a name",
            hint="as --repository src=https://git.freebsd.org/src.git",
        )
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--repository: two are called {twice}")
    return tuple(said)


def _masters(options: argparse.Namespace) -> tuple[Master, ...]:
    """Masters on one machine have ports of their own, one after the other."""
    number = options.masters
    if not 1 <= number <= MOST_MASTERS:
        raise UsageError(f"--masters {number}: a farm has 1 to {MOST_MASTERS}")
    hosts, urls = options.host or ["localhost"], options.url or []
    if len(hosts) not in {1, number}:
        raise UsageError(f"--host is said {len(hosts)} times for {number} masters")
    if len(urls) not in {0, number}:
        raise UsageError(f"--url is said {len(urls)} times for {number} masters")
    hosts = hosts * number if len(hosts) == 1 else hosts
    masters: list[Master] = []
    for index, host in enumerate(hosts):
        before = hosts[:index].count(host)
        www_port, pb_port = options.port + before, options.pb_port + before
        url = urls[index] if urls else f"http://{host}:{www_port}/"
        masters.append(
            Master(
                name="master" if index == 0 else f"master{index + 1}",
                host=host,
                www_port=www_port,
                pb_port=pb_port,
                url=url if url.endswith("/") else f"{url}/",
            )
        )
    ports = {(m.host, port) for m in masters for port in (m.www_port, m.pb_port)}
    if len(ports) < 2 * number:
        raise UsageError("--port and --pb-port meet", hint=f"keep them {number} or more apart")
    return tuple(masters)


def _mail(options: argparse.Namespace) -> MailAnswers | None:
    if not options.mail_to:
        return None
    if (options.smtp_user is None) != (options.smtp_password_file is None):
        raise UsageError("--smtp-user and --smtp-password-file need each other")
    host, port = options.smtp
    return MailAnswers(
        to=tuple(options.mail_to),
        sender=options.mail_from or f"bench@{socket.getfqdn()}",
        host=host,
        port=port,
        user=options.smtp_user,
        password_file=options.smtp_password_file,
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no port")
    return int(text)


def _server(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    return (host, _port(port)) if colon else (text, _SMTP_PORT)


def _repository(text: str) -> NamedRepository:
    """A repository and its name, if it has one; a URL may have an equals sign of its own.

    A path that is there is taken from where the command is typed, not from DIR.
    """
    named = _NAMED.fullmatch(text)
    name, url = named.groups() if named and not Path(text).exists() else ("", text)
    return NamedRepository(name=name, url=str(Path(url).resolve()) if Path(url).exists() else url)


def add_init(commands: Any) -> None:
    """Add the subcommand to those of bench-farm, which `argparse` made."""
    init = commands.add_parser(
        "init",
        help="write the files of a farm to keep, and say what to do next",
        description="Write master.cfg, bench.yml, secrets, the directories of masters and workers,"
        " testbeds.toml and units for systemd or rc(8) into DIR, and say what to do next."
        " Nothing is started, and no file is overwritten.",
    )
    add_options(init)
    init.set_defaults(command=_init)


def _init(options: argparse.Namespace) -> int:
    from buildbot_bench.demo.init.writing import (  # noqa: PLC0415 - not for --help
        in_words,
        write_farm,
    )

    answers = answers_of(options)
    said = in_words(answers)
    write_farm(answers, said)
    print(said, end="")
    return 0

"""The farm that a command line or the environment names, and what is asked of it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.cli.option_values import DEFAULT_FARM, farm_url
from buildbot_bench.cli.requests import Request

NO_FARM = "start it with `bench-farm run` or name it with --farm URL"
"""What to do where no farm answers."""
_NO_FARM_HERE = (
    "add --local, and --run COMMAND, to measure the git repository here on this machine; "
    "or name a farm with --farm URL"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmAccess:
    """Which farm is asked, by whom, and how patiently it is followed.

    `argument` is how to name the same farm again: empty when it need not be named. `absent` is
    what to do where none answers.
    """

    url: str
    argument: str
    user: str | None
    password_file: str | None
    patience_s: float
    poll_s: float
    absent: str = NO_FARM


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmCommand:
    """What is asked of which farm, and in which form to answer.

    `form` is text, markdown, csv or json; `output` a directory for the result, or None.
    """

    request: Request
    form: str
    farm: FarmAccess
    output: Path | None = None


def farm_access(
    options: argparse.Namespace, environ: Mapping[str, str], *, starts: bool
) -> FarmAccess:
    """What options and the environment say of the farm; raises UsageError for what is no farm.

    `starts` is whether something new is asked for, which might be meant for this repository.
    """
    named = options.farm or environ.get("BENCH_FARM")
    may_be_local = starts and not named and _is_in_repository(Path.cwd())
    return FarmAccess(
        absent=_NO_FARM_HERE if may_be_local else NO_FARM,
        url=farm_url(named or DEFAULT_FARM),
        argument=f" --farm {options.farm}" if options.farm else "",
        user=options.user or environ.get("BENCH_USER") or None,
        password_file=options.password_file or environ.get("BENCH_PASSWORD_FILE") or None,
        patience_s=options.patience,
        poll_s=options.poll,
    )


def _is_in_repository(directory: Path) -> bool:
    return any((place / ".git").exists() for place in (directory, *directory.parents))


def in_repository(repository: str | None, revision: str) -> str:
    """A revision as the farm is asked for it."""
    return revision if repository is None else f"{repository}:{revision}"

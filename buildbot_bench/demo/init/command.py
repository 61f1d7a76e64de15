"""`bench-farm init`: write a farm's files and print the next steps."""

from __future__ import annotations

import argparse
from typing import Any

from buildbot_bench.demo.init.arguments import add_options, answers_of


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
    from buildbot_bench.demo.init.next_steps import in_words  # noqa: PLC0415 - not for --help
    from buildbot_bench.demo.init.writing import write_farm  # noqa: PLC0415

    answers = answers_of(options)
    said = in_words(answers)
    write_farm(answers, said)
    print(said, end="")
    return 0

"""`--version` of each command: print the package's version."""

import argparse
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

_PROJECT = "buildbot-bench"


def version() -> str:
    """The version of this package, as its installation says; `unknown` where it has none."""
    try:
        return metadata.version(_PROJECT)
    except metadata.PackageNotFoundError:
        return "unknown"


class ShowVersion(argparse.Action):
    """Prints a command's name and the version of this package, and ends."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(
            option_strings,
            dest,
            nargs=0,
            default=argparse.SUPPRESS,
            help="print the version and end",
        )

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - argparse's signature
        values: object,  # noqa: ARG002
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Print them on stdout, and end with status 0."""
        sys.stdout.write(f"{parser.prog} {version()}\n")
        parser.exit()

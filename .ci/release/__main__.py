"""Build a release and try it: `make release` and `make release-test`.

A release is made of the last commit alone, and nothing reaches dist/ before all of it is made.
"""

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
from pathlib import Path

from described import describe
from running import Project, Refusal, copy_of, output, run
from trying import try_out
from twice import built_twice


def main() -> int:
    """Build or try the project of the current directory."""
    options = _options()
    try:
        if options.command == "build":
            _build(Path.cwd(), trial=options.trial, isolated=not options.no_isolation)
        else:
            try_out(Path.cwd(), options.tests)
    except Refusal as refusal:
        print(f"release: {refusal}", file=sys.stderr)
        return 1
    return 0


def _build(root: Path, *, trial: bool, isolated: bool) -> None:
    project = Project.of(root)
    _refuse_changes(root)
    if not trial:
        _refuse_without_section(root, project.version)
        _refuse_released(root, f"v{project.version}")
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        made = built_twice(root, Path(scratch), isolated=isolated)
        run(
            [sys.executable, "-m", "twine", "check", "--strict", *map(str, made.iterdir())],
            otherwise="correct what is said above, commit it",
        )
        describe(project, copy_of(root, Path(scratch) / "described"), made)
        sums = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in made.iterdir()}
        lines = [f"{digest}  {name}\n" for name, digest in sorted(sums.items())]
        (made / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
        shutil.rmtree(root / "dist", ignore_errors=True)
        shutil.copytree(made, root / "dist", copy_function=shutil.copyfile)
    for one in sorted((root / "dist").iterdir()):
        print(f"{one.stat().st_size:>12,}  dist/{one.name}")


def _refuse_changes(root: Path) -> None:
    changed = output(["git", "status", "--porcelain"], root).splitlines()
    if changed:
        raise Refusal(
            f"{len(changed)} changes are in no commit, the first in {changed[0].split()[-1]}: "
            "commit them, or put them away by `git stash -u`."
        )


def _refuse_without_section(root: Path, version: str) -> None:
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)}(?![\w.])", changes, re.MULTILINE):
        raise Refusal(
            f"CHANGELOG.md has no section {version}: call *Unreleased* by this number and the "
            "date, or build for a trial by OPTIONS=--trial."
        )


def _refuse_released(root: Path, tag: str) -> None:
    # ^{commit}: a signed tag is an object of its own
    of_tag = ["git", "for-each-ref", "--format=%(*objectname)%(objectname)", f"refs/tags/{tag}"]
    tagged = output(of_tag, root)[:40]
    if tagged and tagged != output(["git", "rev-parse", "HEAD"], root):
        raise Refusal(
            f"{tag} is the tag of another commit, {tagged[:12]}: raise `version` in "
            "pyproject.toml, or check that commit out."
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="release")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="make the files of a release in dist/")
    build.add_argument("--trial", action="store_true", help="of a version that is not released")
    build.add_argument(
        "--no-isolation", action="store_true", help="build by what is installed here, offline"
    )
    test = commands.add_parser("test", help="run the fast tests on the wheel in dist/")
    test.add_argument("tests", nargs="*", help="which tests, for example tests/core")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

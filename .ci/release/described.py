"""The bill of materials of a release, and the licences in it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from running import Project, environment, run, uv

_CLASSIFIER = "License :: "


def describe(project: Project, copy: Path, made: Path) -> None:
    """Write SBOM and licences of what users install, in the versions that the tests passed with."""
    (wheel,) = made.glob("*.whl")
    python = environment(copy.parent / "sbom")
    constraints = copy / "constraints.txt"
    limits = [f"--constraints={constraints}"] if constraints.exists() else []
    run(
        [
            *(*uv("pip", "install"), f"--python={python}", *limits),
            project.at(wheel, *project.extras),
        ],
        otherwise="correct the dependencies in pyproject.toml or constraints.txt, commit that",
    )
    bom = made / f"{wheel.name.removesuffix('.whl')}.cdx.json"
    run(
        [
            *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"),
            *(f"--pyproject={copy / 'pyproject.toml'}", f"--output-file={bom}", str(python)),
        ],
        otherwise="do what is said above",
    )
    read = json.loads(bom.read_text(encoding="utf-8"))
    (made / "LICENCES.txt").write_text("".join(licences(read)), encoding="utf-8")


def licences(bom: dict[str, Any]) -> Iterator[str]:
    """Yield a line for the project and each dependency: name, version and licences."""
    dependencies = sorted(bom.get("components", ()), key=lambda one: one["name"].lower())
    for one in (bom["metadata"]["component"], *dependencies):
        stated = [_name(entry) for entry in one.get("licenses", ())]
        # A classifier repeats what an identifier of SPDX says, less exactly.
        exact = [name for name in stated if not name.startswith(_CLASSIFIER)]
        names = exact or [name.rpartition(" :: ")[2] for name in stated] or ["not stated"]
        yield f"{one['name']} {one['version']}: {', '.join(dict.fromkeys(names))}\n"


def _name(entry: dict[str, Any]) -> str:
    """Return the identifier of a licence, or the first line of the text in its place."""
    if "expression" in entry:
        return str(entry["expression"])
    name: str = entry["license"].get("id") or entry["license"]["name"]
    return name.strip().partition("\n")[0]

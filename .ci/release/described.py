"""The bill of materials of a release, and the licences in it."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, distributions
from pathlib import Path

from running import Project, environment, run, uv

_WHOLE_TEXT = 80  # characters


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
    bom = made / f"{project.name}-{project.version}.cdx.json"
    run(
        [
            *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"),
            *(f"--pyproject={copy / 'pyproject.toml'}", f"--output-file={bom}", str(python)),
        ],
        otherwise="do what is said above",
    )
    (packages,) = python.parents[1].glob("lib/python3*/site-packages")
    (made / "LICENCES.txt").write_text("".join(licences(packages)), encoding="utf-8")


def licences(packages: Path) -> Iterator[str]:
    """Yield a line for each package that is installed in a directory, as its metadata states it."""
    for found in sorted(distributions(path=[str(packages)]), key=lambda one: one.name.lower()):
        metadata = found.metadata
        classifiers = [one.split(" :: ") for one in metadata.get_all("Classifier") or ()]
        named = ", ".join(one[-1] for one in classifiers if one[0] == "License" and one[2:])
        text = _field(metadata, "License")
        short = text if text != "UNKNOWN" and len(text) < _WHOLE_TEXT else ""
        stated = _field(metadata, "License-Expression") or short or named or "not stated"
        yield f"{found.name} {found.version}: {stated}\n"


def _field(metadata: PackageMetadata, name: str) -> str:
    return metadata[name].strip() if name in metadata else ""

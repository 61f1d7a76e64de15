"""Install a wheel with the oldest and with the newest dependencies, and run tests on it."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from running import Project, Refusal, copy_of, environment, output, run, uv


def try_out(root: Path, tests: Sequence[str]) -> None:
    """Run the fast tests, or those that are named, on the wheel in dist/.

    Raises:
        Refusal: There is no wheel, it cannot be installed, or a test failed.
    """
    project = Project.of(root)
    wheels = [*(root / "dist").glob("*.whl")]
    if not wheels:
        raise Refusal("there is no wheel in dist/: run `make release` first.")
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        for which in ("oldest", "newest"):
            print(f"With the {which} versions that pyproject.toml allows:", flush=True)
            home = Path(scratch) / which
            python = environment(home / "environment")
            limits = [f"--constraints={_oldest(project, root, home)}"] if which == "oldest" else []
            run(
                [
                    *(*uv("pip", "install"), f"--python={python}", *limits),
                    project.at(wheels[0], "test"),
                ],
                otherwise=f"correct the {which} versions in pyproject.toml, run `make release`",
            )
            tree = copy_of(root, home / "tree")
            _put_installed(tree / project.name.replace("-", "_"), python)
            run(
                [str(python), "-m", "pytest", "-q", "-m", "not e2e and not vm", *tests],
                cwd=tree,
                otherwise=f"correct what failed with the {which} versions, or which are allowed, "
                "run `make release`",
            )


def _oldest(project: Project, root: Path, home: Path) -> Path:
    """Write the lowest versions of what users install; the tests' own tools are the newest.

    Versions without a wheel are passed over: on a Python that is younger than they are, they would
    have to be compiled.
    """
    oldest = home / "oldest.txt"
    run(
        [
            *(*uv("pip", "compile"), "--resolution=lowest-direct", "--only-binary=:all:"),
            f"--python={sys.executable}",
            *(f"--extra={name}" for name in project.extras),
            *(f"--output-file={oldest}", str(root / "pyproject.toml")),
        ],
        otherwise="correct the versions in pyproject.toml",
    )
    return oldest


def _put_installed(package: Path, python: Path) -> None:
    """Put the wheel's package in the place of the checkout's, which tests would import instead."""
    where = output(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        package.parent,
    )
    shutil.rmtree(package)
    package.symlink_to(Path(where) / package.name)

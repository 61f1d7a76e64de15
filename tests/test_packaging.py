"""The port's skeleton agrees with pyproject.toml and names files that a release brings.

portlint and a ports tree are not needed: BSD make reads the Makefile with an empty bsd.port.mk.
"""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.readme import CHECKOUT
from tests.running import ran

PORT = CHECKOUT / "packaging" / "freebsd"
SETTINGS = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]

pytestmark = pytest.mark.skipif(
    shutil.which("bmake") is None, reason="BSD make (bmake) is not installed"
)


@pytest.fixture
def make(tmp_path: Path):
    for name in ("bsd.port.mk", "sys.mk"):
        (tmp_path / name).write_text("")
    given = ("PYTHON_PKGNAMEPREFIX=py311-", "PY_FLAVOR=py311", "WRKSRC=.", "STAGEDIR=/stage")
    given += ("PREFIX=/usr/local", "MKDIR=mkdir -p", "INSTALL_SCRIPT=install -m 555")

    def run(*words: str) -> str:
        command = ["bmake", "-m", str(tmp_path), "-f", str(PORT / "Makefile"), *given, *words]
        done = ran(command, cwd=CHECKOUT, check=True)
        return done.stdout.strip()

    return run


def packages(depends: str) -> set[str]:
    """`httpx>=0.27` of `py311-httpx>=0.27:www/py-httpx@py311`."""
    found = [one.partition(":") for one in depends.split()]
    for name, _, origin in found:
        assert origin.partition("/py-")[2] == f"{re.split('>=', name)[0][len('py311-') :]}@py311"
    return {name.removeprefix("py311-") for name, _, _ in found}


def test_it_has_the_version_and_the_dependencies_of_the_project(make) -> None:
    assert make("-V", "${PORTNAME}-${DISTVERSION}") == f"{PROJECT['name']}-{PROJECT['version']}"
    assert make("-V", "${DISTNAME}") == f"buildbot_bench-{PROJECT['version']}"
    assert packages(make("-V", "${RUN_DEPENDS}")) == set(PROJECT["dependencies"])
    assert packages(make("-V", "${BUILD_DEPENDS}")) == set(SETTINGS["build-system"]["requires"])
    (worker, _) = PROJECT["optional-dependencies"]["worker"]
    assert packages(make("-V", "${WORKER_RUN_DEPENDS}")) == {worker.removesuffix(",<5")}
    assert make("-V", "${USES}") == f"python:{PROJECT['requires-python'].removeprefix('>=')}+"


def test_its_script_for_rc_is_the_one_of_the_release(make) -> None:
    recipe = make("-n", "post-install-WORKER-on").splitlines()[-1].split()
    source, target = recipe[-2:]
    assert (CHECKOUT / source).is_file()
    place = f"{target}/{Path(source).name}".removeprefix("/stage/usr/local/")
    assert place == make("-V", "${WORKER_PLIST_FILES}")


def test_its_description_fits_a_terminal() -> None:
    lines = (PORT / "pkg-descr").read_text().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) < 80
    (comment,) = re.findall(r"^COMMENT=\t(.*)$", (PORT / "Makefile").read_text(), re.MULTILINE)
    assert len(comment) <= 70
    assert not comment.endswith(".")

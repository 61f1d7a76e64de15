"""On an integration machine a test that is skipped has failed; on a person's it is skipped."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.readme import CHECKOUT
from tests.running import ran

WAYS = (
    "def test_it():\n    pytest.skip('there is no server')",
    "@pytest.fixture\ndef s():\n    pytest.skip('there is no server')\ndef test_it(s): pass",
    "@pytest.mark.skipif(True, reason='there is no server')\ndef test_it(): pass",
    "pytest.skip('there is no server', allow_module_level=True)",
    "pytest.importorskip('no_such_module', reason='there is no server')",
    "@pytest.mark.xfail\ndef test_it(): assert False",
    "@pytest.mark.xfail(run=False)\ndef test_it(): assert False",
)
BROWSER = "tests/render/test_narrow_browser.py"
DATABASE = "tests/plugin/db/test_db_migrations.py"


def tried(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a run of pytest says."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return ran(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=CHECKOUT,
        env=own | environment,
    )


@pytest.fixture
def tests(tmp_path: Path) -> tuple[str, ...]:
    """Arguments for pytest: a test for each way to be skipped, and the two of xfail."""
    for number, way in enumerate(WAYS):
        (tmp_path / f"test_{number}.py").write_text(f"import pytest\n{way}\n")
    return ("-p", "tests.skipping", f"--rootdir={tmp_path}", str(tmp_path))


def test_a_skip_is_an_error_on_an_integration_machine(tests: tuple[str, ...]):
    done = tried(*tests, "--continue-on-collection-errors", CI="true")
    assert re.match(r"1 failed, 2 xfailed, 4 errors in ", done.stdout.splitlines()[-1])
    assert "there is no server\nNo test may be skipped here" in done.stdout


def test_a_skip_is_a_skip_elsewhere(tests: tuple[str, ...]):
    done = tried(*tests, CI="")
    assert re.match(r"5 skipped, 2 xfailed in ", done.stdout.splitlines()[-1])
    assert done.returncode == 0


def test_a_browser_test_without_a_browser_is_an_error(tmp_path: Path):
    done = tried(BROWSER, PATH=str(tmp_path), CI="true")
    assert "there is no chromium on the PATH" in done.stdout
    assert "skipped" not in done.stdout.splitlines()[-1]
    assert done.returncode == 1


def test_a_database_test_without_postgresql_is_an_error():
    nobody = f"postgresql+psycopg://127.0.0.1:{free_port()}/test"
    done = tried(
        DATABASE, "-k=brought_up_to_date and postgresql", BENCH_TEST_POSTGRESQL=nobody, CI="true"
    )
    assert "no PostgreSQL at postgresql+psycopg://127.0.0.1" in done.stdout
    assert "skipped" not in done.stdout.splitlines()[-1]
    assert done.returncode == 1

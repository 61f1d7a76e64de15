"""Who may act: Buildbot's cookie login, and what each refusal tells a person."""

from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.cli.farm_access import Credentials, keep_login, kept_login
from tests.fakes.farm import FakeFarm, User

Bisect = Callable[..., int]
Capture = pytest.CaptureFixture[str]
RANGE = ("r311848", "r313448")


@pytest.fixture
def guarded(farm: FakeFarm) -> FakeFarm:
    farm.users = {"olivier": User("secret"), "guest": User("guest", may_act=False)}
    return farm


@pytest.fixture
def password(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "password"
        path.write_text(text + "\n")
        return str(path)

    return write


def test_user_with_the_role_logs_in_once(
    guarded: FakeFarm, bisect: Bisect, password: Callable[[str], str]
) -> None:
    login = ("--user", "olivier", "--password-file", password("secret"))
    assert bisect(*RANGE, *login) == 0
    assert guarded.logins == 1


def test_environment_names_the_user(
    guarded: FakeFarm,
    bisect: Bisect,
    password: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BENCH_USER", "olivier")
    monkeypatch.setenv("BENCH_PASSWORD_FILE", password("secret"))
    assert bisect(*RANGE) == 0
    assert guarded.logins == 1


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    ("login", "complaint"),
    [
        (("olivier", "wrong"), "does not let 'olivier' in (HTTP 401)"),
        (
            ("guest", "guest"),
            "does not allow this: you need to have role 'bench'; ask its operator",
        ),
    ],
)
def test_refused_user_is_told_why(
    bisect: Bisect,
    capsys: Capture,
    password: Callable[[str], str],
    login: tuple[str, str],
    complaint: str,
) -> None:
    user, secret = login
    assert bisect(*RANGE, "--user", user, "--password-file", password(secret)) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert secret not in error.replace(user, "")


@pytest.mark.usefixtures("guarded")
def test_stranger_is_told_how_to_log_in(bisect: Bisect, capsys: Capture) -> None:
    assert bisect(*RANGE) == 2
    assert "log in with --user NAME --password-file FILE" in capsys.readouterr().err


@pytest.mark.usefixtures("guarded")
def test_reading_needs_no_login(bisect: Bisect) -> None:
    assert bisect("--list") == 0


def test_open_farm_takes_a_user_who_need_not_log_in(
    bisect: Bisect, password: Callable[[str], str]
) -> None:
    assert bisect(*RANGE, "--user", "olivier", "--password-file", password("secret")) == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--user", "olivier"), "a login takes both --user and --password-file"),
        (("--user", "olivier", "--password-file", "/nowhere"), "in /nowhere: No such file"),
        (("--user", "olivier", "--password-file", "/dev/null"), "first line of /dev/null is empty"),
    ],
)
def test_half_a_login_is_refused(
    bisect: Bisect, capsys: Capture, arguments: tuple[str, ...], complaint: str
) -> None:
    assert bisect(*RANGE, *arguments) == 2
    assert complaint in capsys.readouterr().err


def test_a_kept_login_is_found_by_the_farms_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    kept = Credentials(user="bench", password="secret")
    path = keep_login("http://localhost:8010/", kept)
    assert path.stat().st_mode & 0o077 == 0
    assert kept_login("http://localhost:8010") == kept
    assert kept_login("http://localhost:8011") is None


def test_two_kept_logins_leave_the_choice_to_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for user in ("alice", "bob"):
        keep_login("http://localhost:8010", Credentials(user=user, password="secret"))
    assert kept_login("http://localhost:8010") is None

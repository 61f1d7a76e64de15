"""What the client makes of a farm that misbehaves, and of a cookie that is no longer taken."""

import pytest

from buildbot_bench.cli.client import SEARCH, FarmClient, FarmUnreachableError
from buildbot_bench.cli.farm_access import Credentials
from buildbot_bench.core.errors import InfraError, UsageError
from tests.fakes.farm import FakeFarm, User

QUESTION = {"old": "r311848", "new": "r313448"}


def test_client_logs_in_again_when_its_cookie_is_gone(farm: FakeFarm) -> None:
    farm.users = {"olivier": User("secret")}
    with FarmClient(farm.url, Credentials(user="olivier", password="secret")) as client:
        client.act("searches", "forecast", QUESTION)
        farm.forget_sessions()
        client.act("searches", "forecast", QUESTION)
    assert farm.logins == 2


def test_password_does_not_show_in_a_traceback() -> None:
    assert "secret" not in repr(Credentials(user="olivier", password="secret"))


@pytest.mark.parametrize("status", [500, 502, 503])
def test_server_error_may_pass(farm: FakeFarm, status: int) -> None:
    farm.broken = status
    with FarmClient(farm.url) as client, pytest.raises(FarmUnreachableError, match="is locked"):
        client.one(SEARCH, 7)


def test_plain_buildbot_is_told_from_a_missing_search(farm: FakeFarm) -> None:
    with FarmClient(farm.url) as client, pytest.raises(UsageError, match="no such search"):
        client.one(SEARCH, 7)
    with (
        FarmClient(f"{farm.url}/elsewhere") as client,
        pytest.raises(InfraError, match="no such thing"),
    ):
        client.one(SEARCH, 7)


def test_old_farm_is_told_from_a_missing_one(farm: FakeFarm) -> None:
    with FarmClient(farm.url) as client, pytest.raises(InfraError, match="of one release"):
        client.act("searches", "predict", QUESTION)


@pytest.mark.parametrize("status", [200, 302, 400])
def test_something_else_at_the_address_is_no_farm(farm: FakeFarm, status: int) -> None:
    farm.broken = status
    with (
        FarmClient(farm.url) as client,
        pytest.raises(InfraError, match="does not answer as a farm"),
    ):
        client.rows("searches", limit=1)

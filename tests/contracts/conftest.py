"""The farms on which the REST contract is tested.

The fake one; a real one on the replay testbed (with the end-to-end tests); and a farm that runs
already, when BENCH_CONTRACT_FARM names its URL, with
BENCH_CONTRACT_RANGE="OLD NEW", BENCH_CONTRACT_PLACE="TESTBED WORKLOAD" and, for one with logins,
BENCH_CONTRACT_LOGIN="USER PASSWORD".
"""

import os
from collections.abc import Iterator

import pytest

from buildbot_bench.demo.farm import USER
from tests.contracts.subject import WITH_LOGINS, FarmUnderTest
from tests.e2e.farms import module_farms
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.fakes.farm import FakeFarm, User


@pytest.fixture(scope="module", params=[*WITH_LOGINS, "fake without logins"])
def farm(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FarmUnderTest]:
    if request.param == "running":
        yield running_farm()
        return
    if request.param == "replay":
        with module_farms(tmp_path_factory) as make:
            yield replay_farm(make(Shape()))
        return
    users = {} if request.param == "fake without logins" else {"olivier": User("secret")}
    with FakeFarm(users=users) as fake:
        yield FarmUnderTest(
            url=fake.url,
            old="r311848",
            new="r313448",
            unknown=("r311848", "r313448"),
            testbed="replay",
            workload="forwarding",
            user="olivier" if users else None,
            password="secret",
        )


def replay_farm(real: ReplayFarm) -> FarmUnderTest:
    return FarmUnderTest(
        url=real.url,
        old="r313440",
        new="r313448",
        unknown=("r312300", "r312400"),
        testbed="replay",
        workload="forwarding",
        user=USER,
        password=real.local.plan.password,
    )


def running_farm() -> FarmUnderTest:
    old, new = os.environ.get("BENCH_CONTRACT_RANGE", "r311848 r313448").split()
    testbed, workload = os.environ.get("BENCH_CONTRACT_PLACE", "replay forwarding").split()
    user, _, password = os.environ.get("BENCH_CONTRACT_LOGIN", "").partition(" ")
    return FarmUnderTest(
        url=os.environ["BENCH_CONTRACT_FARM"],
        old=old,
        new=new,
        unknown=(old, new),
        testbed=testbed,
        workload=workload,
        user=user or None,
        password=password,
    )

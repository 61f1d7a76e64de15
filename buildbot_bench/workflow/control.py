"""A testbed's control image in bench.yml, and its check against the jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Protocol

from pydantic import Field

from buildbot_bench.workflow.fields import Address, Model, Name, Seconds, Text
from buildbot_bench.workflow.relations import Problem, nearest

DAY_S = 24 * 3600.0


class Control(Model):
    """A kernel that is measured again and again: it shows whether the testbed works."""

    revision: Text
    """The revision of the control image, one that stays: r311848, a tag, a hash."""
    every: Annotated[Seconds, Field(gt=0)] = DAY_S
    """How often it is measured: 1d, 12h."""
    iterations: Annotated[int, Field(ge=1, le=100)] = 3
    """How many boots each time."""
    workload: Name | None = None
    """What is measured; the first workload of the testbed unless it is named."""
    owner: Address | None = None
    """Who is told when the testbed is out of control; else whoever answers for the farm."""


class _Testbed(Protocol):
    @property
    def control(self) -> Control | None:
        """The testbed's control image."""


def control_problems(
    testbeds: Mapping[str, _Testbed], workloads: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    """Whether each control measures what some job does; `workloads` of each testbed."""
    for name, testbed in testbeds.items():
        if testbed.control is None:
            continue
        place, known = ("testbeds", name, "control"), workloads[name]
        asked = testbed.control.workload
        if not known:
            yield Problem(place=place, message=f"no job measures on '{name}'")
        elif asked is not None and asked not in known:
            message = f"no job measures '{asked}' on '{name}'{nearest(asked, known)}"
            yield Problem(place=(*place, "workload"), message=message)


def owner_problems(testbeds: Mapping[str, _Testbed]) -> Iterator[Problem]:
    """What to say of owners where nobody is mailed."""
    for name, testbed in testbeds.items():
        if testbed.control is not None and testbed.control.owner is not None:
            place = ("testbeds", name, "control", "owner")
            yield Problem(place=place, message="gets no mail: the farm has no 'mail'")

"""The control image in bench.yml: what may be said, what follows, what is refused."""

import pytest

from buildbot_bench.workflow.settings import Control
from tests.workflow.example import SMALLEST, Complaints, Loader

MAIL = "mail: {from: bench@example.org, to: net@example.org}\n"


def with_control(control: str, *, mail: str = MAIL, testbed: str = "embedded") -> str:
    return f"{SMALLEST}testbeds:\n  {testbed}: {{control: {control}}}\n{mail}"


def test_a_control_image_needs_its_revision_only(read: Loader) -> None:
    workflow = read(with_control("{revision: r311848}"))
    control = workflow.testbeds["embedded"].control
    assert control == Control(revision="r311848")
    assert (control.every, control.iterations, control.owner) == (86400.0, 3, None)
    assert workflow.workloads_on("embedded") == ("forwarding",)


def test_everything_may_be_said(read: Loader) -> None:
    said = "{revision: r1, every: 12h, iterations: 5, owner: ann@example.org, workload: forwarding}"
    control = read(with_control(said)).testbeds["embedded"].control
    assert control == Control(
        revision="r1", every="12h", iterations=5, owner="ann@example.org", workload="forwarding"
    )


def test_a_testbed_has_none_unless_it_is_said(read: Loader) -> None:
    assert read(SMALLEST).testbeds["embedded"].control is None


def test_a_label_leads_to_the_workloads_of_its_testbeds(read: Loader) -> None:
    text = SMALLEST.replace("runs-on: embedded", "runs-on: small")
    text += "testbeds:\n  one: {labels: [small], control: {revision: r1}}\n"
    assert read(text).workloads_on("one") == ("forwarding",)


@pytest.mark.parametrize(
    ("control", "complaint"),
    [
        ("{every: 1d}", "control.revision: missing"),
        ("{revision: r1, evry: 1d}", "control.evry: unknown key; did you mean 'every'?"),
        ("{revision: r1, every: daily}", "control.every: should be a duration such as 500ms, 90s"),
        ("{revision: r1, every: 0s}", "control.every: should be greater than 0"),
        ("{revision: r1, iterations: 0}", "control.iterations: should be greater than or equal"),
        ("{revision: r1, owner: Ann}", "control.owner: should be a mail address"),
        (
            "{revision: r1, workload: forwardin}",
            "control.workload: no job measures 'forwardin' on 'embedded'; did you mean 'forwa",
        ),
        ("r1", "control: should be a mapping of keys to values, not 'r1'"),
    ],
)
def test_a_mistake_is_told_with_its_place(
    complaints: Complaints, control: str, complaint: str
) -> None:
    (told,) = complaints(with_control(control))
    assert told.startswith(f"bench.yml:16: testbeds.embedded.{complaint}"), told


def test_a_testbed_that_no_job_measures_on_has_no_control(complaints: Complaints) -> None:
    idle = "testbeds:\n  idle: {control: {revision: r1}}\n"
    assert complaints(with_control("{revision: r1}").replace("testbeds:\n", idle)) == [
        "bench.yml:16: testbeds.idle.control: no job measures on 'idle'"
    ]


def test_an_owner_whom_no_mail_reaches_is_refused(complaints: Complaints) -> None:
    assert complaints(with_control("{revision: r1, owner: ann@example.org}", mail="")) == [
        "bench.yml:16: testbeds.embedded.control.owner: gets no mail: the farm has no 'mail'"
    ]

"""What a person at the bench reads, and that no kernel's words steer his terminal."""

from buildbot_bench.core.wire import Failed, FailureKind, Finished, Measured, Phase, Started
from buildbot_bench.lab.cli import told


def test_each_event_is_a_line_that_says_what_happened():
    started = Started(
        job="j", testbed="apu2", workload="pf", digest="a" * 64, iterations=5, facts={"cpu": "AMD"}
    )
    assert told(started) == "job j: pf on apu2, aaaaaaaaaaaa\n  cpu: AMD"
    assert told(Phase(text="power-cycling", at_s=0)).endswith(" power-cycling")
    value = Measured(ordinal=2, at_s=0, duration_s=95.4, values={"pps": 729113.0})
    assert told(value).endswith(" #2: 729,113 pps (95 s)")
    refused = Measured(ordinal=3, at_s=0, duration_s=9, failure="0 pps for the whole run")
    assert told(refused).endswith(" #3: refused: 0 pps for the whole run")
    assert told(Finished(iterations=5)) == "finished: 5 iterations"


def test_control_characters_are_not_printed():
    failed = Failed(kind=FailureKind.UNTESTABLE, reason="panic: \x1b[2J\nroot# ")
    assert told(failed) == "untestable: panic: \ufffd[2J root#"

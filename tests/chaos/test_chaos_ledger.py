"""What struck is counted, what was violated is blamed on what struck last, recovery is timed."""

from tests.chaos.ledger import Ledger, table


def test_a_run_is_summed_up_in_a_table() -> None:
    ledger = Ledger(missing={"full disk": "no file system can be mounted here"})
    ledger.look(5, 0.0)
    ledger.struck("kill the master", kills=True, at_s=10.0, over_s=10.0)
    ledger.struck("network holds", kills=False, at_s=11.0, over_s=15.0)
    ledger.violated(["probe 3: has 4 boots of 3 asked for"])
    ledger.look(5, 20.0)
    ledger.look(6, 31.0)
    ledger.struck("kill the master", kills=True, at_s=40.0, over_s=40.0)
    ledger.look(7, 42.0)
    assert ledger.kills == 2
    assert ledger.interruptions == [10.0, 40.0]
    assert table(ledger) == (
        "| fault           | times | violations | longest recovery |\n"
        "| --------------- | ----- | ---------- | ---------------- |\n"
        "| kill the master | 2     | 0          | 21 s             |\n"
        "| network holds   | 1     | 1          | 16 s             |\n"
        "| all kills       | 2     | 1          |                  |\n"
        "\nNot done: full disk: no file system can be mounted here."
    )


def test_a_violation_that_stays_is_counted_once() -> None:
    ledger = Ledger()
    ledger.struck("power cut", kills=True, at_s=0.0, over_s=0.0)
    ledger.violated(["a", "b"])
    ledger.violated(["b", "c"])
    assert ledger.violations == ["a", "b", "c"]
    assert ledger.tallies["power cut"].violations == 3


def test_work_that_goes_on_during_a_fault_is_a_recovery_of_no_time() -> None:
    ledger = Ledger()
    ledger.struck("clock stands", kills=False, at_s=0.0, over_s=9.0)
    ledger.look(1, 4.0)
    assert ledger.tallies["clock stands"].longest_s == 0.0

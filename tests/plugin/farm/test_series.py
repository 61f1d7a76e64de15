"""Which workloads are measured on which testbeds."""

from buildbot_bench.plugin.farm.series import all_series

SECOND_JOB = """
  smoke:
    needs: kernel
    runs-on: xeon
    strategy: {matrix: {workload: [pf]}}
    iterations: auto

regression:"""
TWINS = (
    ("apu: {", "apu: {labels: twin, "),
    ("xeon: {", "xeon: {labels: twin, "),
    ("runs-on: apu", "runs-on: twin"),
)


def measured(farm) -> list[tuple[str, str, int | None]]:
    return [(x.testbed, x.workload, x.iterations) for x in all_series(farm.workflow.bench_jobs)]


def test_each_workload_on_each_testbed_is_a_series(make_farm):
    farm = make_farm(
        ("runs-on: apu", "runs-on: [apu, xeon]"), ("[forwarding]", "[forwarding, ipfw]")
    )
    assert measured(farm) == [
        ("apu", "forwarding", 5),
        ("apu", "ipfw", 5),
        ("xeon", "forwarding", 5),
        ("xeon", "ipfw", 5),
    ]


def test_a_workload_has_the_gates_that_measure_it_too(make_farm):
    gate = SECOND_JOB.replace("smoke", "gate").replace("[pf]", "[forwarding, pf]")
    farm = make_farm(
        ("\nregression:", gate),
        ("needs: kernel\n    runs-on: apu", "needs: gate\n    runs-on: apu"),
        ("{workload: [forwarding]}", "{workload: [forwarding, ipfw]}"),
    )
    gates = {(x.testbed, x.workload): x.gates for x in all_series(farm.workflow.bench_jobs)}
    assert gates == {
        ("apu", "forwarding"): ("xeon",),
        ("apu", "ipfw"): (),
        ("xeon", "forwarding"): (),
        ("xeon", "pf"): (),
    }


def test_each_job_has_series_of_its_own_and_auto_leaves_the_number_open(make_farm):
    farm = make_farm(("\nregression:", SECOND_JOB))
    assert measured(farm) == [("apu", "forwarding", 5), ("xeon", "pf", None)]


def test_workloads_of_a_label_are_dealt_to_its_testbeds_each_at_home_on_one(make_farm):
    farm = make_farm(*TWINS, ("[forwarding]", "[forwarding, ipfw, pf]"))
    assert measured(farm) == [("apu", "forwarding", 5), ("xeon", "ipfw", 5), ("apu", "pf", 5)]
    assert {series.pool for series in all_series(farm.workflow.bench_jobs)} == {("apu", "xeon")}

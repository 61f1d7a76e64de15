"""A recorded lab answers as the real one did: first its own values, then more of their kind."""

import gzip
import hashlib
import json
import statistics

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.metric import NDR
from buildbot_bench.core.wire import RECORDED_BOOTS
from buildbot_bench.lab.drivers.replay import (
    Recording,
    ReplayDriver,
    ReplaySettings,
    canonical_label,
    load_series,
    newest_recorded,
    redrawn,
)
from buildbot_bench.lab.files import sha256

POINTS = {
    "r100": [1000.0, 1010.0, 990.0, 1005.0, 995.0],
    "r200": [500.0, 505.0, 495.0],
    "200PATCH": [700.0],
}


def write_series(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(workload="forwarding(implicit)", dut="APU2", label="x", points=POINTS):
    recorded = [{"revision": name, "pps": pps} for name, pps in points.items()]
    return {"dut": dut, "label": label, "workload": workload, "points": recorded}


@pytest.fixture
def boots(tmp_path):
    """The values of a number of boots of one artefact."""
    settings = ReplaySettings(series=write_series(tmp_path / "s.jsonl", row()))

    def boots(first_line, count, *, home="home", workload="forwarding"):
        artefact = tmp_path / "artefact"
        artefact.write_text(f"{first_line}\n", encoding="utf-8")
        driver = ReplayDriver(settings, tmp_path / home)
        driver.install(artefact, sha256(artefact))
        return [driver.blast(workload).values["pps"] for _ in range(count)]

    return boots


def test_the_first_boots_answer_the_recorded_iterations_in_their_order(boots):
    assert boots("r100", 5) == POINTS["r100"]


def test_values_of_another_unit_are_played_in_it(tmp_path):
    lossless = [{"revision": "r100", NDR.unit: [3.0, 4.0]}]
    rows = [row(), row(workload="lossless") | {"unit": NDR.unit, "points": lossless}]
    series = write_series(tmp_path / "s.jsonl", *rows)
    (tmp_path / "artefact").write_text("r100\n", encoding="utf-8")
    driver = ReplayDriver(ReplaySettings(series=series), tmp_path / "home")
    driver.install(tmp_path / "artefact", sha256(tmp_path / "artefact"))
    assert driver.blast("forwarding").values == {"pps": 1000.0}
    assert driver.blast("lossless").values == {NDR.unit: 3.0}


def test_boots_are_counted_across_jobs(boots):
    assert boots("r100", 2) + boots("r100", 3) == POINTS["r100"]


def test_a_further_build_does_not_repeat_the_values_of_the_first(boots):
    assert boots("r100", 2) + boots("r100\nimage 1", 3) == POINTS["r100"]


def test_further_boots_have_the_recorded_level_and_spread(boots):
    further = boots("r100", 405)[5:]
    assert statistics.fmean(further) == pytest.approx(1000, rel=0.001)
    assert statistics.stdev(further) == pytest.approx(statistics.stdev(POINTS["r100"]), rel=0.06)
    assert len(set(further)) > 350


def test_the_same_boots_give_the_same_values(boots):
    assert boots("r150", 7, home="one") == boots("r150", 7, home="other")


def test_an_unrecorded_revision_has_the_level_of_the_newest_recorded_one_before_it(boots):
    assert statistics.fmean(boots("r199", 20)) == pytest.approx(1000, rel=0.01)
    assert statistics.fmean(boots("r201", 20)) == pytest.approx(500, rel=0.01)


def test_neighbours_with_the_same_level_do_not_have_the_same_values(boots):
    assert not set(boots("r150", 5)) & set(boots("r151", 5))


def test_a_variant_answers_when_it_was_recorded(boots):
    assert boots("r200+PATCH", 1) == [700.0]
    with pytest.raises(UntestableRevision, match="variant r200\\+OTHER"):
        boots("r200+OTHER", 1)


PATCH = "--- a\n+++ b\n"


@pytest.fixture
def recorded(tmp_path):
    """Blasts of an artefact on a testbed that plays two campaigns, one of them with a patch."""
    (tmp_path / "my.patch").write_text(PATCH)
    patched = [
        {"revision": "r300", "pps": [800.0, 801.0]},
        {"revision": "300mine", "patch": "my.patch", "pps": [900.0, 901.0]},
        {"revision": "300VIMAGE", "pps": [850.0]},
    ]
    other = {"dut": "C2558", "label": "y", "workload": "forwarding", "points": patched}
    settings = ReplaySettings(series=write_series(tmp_path / "s.jsonl", row(), other))

    def blasts(lines, count, *, sample=""):
        artefact = tmp_path / "artefact"
        artefact.write_text("\n".join(lines) + "\n", encoding="utf-8")
        driver = ReplayDriver(settings, tmp_path / "home")
        if sample:
            driver.deal(sample)
        driver.install(artefact, sha256(artefact))
        return [driver.blast("forwarding") for _ in range(count)]

    return blasts


def values(blasts):
    return [blast.values["pps"] for blast in blasts]


def test_a_patched_kernel_is_known_by_the_patch_that_its_builder_says(recorded):
    digest = hashlib.sha256(PATCH.encode()).hexdigest()
    assert values(recorded(["r300", "image 0", digest], 2)) == [900.0, 901.0]
    other = hashlib.sha256(b"another").hexdigest()
    with pytest.raises(UntestableRevision) as caught:
        recorded(["r300", "image 0", other], 1)
    assert str(caught.value) == (
        f"nothing was recorded of the variant r300+patch:{other[:12]}…; recorded are r300, "
        "r300+mine, r300+VIMAGE; a patch is known by its SHA-256, not by its name"
    )
    with pytest.raises(UntestableRevision, match="recorded are others"):
        recorded(["r150", digest], 1)


def test_options_that_a_builder_set_are_part_of_the_kernel(recorded):
    assert values(recorded(["r300", "image 0", "", "options VIMAGE"], 1)) == [850.0]
    with pytest.raises(UntestableRevision, match=r"r300\+nooptions:VIMAGE"):
        recorded(["r300", "nooptions VIMAGE"], 1)


def test_each_sample_is_dealt_the_recorded_boots_from_the_first(recorded):
    assert values(recorded(["r300"], 1)) == [800.0]
    assert values(recorded(["r300"], 2, sample="comparison-1")) == [800.0, 801.0]
    assert values(recorded(["r300"], 1)) == [801.0]
    first, second, more = recorded(["r300"], 3, sample="comparison-2")
    assert first.facts[RECORDED_BOOTS] == second.facts[RECORDED_BOOTS]
    assert first.facts[RECORDED_BOOTS] == "2 on C2558, dealt in order"
    assert more.facts[RECORDED_BOOTS] == (
        "2 on C2558, dealt in order; what is more is redrawn from them"
    )
    (redrawn_boot,) = recorded(["r301"], 1, sample="comparison-2")
    assert redrawn_boot.facts[RECORDED_BOOTS] == "none; redrawn from the 2 on C2558 of r300"


def test_a_boot_says_on_which_machine_it_was_recorded(recorded):
    (boot,) = recorded(["r200"], 1)
    assert boot.facts == {"dut": "APU2", "series": "x"}
    (boot,) = recorded(["r300"], 1)
    assert boot.facts == {"dut": "C2558", "series": "y"}


def test_a_patch_that_is_not_beside_its_recording_is_named_with_the_line(tmp_path):
    points = [{"revision": "300mine", "patch": "gone.patch", "pps": [1.0]}]
    path = write_series(tmp_path / "s.jsonl", row() | {"points": points})
    with pytest.raises(UsageError, match=r"s\.jsonl:1: cannot read a patch: .*gone\.patch"):
        load_series(path)


def test_what_is_older_than_the_recording_is_untestable(boots):
    with pytest.raises(UntestableRevision, match="at or before r99"):
        boots("r99", 1)


@pytest.mark.parametrize("line", ["", "kernel", "r", "11.0", "r1x y\x00", "r99999999999"])
def test_an_artefact_that_names_no_revision_is_untestable(boots, line):
    with pytest.raises(UntestableRevision):
        boots(line, 1)


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("r311848", "r311848"),
        ("311848", "r311848"),
        ("311848iflib", "r311848+iflib"),
        ("r368606D27401v3", "r368606+D27401v3"),
        ("r317849+VIMAGE", "r317849+VIMAGE"),
        ("294235.fastforwarding", "r294235+fastforwarding"),
        ("HEAD120", None),
    ],
)
def test_the_archives_ways_to_write_a_revision(written, label):
    assert canonical_label(written) == label


def test_a_single_recorded_value_is_redrawn_as_itself():
    assert redrawn([700.0], "any seed") == 700.0


def test_variants_do_not_stand_for_revisions():
    recorded = {name: Recording(values=(1.0,)) for name in ("r1", "r2+X")}
    assert newest_recorded(recorded, "r3") == "r1"


def test_a_file_with_several_series_needs_to_be_told_which(tmp_path):
    path = write_series(tmp_path / "s.jsonl", row(), row(dut="C2558"), row(workload="pf"))
    with pytest.raises(UsageError, match=r"s\.jsonl:2: a second series of forwarding"):
        load_series(path)
    assert set(load_series(path, dut="APU2")) == {"forwarding", "pf"}
    with pytest.raises(UsageError, match="no series of DUT 'APU9'"):
        load_series(path, dut="APU9")


@pytest.mark.parametrize(
    ("text", "message"),
    [("{\n", "s.jsonl:1: not JSON"), ("[]\n", "s.jsonl:1: not a rec"), ('{"dut": 1}', "workload")],
)
def test_a_damaged_recording_is_named_with_its_line(tmp_path, text, message):
    path = tmp_path / "s.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_series(path)
    assert message in str(caught.value)


def test_a_damaged_boot_counter_is_an_infrastructure_error(boots, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "boots.json").write_text("{")
    with pytest.raises(InfraError, match="remove it"):
        boots("r100", 1)


CAPTURE = """\
@ BU_CPU_CLK_UNHALTED [4 samples]

75.00%  [3]        ip_input @ /boot/kernel/kernel
25.00%  [1]        cpu_idle @ /boot/kernel/kernel
"""


@pytest.fixture
def capture(tmp_path):
    """What a testbed of recorded captures says of a revision."""
    (tmp_path / "captures").mkdir()
    settings = ReplaySettings(
        series=write_series(tmp_path / "s.jsonl", row()), captures=tmp_path / "captures"
    )

    def capture(label, text=CAPTURE):
        (tmp_path / "captures" / "r100.forwarding.pmc.graph.gz").write_bytes(
            gzip.compress(text.encode()) if isinstance(text, str) else text
        )
        artefact = tmp_path / "artefact"
        artefact.write_text(f"{label}\n", encoding="utf-8")
        driver = ReplayDriver(settings, tmp_path / "home")
        driver.install(artefact, sha256(artefact))
        return driver.capture("forwarding")

    return capture


def test_a_recorded_capture_is_that_of_the_revision(capture):
    assert (capture("r100").event, capture("r100").samples) == ("BU_CPU_CLK_UNHALTED", 4)


def test_a_capture_that_was_not_recorded_or_cannot_be_read_is_a_fault_of_the_lab(capture):
    with pytest.raises(InfraError, match="no capture was recorded of r150"):
        capture("r150")
    for damaged in (CAPTURE[:60], b"no gzip"):
        with pytest.raises(InfraError, match=r"cannot read r100\.forwarding\.pmc\.graph\.gz"):
            capture("r100", damaged)

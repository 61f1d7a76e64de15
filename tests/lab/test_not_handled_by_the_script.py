"""What the archive's own harness did not handle, and the test that shows that it is handled here.

The left column is what befell the lab that bench-lab.sh drove, as its author's archive and its code
tell; the right one names tests of this tree.
"""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HANDLED = {
    "the DUT hangs": ["test_a_kernel_that_hangs_is_power_cycled_and_untestable"],
    "it panics": [
        "test_a_panic_at_boot_falls_back_and_is_untestable",
        "test_a_kernel_that_panics_before_it_is_ready_is_untestable",
        "test_a_kernel_that_panics_under_traffic_is_untestable",
        "test_a_kernel_in_its_debugger_is_not_waited_for",
    ],
    "it boots without end": ["test_a_boot_loop_is_ended_by_the_power_driver"],
    "no power control": ["test_a_hang_without_a_power_driver_is_a_fault_of_the_lab"],
    "no fallback": [
        "test_an_image_that_panics_falls_back_to_the_known_good_slice_and_is_untestable"
    ],
    "the campaign stops, and nobody hears of it": [
        "test_a_search_that_failed_tells_its_operator_why_and_what_was_measured"
    ],
    "a sender is waited for without end": ["test_a_sender_without_end_is_stopped_by_its_number"],
    "ssh freezes or dies": ["test_a_generator_that_fails_is_told_from_a_kernel_that_does"],
    "shutdown fails, or takes its ssh along": [
        "test_a_shutdown_that_hangs_is_ended_by_the_power_driver_and_the_kernel_boots",
        "test_a_shutdown_that_takes_its_own_ssh_along_is_no_failure",
    ],
    "a slow shutdown is taken for a boot": ["test_a_slow_shutdown_is_not_taken_for_a_reboot"],
    "another kernel than the label's runs": [
        "test_a_kernel_other_than_the_one_asked_for_is_refused",
        "test_a_kernel_that_does_not_stand_in_the_image_is_refused",
    ],
    "nothing is recorded of the set-up": [
        "test_the_facts_say_what_a_measurement_depends_on",
        "test_what_a_configuration_set_brings_counts_as_it_brings_it",
    ],
    "a build that fails is just absent": [
        "test_a_revision_that_does_not_compile_is_untestable_with_its_error"
    ],
    "equal kernels are measured": [
        "test_a_kernel_of_the_same_bytes_as_its_predecessors_is_not_booted"
    ],
    "zero, short and crashed runs": [
        "test_a_bounced_link_is_recorded_and_the_run_repeated",
        "test_a_generator_that_fails_is_told_from_a_kernel_that_does",
    ],
    "the offered load is off": ["test_an_offered_load_that_is_off_is_refused"],
    "line rate hides everything": ["test_line_rate_is_unfit_but_a_drop_below_it_is_not"],
    "no noise model, no least effect": [
        "test_both_spreads_are_recovered",
        "test_a_change_proven_below_min_effect_is_nothing",
    ],
    "two modes": ["test_a_second_mode_is_believed_when_it_comes_again"],
    "lab changes are not epochs": ["test_another_epoch_is_unfit_until_something_is_measured_in_it"],
    "no resume": ["test_a_killed_runner_is_replaced_and_no_finished_iteration_is_repeated"],
    "two runs collide": ["test_a_second_job_waits_for_the_testbed_and_says_for_whom"],
    "unknown hosts are trusted": [
        "test_a_host_with_another_key_than_the_known_one_is_not_spoken_to"
    ],
    "configurations are run": ["test_what_is_no_assignment_is_named_and_not_run"],
    "pkt-gen is killed by its name": ["test_only_what_we_started_is_stopped"],
    "a capture misses the traffic": [
        "test_sampling_begins_when_traffic_is_seen_and_ends_before_the_traffic_does",
        "test_a_mostly_idle_one_is_refused_with_its_share_and_taken_again_on_another_boot",
    ],
    "a capture is taken for a measurement": [
        "test_it_is_taken_of_a_booted_and_verified_kernel_and_equal_stacks_are_summed"
    ],
    "a full disk": ["test_a_full_disk_is_named_and_left_as_it_was"],
    "the root is left writable": ["test_a_nanobsd_root_is_read_only_again_after_a_failure"],
}


@pytest.fixture(scope="module")
def names() -> set[str]:
    found = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
    return {name for path in TESTS.rglob("test_*.py") for name in found.findall(path.read_text())}


@pytest.mark.parametrize("trouble", HANDLED)
def test_it_has_a_test_of_its_own(trouble, names):
    assert set(HANDLED[trouble]) <= names

"""The logs of a run as one text: whole, apart again, and bounded whatever a machine prints."""

from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.wire import (
    LONGEST_LOG,
    MOST_SENDERS,
    RunLogs,
    is_cut,
    join_logs,
    split_logs,
)

TEXTS = st.text(st.characters(exclude_characters="\x1c"), max_size=60)
LOGS = st.builds(
    RunLogs,
    receiver=TEXTS,
    senders=st.lists(TEXTS, max_size=4).map(tuple),
    remark=TEXTS,
)


@given(LOGS)
def test_what_was_joined_comes_apart_as_it_was(logs):
    assert split_logs(join_logs(logs)) == logs


@given(st.text(max_size=60))
def test_a_log_of_an_earlier_release_is_the_receivers(text):
    assert split_logs(text.replace("\x1c", "")) == RunLogs(receiver=text.replace("\x1c", ""))


@given(st.text(st.sampled_from("\x1creceivsndmak\n"), max_size=80))
def test_no_log_can_pass_for_another_ones(text):
    logs = split_logs(join_logs(RunLogs(receiver=text, senders=(text,))))
    assert len(logs.senders) == 1
    assert logs.receiver == logs.senders[0] == text.replace("\x1c", "\ufffd")


def test_a_log_of_a_real_run_is_whole_and_one_without_end_keeps_both_its_ends():
    """The archive's longest log has some 25 000 characters."""
    real = "529.48 main_thread [2786] 700000 pps (1 pkts)\n" * 2000
    assert join_logs(RunLogs(receiver=real)) == real
    endless = "CMD: pkt-gen\n" + "x" * 3 * LONGEST_LOG + "\nReceived 7 packets\n"
    kept = join_logs(RunLogs(receiver=endless, senders=(endless,) * 99))
    assert len(kept) < (MOST_SENDERS + 1) * (LONGEST_LOG + 100)
    logs = split_logs(kept)
    assert len(logs.senders) == MOST_SENDERS
    assert is_cut(logs.receiver)
    assert not is_cut(real)
    assert logs.receiver.startswith("CMD: pkt-gen\n")
    assert logs.receiver.endswith("\nReceived 7 packets\n")


def test_a_log_that_was_cut_is_not_cut_again():
    once = join_logs(RunLogs(receiver="x" * 2 * LONGEST_LOG, remark="r"))
    assert is_cut(split_logs(once).receiver)
    assert len(join_logs(split_logs(once))) < len(once) + 100

"""Flow presets and pkt-gen's command lines, as the archive's configurations have them."""

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.hardware.flows import PktgenTraffic

RFC2544_BYTES = (64, 128, 256, 512, 1024, 1280, 1518)


def transmit(traffic, sender=0, of=1):
    return traffic.transmit(
        "igb1", mac="0c:c4:7a:ab:29:35", dut_mac="00:0d:b9:41:ca:3d", sender=sender, of=of
    )


def test_two_thousand_flows_are_twenty_times_a_hundred_addresses():
    assert PktgenTraffic(flows="2k").ranges("inet") == (
        "198.18.10.1:2001-198.18.10.20",
        "198.19.10.1:2001-198.19.10.100",
    )
    assert PktgenTraffic(flows="2k").ranges("inet6") == (
        "[2001:2:0:10::1]-[2001:2:0:10::14]",
        "[2001:2:0:8010::1]-[2001:2:0:8010::64]",
    )


def test_the_command_of_an_apu2s_sender_is_the_archives():
    traffic = PktgenTraffic(offered_pps=1_466_333, duration_s=30)
    assert " ".join(transmit(traffic)) == (
        "pkt-gen -N -f tx -i igb1 -n 43989990 -l 60 -4 -d 198.19.10.1:2001-198.19.10.100"
        " -D 00:0d:b9:41:ca:3d -s 198.18.10.1:2001-198.18.10.20 -S 0c:c4:7a:ab:29:35 -w 2"
    )
    assert " ".join(traffic.receive("igb2")) == "pkt-gen -N -f rx -i igb2 -w 2 -W"


def test_the_smallest_frame_of_ipv6_is_larger():
    words = transmit(PktgenTraffic(family="inet6", offered_pps=1e6))
    assert words[words.index("-l") + 1] == "62"
    assert "-6" in words


def test_dual_stack_gives_the_senders_either_family_in_turn():
    traffic = PktgenTraffic(family="dual", offered_pps=1e6)
    families = [{"-4", "-6"} & set(transmit(traffic, sender=n, of=2)) for n in range(2)]
    assert families == [{"-4"}, {"-6"}]


@pytest.mark.parametrize(
    ("frame_bytes", "rate_pps"),
    list(zip(RFC2544_BYTES, (1488095, 844595, 452899, 234962, 119732, 96154, 81274), strict=True)),
)
def test_the_line_rates_of_rfc_2544_on_a_gigabit(frame_bytes, rate_pps):
    traffic = PktgenTraffic(frame_bytes=frame_bytes, offered_pps=1_466_333)
    assert round(traffic.line_rate_pps) == rate_pps
    assert traffic.load_pps == min(1_466_333, traffic.line_rate_pps)


def test_several_senders_share_the_packets():
    assert PktgenTraffic(offered_pps=1e6, duration_s=10).packets(4) == 2_500_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"flows": "3k"},
        {"family": "ipx"},
        {"frame_bytes": 63},
        {"sources": "198.18.0.1-198.18.0.2"},
        {"sources": "1.2.3.4; reboot", "destinations": "1.2.3.4"},
    ],
)
def test_what_pkt_gen_cannot_be_told_is_refused(wrong):
    with pytest.raises(UsageError):
        PktgenTraffic(**wrong)

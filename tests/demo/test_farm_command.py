"""What `bench-farm run` tells of the farm that it keeps."""

from pathlib import Path

from buildbot_bench.demo.cli import question


def test_the_range_to_ask_of_is_one_that_the_farm_has():
    assert question(None, "replay") == "r311848 r313448"
    assert question(None, "vm") == "r320000 r320010 --testbed vm-exact"
    assert question(Path("docs/tutorial/freebsd-vm.yml"), "replay") == "OLD NEW"

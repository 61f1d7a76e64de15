"""The plugin that counts instructions, without a QEMU: its memory, its build, what lacks."""

import struct

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.virtual import trace as plugins
from buildbot_bench.lab.virtual.trace import Plugin, compiled_plugin

NEW, OLD = "QEMU emulator version 9.0.2", "QEMU emulator version 7.2.22 (Debian)"


@pytest.fixture
def plugin(tmp_path):
    plugin = Plugin(tmp_path / "tracer.so", tmp_path / "logs")
    yield plugin
    plugin.close()


def translate(plugin, *addresses):
    """What the other side does."""
    used = plugin._used()
    place = plugins._ADDRESSES_AT + 8 * used
    struct.pack_into(f"={len(addresses)}Q", plugin._memory, place, *addresses)
    struct.pack_into("=I", plugin._memory, 4, used + len(addresses))


def execute(plugin, slot, times):
    struct.pack_into("=I", plugin._memory, plugins._COUNTS_AT + 4 * slot, times)


def test_counts_are_by_address_however_often_it_was_translated(plugin):
    translate(plugin, 0xFFFFFFFF80200000, 0xFFFFFFFF80200004)
    execute(plugin, 0, 3)
    assert plugin.read() == {0xFFFFFFFF80200000: 3}
    plugin.clear()
    assert not plugin.read()
    translate(plugin, 0xFFFFFFFF80200000)
    for slot in range(3):
        execute(plugin, slot, 1 + slot)
    assert plugin.read() == {0xFFFFFFFF80200000: 4, 0xFFFFFFFF80200004: 2}


def test_its_memory_is_a_file_with_holes_and_without_a_name(plugin, tmp_path):
    import os

    assert list((tmp_path / "logs").iterdir()) == []
    assert os.fstat(plugin.descriptor).st_blocks * 512 < 1 << 16


def test_more_instructions_than_there_is_room_for_are_told(plugin):
    struct.pack_into("=I", plugin._memory, 8, 1)
    with pytest.raises(InfraError, match="more than 1048576 instructions") as caught:
        plugin.read()
    assert "traced_bursts" in caught.value.hint


def test_it_is_compiled_once_for_each_interface_of_qemu(tmp_path):
    library = compiled_plugin(OLD, tmp_path)
    built = library.stat().st_mtime_ns
    assert compiled_plugin(OLD.replace("7.2", "8.2"), tmp_path) == library
    assert library.stat().st_mtime_ns == built
    assert compiled_plugin(NEW, tmp_path) != library


def test_without_room_for_its_memory_the_lab_is_told(tmp_path, monkeypatch):
    def full(**_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plugins.tempfile, "TemporaryFile", full)
    with pytest.raises(InfraError, match=r"no memory to share with QEMU: .*No space left"):
        Plugin(tmp_path / "tracer.so", tmp_path)

"""What a build read of its source tree stands beside the kernel, or nothing does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from buildbot_bench import demo
from buildbot_bench.build.cli import main
from buildbot_bench.build.outcome import list_beside, write_list
from buildbot_bench.core.read_files import FileChange, ReadFiles, parse_read_files
from tests.build.builder import DONE, UNTESTABLE, needs_clang


def read_beside(kernel: Path) -> ReadFiles:
    return parse_read_files(list_beside(kernel).read_bytes())


def touches(read: ReadFiles, path: str) -> bool:
    return read.touched_by([FileChange(path=path, edited=True)])


@pytest.mark.parametrize("tool", ["make", pytest.param("make.py", marks=needs_clang)])
def test_a_freebsd_kernel_has_a_list_of_what_it_and_its_tools_are_built_from(builder, tool):
    assert builder.build(tool=tool) == DONE
    read = read_beside(builder.archive)
    assert {"sys/kern/main.c", "sys/modules/em/module.c", "sys/modules/pf/module.c"} <= read.names
    for path in ("usr.sbin/config/main.c", "usr.sbin/config/config.sh", "sys/conf/files"):
        assert touches(read, path)
    for path in ("usr.sbin/config/config.8", "share/man/man4/inet.4", "sys/net/if_other.c"):
        assert not touches(read, path)


def test_a_kernel_that_was_built_before_keeps_its_list_and_a_module_leaves_it_never(builder):
    assert builder.build() == DONE
    whole = read_beside(builder.archive)
    assert builder.build() == DONE
    assert read_beside(builder.archive) == whole


def test_a_build_that_fails_leaves_no_list_of_an_earlier_one(builder):
    assert builder.build() == DONE
    builder.edit("sys/kern/main.c", "x * 2", "y * 2")
    assert builder.build() == UNTESTABLE
    assert not list_beside(builder.archive).exists()


def test_an_object_of_which_the_compiler_told_nothing_leaves_no_list(builder, capsys):
    builder.edit("Makefile", "-MD -MF $(OBJ)/.depend.ip_fastfwd.o ", "")
    assert builder.build() == DONE
    assert not list_beside(builder.archive).exists()
    assert "not known, the compiler left no list for ip_fastfwd.o" in capsys.readouterr().out


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tree with names that make and shells would read otherwise."""
    tree = tmp_path / "the src"
    (tree / "sys").mkdir(parents=True)
    (tree / "sys" / "a b.c").write_text('#include "link.h"\nint main(void) { return X; }\n')
    (tree / "sys" / "real $.h").write_text("#define X 0\n")
    (tree / "sys" / "link.h").symlink_to("real $.h")
    (tree / "sys" / "other.c").write_text("int other;\n")
    return tree


def compile_in(source: Path, *words: str) -> None:
    subprocess.run(["cc", "-MD", *words], cwd=source, check=True)


def test_a_link_and_what_it_leads_to_are_both_read_and_names_may_be_odd(source, tmp_path):
    compile_in(source, "-c", "-o", "../obj.o", "sys/a b.c")
    shutil.move(tmp_path / "obj.d", source / "obj.d")
    write_list(source / "kernel", source, source)
    expected = {"sys/a b.c", "sys/link.h", "sys/real $.h"}
    assert read_beside(source / "kernel").names == expected


def test_without_dependency_files_nothing_is_known(source, capsys):
    list_beside(source / "kernel").write_bytes(b"of yesterday")
    assert main(["read-files", f"--source={source}", f"--objects={source}", "kernel"]) == DONE
    write_list(source / "kernel", source, source)
    assert not list_beside(source / "kernel").exists()
    assert "not known" in capsys.readouterr().out


def test_the_system_s_headers_are_not_of_the_tree(source):
    (source / "sys" / "other.c").write_text("#include <stddef.h>\nsize_t other;\n")
    compile_in(source, "-c", "-o", "other.o", "sys/other.c")
    write_list(source / "kernel", source, source)
    assert read_beside(source / "kernel").names == {"sys/other.c"}


def test_a_list_that_does_not_lie_where_the_compiler_ran_names_what_it_may_mean(source):
    """As of `make -C sys` with objects elsewhere."""
    (source / "sys" / "more").mkdir()
    (source / "sys" / "more" / "x.c").write_text("int x;\n")
    (source / "sys" / "more" / "y.c").write_text("int y;\n")
    (source / "objects").mkdir()
    subprocess.run(
        ["cc", "-MD", "-c", "-o", "../objects/x.o", "more/x.c"], cwd=source / "sys", check=True
    )
    write_list(source / "kernel", source, source)
    assert read_beside(source / "kernel").names == {"sys/more/x.c"}


def test_a_compiler_that_told_of_its_last_source_alone_is_found_out(source, monkeypatch, capsys):
    """As gcc does, for `cc -MD -o kernel a.c b.c`."""
    monkeypatch.chdir(source)
    compile_in(source, "-c", "-o", "first.o", "sys/a b.c")
    compile_in(source, "-o", "kernel", "first.o", "sys/other.c")
    assert main(["read-files", "kernel"]) == DONE
    whole = {"sys/a b.c", "sys/other.c", "sys/link.h", "sys/real $.h"}
    assert read_beside(source / "kernel").names == whole
    for name in ("first.o", "first.d"):
        (source / name).unlink()
    assert main(["read-files", "kernel"]) == DONE
    assert not list_beside(source / "kernel").exists()
    assert "the compiler left no list for a b.c" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kernel", "program"), [("kernel", "link-order.awk"), ("vm_kernel", "kernel.ld")]
)
def test_the_demonstrations_kernels_have_a_list(tmp_path, monkeypatch, kernel, program):
    tree = shutil.copytree(Path(demo.__file__).parent / kernel, tmp_path / "src")
    monkeypatch.chdir(tree)
    subprocess.run(["make", "kernel"], check=True)
    assert main(["read-files", "kernel"]) == DONE
    read = read_beside(tree / "kernel")
    sources = {f"src/{path.name}" for path in (tree / "src").iterdir() if path.suffix in ".c.h.S"}
    assert read.names == {name for name in sources if not name.endswith(".d")}
    assert touches(read, program)
    assert touches(read, "Makefile")
    assert not touches(read, "README.md")

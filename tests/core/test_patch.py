"""What is read off a patch: how deep its paths are, and which hunk git could not place."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.patch import (
    MOST_BYTES,
    MOST_CONTROLS,
    MOST_LINES,
    check_patch,
    misfit,
    strip_level,
)
from tests.running import ran

GIT = """\
diff --git a/sys/net/if.c b/sys/net/if.c
--- a/sys/net/if.c
+++ b/sys/net/if.c
@@ -1,3 +1,3 @@
 1
-2
+two
 3
@@ -50,3 +50,3 @@ static void
 50
-51 is not what stands there
+fifty-one
 52
"""
SUBVERSION = """\
Index: sys/net/if.c
===================================================================
--- sys/net/if.c
+++ sys/net/if.c
@@ -1,3 +1,3 @@
 1
-2
+two
 3
"""


@pytest.mark.parametrize(("patch", "level"), [(GIT, 1), (SUBVERSION, 0), ("", 0)])
def test_reviews_of_the_subversion_era_name_the_files_as_they_are(patch, level):
    assert strip_level(patch) == level


def test_a_new_file_has_no_old_name_to_strip():
    added = "--- /dev/null\n+++ b/sys/net/new.c\n@@ -0,0 +1 @@\n+int x;\n"
    assert strip_level(added) == 1


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        (GIT, "sys/net/if.c, hunk 2"),
        (GIT.replace("a/sys/net/if.c", "a/gone.c").replace("b/sys/net/if.c", "b/gone.c"), "gone.c"),
        (GIT.replace("+two\n", ""), "corrupt patch"),
    ],
)
def test_what_git_itself_says_names_the_hunk(tmp_path, patch, complaint):
    tree = tmp_path / "src"
    (tree / "sys/net").mkdir(parents=True)
    (tree / "sys/net/if.c").write_text("".join(f"{n}\n" for n in range(1, 100)))
    (tmp_path / "patch").write_text(patch)
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tree, check=True)
    done = ran(
        ["git", "apply", "--index", "-p1", "../patch"],
        cwd=tree,
        env={"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    assert done.returncode != 0
    assert complaint in misfit(patch, done.stderr)


@given(st.text(max_size=300), st.text(max_size=300))
def test_hostile_text_breaks_nothing(patch, complaint):
    assert "\n" not in misfit(patch, "error: " + complaint)
    assert strip_level(patch) in {0, 1}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"hello", "my.patch is no patch; give a unified diff"),
        (b"<html>log in</html>", "is no patch"),
        (GIT.encode() + b" " * MOST_BYTES, "more than 4194304"),
        (GIT.encode() + b"\n" * MOST_LINES, "lines, more than 200000"),
        (GIT.encode() + b"\r" * (MOST_LINES + 1), "carriage returns, more than 200000"),
        (GIT.encode() + b"\x7f" * (MOST_CONTROLS + 1), "control characters, more than 10000"),
        (GIT.replace("+two\n", "").encode(), "is no patch: Hunk diff line expected; give"),
        (b"@@ -1 +1 @@ \x1b[2J\n-1\n+2\n", "is no patch: Unexpected hunk found; give"),
        (b"--- a\n+++ b\n@@ -" + b"9" * 5000 + b" +1 @@\n", "is no patch: Exceeds the limit"),
        (b"Binary files " + b"a and b " * 20000, "is no patch"),
        (b"diff --git " + b"://" * 50000, "is no patch"),
        (b"--- a\n+++ b\n", "is no patch"),
    ],
)
def test_what_is_no_patch_is_refused_before_anybody_builds(body, complaint):
    with pytest.raises(UsageError, match=complaint):
        check_patch(body, "my.patch")


def test_a_patch_need_not_be_utf8():
    check_patch(GIT.encode() + b"+caf\xe9\n", "my.patch")

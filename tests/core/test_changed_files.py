"""Which files of a commit meet the functions whose share changed, by name alone."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.patch import ChangedFile, overlaps
from buildbot_bench.core.report.why import Capture, Captures, explain, places_of
from tests.core.profiles import folded

DIFF = """\
diff --git a/sys/net/route.c b/sys/net/route.c
index 1..2 100644
--- a/sys/net/route.c
+++ b/sys/net/route.c
@@ -10 +10,2 @@ route_lookup(struct packet *packet)
-\treturn (table[hash(packet)]);
+\tfor (i = 0; i < n; i++)
+\t\tif (in_cksum(packet) == table[i])
@@ -40,0 +42,2 @@ route_lookup(struct packet *packet)
+route_flush(void)
+{
diff --git a/sys/net/if.c b/sys/net/if.c
--- a/sys/net/if.c
+++ b/sys/net/if.c
@@ -1 +1 @@
-#define SEND in_cksum
+#define SEND in_cksum_fast
diff --git a/README b/README
--- a/README
+++ b/README
@@ -1 +0,0 @@ of route_lookup
-route_lookup_more
"""


def test_a_change_within_a_function_is_likelier_than_its_name_on_a_changed_line():
    within, naming = overlaps(DIFF, ["in_cksum", "route_flush", "route_lookup", "absent"])
    assert replace(within, lines=()) == ChangedFile(
        path="sys/net/route.c", changed=("route_flush", "route_lookup"), named=("in_cksum",)
    )
    assert naming == ChangedFile(path="sys/net/if.c", named=("in_cksum",))


def test_the_lines_that_lie_in_a_function_are_told_with_their_numbers():
    (within,) = overlaps(DIFF, ["route_lookup"])
    assert [(line.old, line.new, line.text.strip()) for line in within.lines] == [
        (10, None, "return (table[hash(packet)]);"),
        (None, 10, "for (i = 0; i < n; i++)"),
        (None, 11, "if (in_cksum(packet) == table[i])"),
    ]


def lines_of(hunk: str) -> list[tuple[str, str]]:
    """The text and the function of each changed line."""
    text = f"diff --git a/f.c b/f.c\n--- a/f.c\n+++ b/f.c\n{hunk}"
    (met,) = overlaps(text, ["", "before", "after", "other", "FOO"])
    return [(line.text.strip(), line.function) for line in met.lines]


BEHIND = """\
@@ -9,0 +10,9 @@ before(int a)
+out:
+\treturn (0);
+}
+
+/* other() is called by none. */
+static int
+after(int a)
+{
+\treturn (a);
"""


def test_what_stands_between_two_functions_is_in_neither():
    assert lines_of(BEHIND) == [
        ("out:", "before"),
        ("return (0);", "before"),
        ("}", "before"),
        ("/* other() is called by none. */", ""),
        ("static int", ""),
        ("after(int a)", "after"),
        ("{", "after"),
        ("return (a);", "after"),
    ]


def test_the_new_lines_of_a_hunk_begin_where_the_old_ones_began():
    hunk = "@@ -3,2 +3 @@ before(int a)\n-}\n-int after(int a)\n+\treturn (1);\n"
    assert lines_of(hunk) == [
        ("}", "before"),
        ("int after(int a)", "after"),
        ("return (1);", "before"),
    ]


def test_a_declaration_begins_no_function():
    assert lines_of("@@ -3,0 +4,2 @@ before(int a)\n+\tx;\n+int after(int);\n") == [
        ("x;", "before"),
        ("int after(int);", ""),
    ]


TWICE = """\
diff --git a/sys/a.c b/sys/a.c
--- a/sys/a.c
+++ b/sys/a.c
@@ -5 +5 @@ lookup(void)
-\treturn (1);
+\treturn (2);
diff --git a/sys/b.c b/sys/b.c
--- a/sys/b.c
+++ b/sys/b.c
@@ -5 +5 @@ lookup(void)
-\treturn (lookup(1));
+\treturn (3);
diff --git a/sys/c.c b/sys/c.c
--- a/sys/c.c
+++ b/sys/c.c
@@ -5 +5 @@ caller(void)
-\treturn (1);
+\treturn (lookup());
"""


@pytest.mark.parametrize("place", ["sys/b.c:3", "/home/me/src/sys/b.c:3"])
def test_of_functions_with_one_name_the_one_in_the_known_file_is_meant(place):
    assert [one.path for one in overlaps(TWICE, ["lookup"]) if one.changed] == [
        "sys/a.c",
        "sys/b.c",
    ]
    known = overlaps(TWICE, ["lookup"], {"lookup": place})
    assert [(one.path, one.changed, one.named) for one in known] == [
        ("sys/b.c", ("lookup",), ()),
        ("sys/c.c", (), ("lookup",)),
    ]
    assert [line.old or line.new for line in known[0].lines] == [5, 5]
    assert known[1].lines == ()


def test_a_mail_shows_the_first_lines_of_each_function_and_says_how_many_more_there_are():
    names = [f"f{number}" for number in range(6)]
    hunks = [f"@@ -9,0 +1,30 @@ {name}(void)\n" + "+\tx();\n" * 30 for name in names]
    place, other = places_of(
        f"--- a/a\n+++ b/a\n{''.join(hunks)}--- a/b\n+++ b/b\n{hunks[0]}", names, {}
    )
    assert Counter(line.function for line in place.lines) == dict.fromkeys(names[:4], 10)
    assert place.unshown == 6 * 30 - 40
    assert (other.lines, other.unshown) == ((), 30)


def test_a_changed_line_is_one_harmless_line_whatever_it_says():
    diff = f"--- a/f\n+++ b/f\n@@ -1 +0,0 @@ f(void)\n-\tx\x1b[2J\u202e{'y' * 9999}\n"
    ((line,),) = [place.lines for place in places_of(diff, ["f"], {})]
    assert line.text.isprintable()
    assert len(line.text) <= 64


def test_a_part_of_a_longer_name_is_not_the_name():
    assert [one.path for one in overlaps(DIFF, ["route_look", "cksum"])] == []


@given(st.text(), st.lists(st.text(max_size=9), max_size=3))
def test_any_text_is_read_without_complaint(text, names):
    assert overlaps(text, names) == ()
    assert len(overlaps(f"--- a/f\n+++ b/f\n{text}", names)) <= 1
    assert len(overlaps(f"--- a/f\n+++ b/f\n@@ -0,0 +1 @@ f\n+{text}", names)) <= 1


def test_a_damaged_diff_meets_none():
    assert overlaps(DIFF.replace("+{\n", ""), ["route_lookup"]) == ()


def test_a_form_feed_ends_no_line():
    diff = "--- a/f\n+++ b/f\n@@ -0,0 +1 @@ f(void)\n+\tx\x0c-y\n"
    assert overlaps(diff, ["f"])[0].lines[0].text == "\tx\x0c-y"


def capture(*lines):
    return Capture(label="r1", profile=folded(*lines))


def test_only_functions_whose_share_changed_are_looked_for():
    known = Captures(
        counter="cycles",
        old=capture("main;route_lookup 100", "main;in_cksum 900"),
        new=capture("main;route_lookup 600", "main;in_cksum 900"),
        diff=DIFF.replace("in_cksum", "main"),
    )
    why = explain(known)
    assert [(one.name, one.sure) for one in why.symbols] == [
        ("in_cksum", True),
        ("route_lookup", True),
    ]
    (place,) = why.places
    assert (place.path, place.changed, place.named) == ("sys/net/route.c", ("route_lookup",), ())


def test_without_a_single_commit_no_file_is_named_and_with_one_that_meets_none_it_is_said():
    same = capture("main 100")
    assert explain(Captures(old=same, new=same)).places is None
    assert explain(Captures(old=same, new=same, diff=DIFF)).places == ()


def test_one_side_is_none():
    assert explain(Captures(old=capture("main 1"))).missing == "one side has no capture"

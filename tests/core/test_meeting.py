"""Which files of a commit meet the functions whose share changed, by name alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.profile import Meeting, meetings
from buildbot_bench.core.report.why import Capture, Captures, explain
from tests.core.profiles import folded

DIFF = """\
diff --git a/sys/net/route.c b/sys/net/route.c
index 1..2 100644
--- a/sys/net/route.c
+++ b/sys/net/route.c
@@ -10,2 +10,3 @@ route_lookup(struct packet *packet)
-\treturn (table[hash(packet)]);
+\tfor (i = 0; i < n; i++)
+\t\tif (in_cksum(packet) == table[i])
@@ -40,0 +42,2 @@ route_lookup(struct packet *packet)
+route_flush(void)
+{
diff --git a/sys/net/if.c b/sys/net/if.c
@@ -1 +1 @@
-#define SEND in_cksum
+#define SEND in_cksum_fast
diff --git a/README b/README
@@ -1 +0,0 @@ of route_lookup
-route_lookup_more
"""


def test_a_change_within_a_function_is_likelier_than_its_name_on_a_changed_line():
    assert meetings(DIFF, ["in_cksum", "route_flush", "route_lookup", "absent"]) == (
        Meeting(
            path="sys/net/route.c",
            changed=("route_flush", "route_lookup"),
            named=("in_cksum",),
        ),
        Meeting(path="sys/net/if.c", named=("in_cksum",)),
    )


def test_a_part_of_a_longer_name_is_not_the_name():
    assert [one.path for one in meetings(DIFF, ["route_look", "cksum"])] == []


@given(st.text(), st.lists(st.text(max_size=9), max_size=3))
def test_any_text_is_read_without_complaint(text, names):
    assert meetings(text, names) == ()
    assert len(meetings(f"diff --git a/f b/f\n{text}", names)) <= 1


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
    assert explain(Captures(old=capture("main 1"))).missing == "there is no capture of both sides"

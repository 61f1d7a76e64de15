"""Patches are spelled out once, one at a time, and few are kept."""

from dataclasses import replace

from buildbot_bench.plugin.db.rows import PatchRow
from buildbot_bench.plugin.farm.farm import PatchTexts

PATCH = PatchRow(id=1, digest="a", origin="x.diff", requester="", fetched_at=0.0, body=b"\x1bone")


async def test_a_text_is_made_once() -> None:
    texts = PatchTexts()
    assert await texts.of(PATCH) == "<U+001B>one"
    assert await texts.of(replace(PATCH, body=b"another")) == "<U+001B>one"


async def test_those_that_nobody_asked_for_of_late_are_given_up() -> None:
    texts = PatchTexts(kept=11)
    await texts.of(PATCH)
    await texts.of(replace(PATCH, digest="b", body=b"two"))
    assert await texts.of(replace(PATCH, body=b"new")) == "new"


async def test_one_that_is_larger_than_all_that_is_kept_is_answered() -> None:
    assert await PatchTexts(kept=1).of(PATCH) == "<U+001B>one"

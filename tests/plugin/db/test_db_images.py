"""Images: one row for each build that was ever wanted, changed by one at a time."""

from hashlib import sha256

import pytest
import sqlalchemy as sa

from buildbot_bench.core.variant import MOST_CHANGES, KernelOption, Recipe, parse_recipe
from buildbot_bench.plugin.db.rows import NewCommit
from tests.fakes.database import sha


async def test_wanting_an_image_twice_gives_the_same_one(store, an_image):
    first = await an_image(7)
    again = await an_image(7, label="another name", now=9.0)
    assert again == first
    assert (first.state, first.attempt, first.version) == ("wanted", 0, 0)


async def test_a_second_build_of_a_variant_is_another_image(store, an_image):
    first, second = await an_image(7), await an_image(7, ordinal=1)
    assert first.id != second.id
    assert await store.image_of(sha(7), 1, "") == second
    assert await store.image_of(sha(7), 2, "") is None


async def test_the_longest_variant_has_a_place(store, an_image):
    """PostgreSQL's indexes take 2700 bytes, and compress what repeats itself: this does not."""
    words = [sha256(b"%d" % number).hexdigest().upper() for number in range(MOST_CHANGES)]
    options = tuple(KernelOption(name=f"X{word[1:]}", enabled=False) for word in words)
    text = Recipe(sha=sha(7), options=options).text
    assert parse_recipe(text).options == options
    image = await an_image(variant=text)
    assert await store.image_of(text, 0, "") == image


async def test_a_change_is_kept_and_dated(store, an_image):
    image = await an_image()
    built = await store.change(image, changed_at=4.0, state="built", digest="d", size=2**33)
    assert (built.state, built.size, built.changed_at, built.version) == ("built", 2**33, 4.0, 1)
    assert built.created_at == image.created_at
    assert await store.image(image.id) == built


async def test_who_saw_an_older_row_cannot_change_it(store, an_image):
    image = await an_image()
    built = await store.change(image, changed_at=4.0, state="built")
    assert await store.change(image, changed_at=5.0, state="failed") is None
    assert await store.image(image.id) == built


async def test_a_state_that_does_not_exist_is_refused(store, an_image):
    with pytest.raises(sa.exc.StatementError, match="bilt"):
        await store.change(await an_image(), changed_at=4.0, state="bilt")


async def test_a_column_that_does_not_exist_is_refused(store, an_image):
    with pytest.raises(sa.exc.CompileError, match="colour"):
        await store.change(await an_image(), changed_at=4.0, colour="red")


async def test_images_are_listed_by_state(store, an_image):
    wanted, other = await an_image(1), await an_image(2)
    built = await store.change(other, changed_at=4.0, state="built")
    assert await store.images(state="wanted") == [wanted]
    assert await store.images() == [wanted, built]


async def test_a_span_holds_plain_revisions_only(store, an_image):
    plain = [await an_image(position) for position in (1, 2, 3)]
    await an_image(2, variant=f"{sha(2)}+D8526")
    rows = [NewCommit(sha=sha(position), position=position) for position in (1, 2, 3)]
    await store.add_commits("main", rows)
    assert await store.images_between(1, 2, "main") == plain[:2]


async def test_a_span_of_a_branch_leaves_out_other_branches(store, an_image):
    await store.add_commits("main", [NewCommit(sha=sha(5), position=5)])
    ours, theirs = await an_image(5), await an_image(5, sha=sha(99))
    assert await store.all_images_between(5, 5, "") == [ours, theirs]
    assert await store.images_between(5, 5, branch="main") == [ours]


async def test_the_first_image_of_a_position_is_that_of_the_branch(store, an_image):
    await store.add_commits("main", [NewCommit(sha=sha(5), position=5)])
    await an_image(5, sha=sha(99))
    await an_image(5, ordinal=1)
    first = await an_image(5)
    assert await store.image_at("main", 5) == first
    assert await store.image_at("main", 6) is None

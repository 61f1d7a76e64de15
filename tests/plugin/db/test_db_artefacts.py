"""What lies in the artefacts' place is known from a table, on SQLite and on PostgreSQL."""

DIGEST, OTHER = "a" * 64, "b" * 64


async def built(store, an_image, position: int, digest: str = DIGEST):
    image = await an_image(position)
    return await store.change(image, changed_at=2.0, state="built", digest=digest, size=9)


async def test_an_artefact_that_is_stored_again_is_young_again(store):
    await store.keep_artefact(digest=DIGEST, size=9, now=1.0)
    await store.keep_artefact(digest=DIGEST, size=9, now=5.0)
    (row,) = await store.artefacts()
    assert (row.digest, row.size, row.stored_at) == (DIGEST, 9, 5.0)


async def test_one_artefact_may_be_that_of_several_images(store, an_image):
    images = [await built(store, an_image, position) for position in (3, 4)]
    other = await built(store, an_image, 5, OTHER)
    await store.release_artefact(DIGEST)
    states = [(await store.image(image.id)).state for image in (*images, other)]
    assert states == ["dropped", "dropped", "built"]
    assert await store.claimed_artefacts() == {other.id: OTHER}


async def test_who_saw_an_image_before_it_was_released_does_not_change_it(store, an_image):
    image = await built(store, an_image, 3)
    await store.release_artefact(DIGEST)
    assert await store.change(image, changed_at=3.0, reason="late") is None


async def test_what_was_built_anew_meanwhile_is_not_forgotten(store, an_image):
    await store.keep_artefact(digest=DIGEST, size=9, now=1.0)
    await store.keep_artefact(digest=OTHER, size=9, now=1.0)
    await built(store, an_image, 3)
    await store.forget_artefact(DIGEST)
    await store.forget_artefact(OTHER)
    assert [row.digest for row in await store.artefacts()] == [DIGEST]


async def test_built_images_have_a_place_in_their_repository(store, an_image):
    images = {position: await built(store, an_image, position) for position in (3, 5)}
    await an_image(8)
    assert await store.built_places() == {images[3].id: ("", 3), images[5].id: ("", 5)}

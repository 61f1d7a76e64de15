"""What every place for artefacts does alike, be it a disk, a web server or S3."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.artefacts.http import HttpPlace, Keys, bearer, s3_signature, signed
from buildbot_bench.plugin.artefacts.place import Artefact, ArtefactMissingError, DiskPlace, Place
from tests.fakes.store_server import StoreServer

KERNEL = bytes(range(256)) * 8192  # 2 MiB: more than one piece on every way
ARTEFACT = Artefact(digest=hashlib.sha256(KERNEL).hexdigest(), size=len(KERNEL))
TOKEN = "sesame"
KEYS = ("AKIABENCH", "wJalr/XUtn+FEMI")
QUICK = (0.01, 0.01)


def known(value: str | None):
    async def secret() -> str | None:
        return value

    return secret


def on_server(server: StoreServer, *, token: str | None = TOKEN) -> HttpPlace:
    return HttpPlace(f"http://{server.host}/bench", bearer(known(token)), pauses_s=QUICK)


@pytest.fixture
def server() -> Iterator[StoreServer]:
    with StoreServer(token=TOKEN) as running:
        yield running


@pytest.fixture(params=["disk", "http", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "disk":
        yield DiskPlace(tmp_path / "place")
        return
    if request.param == "http":
        yield on_server(request.getfixturevalue("server"))
        return
    with StoreServer(s3_keys=KEYS) as s3:
        authorise = s3_signature(known(":".join(KEYS) + "\n"), "us-east-1")
        yield HttpPlace(f"http://{s3.host}/bucket/kernels", authorise, pauses_s=QUICK)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel"
    path.write_bytes(KERNEL)
    return path


async def test_what_is_put_comes_back_byte_for_byte(place: Place, kernel: Path, tmp_path) -> None:
    await place.put(kernel, ARTEFACT)
    assert await place.size(ARTEFACT.digest) == ARTEFACT.size
    await place.get(ARTEFACT.digest, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == KERNEL


async def test_the_same_may_be_put_again(place: Place, kernel: Path) -> None:
    await place.put(kernel, ARTEFACT)
    await place.put(kernel, ARTEFACT)  # the file is still there
    assert await place.size(ARTEFACT.digest) == ARTEFACT.size


async def test_what_is_not_there_has_no_size_and_is_gone(place: Place, tmp_path: Path) -> None:
    assert await place.size(ARTEFACT.digest) is None
    with pytest.raises(ArtefactMissingError):
        await place.get(ARTEFACT.digest, tmp_path / "back")


async def test_what_is_deleted_is_gone_and_may_be_deleted_again(place: Place, kernel) -> None:
    await place.put(kernel, ARTEFACT)
    await place.delete(ARTEFACT.digest)
    assert await place.size(ARTEFACT.digest) is None
    await place.delete(ARTEFACT.digest)


@pytest.mark.parametrize("trouble", [503, 500, 429, "hang up"])
async def test_a_server_that_is_restarted_is_waited_for(server, kernel, trouble) -> None:
    server.trouble = [trouble, trouble]
    await on_server(server).put(kernel, ARTEFACT)
    assert server.kept == {f"/bench/{ARTEFACT.digest}": KERNEL}


async def test_an_answer_that_breaks_off_is_asked_for_again(server, kernel, tmp_path) -> None:
    place = on_server(server)
    await place.put(kernel, ARTEFACT)
    server.trouble = ["break off"]
    await place.get(ARTEFACT.digest, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == KERNEL


async def test_what_is_there_whole_is_not_sent_again(server, kernel) -> None:
    place = on_server(server)
    await place.put(kernel, ARTEFACT)
    await place.put(kernel, ARTEFACT)
    assert server.asked.count("PUT") == 1


async def test_half_an_artefact_is_replaced_by_the_whole(server, kernel) -> None:
    server.kept[f"/bench/{ARTEFACT.digest}"] = KERNEL[:1000]
    await on_server(server).put(kernel, ARTEFACT)
    assert server.kept == {f"/bench/{ARTEFACT.digest}": KERNEL}


async def test_a_server_that_keeps_failing_is_given_up_in_one_line(server, kernel) -> None:
    server.trouble = [503] * 10
    with pytest.raises(InfraError, match=r"answers HEAD of artefact [0-9a-f]{12} with HTTP 503"):
        await on_server(server).put(kernel, ARTEFACT)


@pytest.mark.parametrize("token", ["wrong", None])
async def test_a_refusal_names_the_setting_and_not_the_secret(server, kernel, token) -> None:
    with pytest.raises(InfraError, match=r"HTTP 403; look at artefacts\.token-secret") as caught:
        await on_server(server, token=token).put(kernel, ARTEFACT)
    assert "wrong" not in str(caught.value)
    assert server.asked == ["HEAD"]


async def test_a_redirect_is_shown_no_token(server, kernel) -> None:
    server.trouble = [302]
    with pytest.raises(InfraError, match="HTTP 302"):
        await on_server(server).size(ARTEFACT.digest)


@pytest.mark.parametrize("keys", ["AKIABENCH:wrong", "AKIAOTHER:wJalr/XUtn+FEMI"])
async def test_s3_takes_no_other_key(tmp_path: Path, kernel: Path, keys: str) -> None:
    with StoreServer(s3_keys=KEYS) as s3:
        authorise = s3_signature(known(keys), "us-east-1")
        place = HttpPlace(f"http://{s3.host}/bucket", authorise, pauses_s=QUICK)
        with pytest.raises(InfraError, match="HTTP 403"):
            await place.put(kernel, ARTEFACT)


async def test_a_secret_that_is_no_pair_of_keys_is_told_so(kernel: Path) -> None:
    place = HttpPlace("http://127.0.0.1:1", s3_signature(known("one"), "x"), pauses_s=())
    with pytest.raises(InfraError, match="not ACCESS-KEY:SECRET-KEY"):
        await place.put(kernel, ARTEFACT)


def test_the_signature_is_that_of_amazons_own_example() -> None:
    """ "GET Bucket Lifecycle" in the reference that the module names."""
    headers = signed(
        "GET",
        "https://examplebucket.s3.amazonaws.com/?lifecycle=",
        hashlib.sha256(b"").hexdigest(),
        Keys(
            access="AKIAIOSFODNN7EXAMPLE",
            secret="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            region="us-east-1",
        ),
        datetime(2013, 5, 24, tzinfo=UTC),
    )
    assert headers["Authorization"].endswith(
        "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    )

"""The picture of the README is what a mail of the farm carries."""

import shutil
import struct
from pathlib import Path

import pytest

from manual.picture import picture_in
from tests.readme import CHECKOUT

MAIL = CHECKOUT / "tests" / "golden" / "mail" / "pictures.eml"


def test_the_newest_mail_gives_its_picture(tmp_path: Path) -> None:
    (tmp_path / "0001.eml").write_text("Subject: older\n\n")
    shutil.copy(MAIL, tmp_path / "0002.eml")
    assert picture_in(tmp_path, "boots.png").startswith(b"\x89PNG")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run `make demo` first"):
        picture_in(tmp_path, "distribution.png")
    shutil.copy(MAIL, tmp_path / "0001.eml")
    with pytest.raises(FileNotFoundError, match=r"carries \[.*boots.png.*\], and no x.png"):
        picture_in(tmp_path, "x.png")


def test_the_kept_picture_is_one_that_a_page_can_show() -> None:
    png = (CHECKOUT / "docs" / "pictures" / "culprit.png").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert 600 <= width <= 1600
    assert 200 <= height <= 1000
    assert len(png) < 200_000

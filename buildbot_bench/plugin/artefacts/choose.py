"""Which place bench.yml names for the artefacts; it speaks to none."""

from __future__ import annotations

import re

from buildbot_bench.plugin.artefacts.http import HttpPlace
from buildbot_bench.plugin.artefacts.place import Place
from buildbot_bench.plugin.artefacts.signing import Secret, bearer, s3_signature

_S3 = re.compile(r"s3\+(https?://.+)")


def place_at(url: str | None, *, secret: Secret, region: str) -> Place | None:
    """The place at `https://…`, or `s3+https://HOST/BUCKET…`; None for the master's disk."""
    if url is None:
        return None
    if match := _S3.fullmatch(url):
        return HttpPlace(match[1], s3_signature(secret, region))
    return HttpPlace(url, bearer(secret))

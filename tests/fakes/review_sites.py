"""GitHub's, GitLab's, Gerrit's and Phabricator's comments, as their REST documents describe them.

A list has pages of at most 100 rows. A GitHub token of a workflow may not ask who it is; what
the tests' other users wrote differs from ours in its author alone.
"""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes import web

TOKEN = "s3cret-token"
REPOSITORY, PROJECT, NUMBER = "owner/src", "group%2Fsrc", 7


@dataclass
class Reviews:
    """`comments` are of the one change there is, author and text; `tags` of Gerrit's messages."""

    url: str = ""
    comments: list[tuple[str, str]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    is_person: bool = False
    status: int | None = None

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.comments]

    def answer(self, method: str, target: str, raw: bytes, headers: Any) -> tuple[int, Any]:
        if self.status is not None:
            return self.status, {"message": "no, and no again"}
        parts = urlsplit(target)
        query = {name: one[0] for name, one in parse_qs(parts.query).items()}
        path = parts.path
        for prefix, handle in (
            ("/github/", self._github),
            ("/gitlab/", self._gitlab),
            ("/gerrit/a/", self._gerrit),
            ("/phabricator/api/", self._phabricator),
        ):
            if path.startswith(prefix):
                return handle(method, path.removeprefix(prefix), query, raw, headers)
        return 404, {"message": "Not Found"}

    def _rows(self, query: dict[str, str]) -> list[tuple[int, tuple[str, str]]]:
        most, page = min(int(query.get("per_page", 30)), 100), int(query.get("page", 1))
        return list(enumerate(self.comments))[(page - 1) * most : page * most]

    def _github(self, method, path, query, raw, headers):
        if headers["Authorization"] != f"Bearer {TOKEN}":
            return 401, {"message": "Bad credentials"}
        me = "ann" if self.is_person else "github-actions[bot]"
        if path == "user":
            told = {"message": "Resource not accessible by integration"}
            return (200, {"login": me}) if self.is_person else (403, told)
        if path == f"repos/{REPOSITORY}/pulls":
            return 200, [one for one in self.pulls if one["asked"] == query["head"]]
        at = f"repos/{REPOSITORY}/issues"
        body = json.loads(raw or b"{}").get("body", "")
        assert len(body) <= 65_536, "GitHub answers 422: body is too long"

        def row(place: int) -> dict[str, Any]:
            author, text = self.comments[place]
            link = f"{self.url}/{REPOSITORY}/pull/{NUMBER}#issuecomment-{place}"
            return {"id": place, "user": {"login": author}, "body": text, "html_url": link}

        one = re.fullmatch(rf"{at}/comments/(\d+)", path) if method == "PATCH" else None
        if one:
            return self._changed(int(one[1]), body, row)
        if path != f"{at}/{NUMBER}/comments":
            return 404, {"message": "Not Found"}
        return self._kept(method, query, (me, body), row)

    def _changed(self, place, body, row):
        self.comments[place] = (self.comments[place][0], body)
        return 200, row(place)

    def _kept(self, method, query, said, row):
        """A list of comments, or what is added to it."""
        if method == "GET":
            return 200, [row(place) for place, _ in self._rows(query)]
        self.comments.append(said)
        return 201, row(len(self.comments) - 1)

    def _gitlab(self, method, path, query, raw, headers):
        if headers["PRIVATE-TOKEN"] != TOKEN:
            return 401, {"message": "401 Unauthorized"}
        if path == "user":
            return 200, {"id": 5}
        at = f"projects/{PROJECT}/merge_requests/{NUMBER}"
        if path == at:
            return 200, {"web_url": f"{self.url}/group/src/-/merge_requests/{NUMBER}"}

        def row(place: int) -> dict[str, Any]:
            author, text = self.comments[place]
            return {"id": place, "author": {"id": 5 if author == "me" else 6}, "body": text}

        body = json.loads(raw or b"{}").get("body", "")
        one = re.fullmatch(rf"{at}/notes/(\d+)", path) if method == "PUT" else None
        if one:
            return self._changed(int(one[1]), body, row)
        if path != f"{at}/notes":
            return 404, {"message": "404 Not found"}
        return self._kept(method, query, ("me", body), row)

    def _gerrit(self, method, path, _query, raw, headers):
        known = base64.b64encode(f"ci:{TOKEN}".encode()).decode()
        if headers["Authorization"] != f"Basic {known}":
            return 401, "Unauthorized"
        if (method, path) != ("POST", f"changes/{NUMBER}/revisions/deadbeef/review"):
            return 404, "Not found"
        said = json.loads(raw)
        if len(said["message"]) > 16_384:
            return 400, "Comment size exceeds limit"
        self.comments.append(("me", said["message"]))
        self.tags.append(said["tag"])
        return 200, {"labels": {}}

    def _phabricator(self, method, path, _query, raw, _headers):
        form = {name: one[0] for name, one in parse_qs(raw.decode()).items()}
        if form.get("api.token") != TOKEN:
            told = "API token is not valid."
            return 200, {"result": None, "error_code": "ERR-INVALID-AUTH", "error_info": told}
        if (method, path, form["objectIdentifier"]) != (
            "POST",
            "differential.revision.edit",
            f"D{NUMBER}",
        ):
            return 404, {}
        assert form["transactions[0][type]"] == "comment"
        self.comments.append(("me", form["transactions[0][value]"]))
        return 200, {"result": {"object": {"id": 1}}, "error_code": None, "error_info": None}


class _Asked(web.Handler):
    def _serve(self) -> None:
        reviews: Reviews = self.fake
        status, answer = reviews.answer(self.command, self.path, self.sent(), self.headers)
        guard = b")]}'\n" if self.path.startswith("/gerrit/") else b""
        self.answer(status, guard + json.dumps(answer).encode())

    do_GET = do_POST = do_PUT = do_PATCH = _serve


@contextmanager
def reviews() -> Iterator[Reviews]:
    """All four on one port, until the context ends."""
    made = Reviews()
    with web.served(_Asked, made) as made.url:
        yield made

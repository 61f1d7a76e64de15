"""GitHub and Phabricator as notices use them, over real HTTP, with all notices recorded.

Shapes: GitHub's REST API, "commit statuses" and "commit comments"; Phabricator's Conduit, whose
parameters come as a form and whose errors come with HTTP 200.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes import web

TOKEN = "s3cret-token"
SHA = re.compile(r"/repos/(owner/src|ann/fork)/(statuses|commits)/([0-9a-f]{40})(/comments)?")
TOKENS = {"owner/src": TOKEN, "ann/fork": "another-t0ken"}


@dataclass
class Sites:
    """`broken` is an HTTP status for every request, with those `headers`; `heard` is of GitHub.

    A `deaf` site acts, but its answer is lost.
    """

    statuses: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    comments: dict[str, list[str]] = field(default_factory=dict)
    heard: list[tuple[str, str]] = field(default_factory=list)
    broken: int | None = None
    deaf: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    url: str = ""

    def github(self, method: str, path: str, body: Any, bearer: str) -> tuple[int, Any]:
        match = SHA.fullmatch(path)
        if match is None:
            return 404, {"message": "Not Found"}
        repository, kind, sha, _ = match.groups()
        if bearer != TOKENS[repository]:
            return 401, {"message": "Bad credentials"}
        self.heard.append((repository, kind))
        if kind == "statuses":
            assert body["state"] in {"error", "failure", "pending", "success"}
            if len(body["description"]) > 140:
                return 422, {"message": "description is too long (maximum is 140 characters)"}
            self.statuses.append((sha, body))
            return 201, {"id": len(self.statuses)}
        if method == "GET":
            return 200, [{"body": text} for text in self.comments.get(sha, [])]
        self.comments.setdefault(sha, []).append(body["body"])
        return 201, {"id": 1}

    def conduit(self, method: str, form: dict[str, str]) -> dict[str, Any]:
        if form.get("api.token") != TOKEN:
            return {"error_code": "ERR-INVALID-AUTH", "error_info": "API token is not valid."}
        target = form["objectIdentifier"]
        if not re.fullmatch(r"D\d+", target) or target == "D404":
            return {"error_code": "ERR-CONDUIT-CORE", "error_info": f"No object {target}"}
        said = self.comments.setdefault(target, [])
        if method == "transaction.search":
            data = [{"type": "comment", "comments": [{"content": {"raw": t}}]} for t in said]
            return {"result": {"data": data}, "error_code": None, "error_info": None}
        assert form["transactions[0][type]"] == "comment"
        said.append(form["transactions[0][value]"])
        return {"result": {"object": {"id": 1}}, "error_code": None, "error_info": None}


class _Handler(web.Handler):
    def _serve(self) -> None:
        sites: Sites = self.fake
        method, raw, path = self.command, self.sent(), urlsplit(self.path).path
        if sites.broken is not None:
            status, answer = sites.broken, {"message": "no"}
        elif path.startswith("/api/"):
            form = {name: values[0] for name, values in parse_qs(raw.decode()).items()}
            status, answer = 200, sites.conduit(path.removeprefix("/api/"), form)
        else:
            bearer = str(self.headers["Authorization"]).removeprefix("Bearer ")
            status, answer = sites.github(method, path, json.loads(raw or b"null"), bearer)
        if sites.deaf and method == "POST" and "search" not in path:
            self.close_connection = True
            return
        headers = {"Content-Type": "application/json", **sites.headers}
        self.answer(status, json.dumps(answer).encode(), headers)

    do_GET = do_POST = _serve


@contextmanager
def sites() -> Iterator[Sites]:
    """Both on one port, until the context ends."""
    told = Sites()
    with web.served(_Handler, told) as told.url:
        yield told

"""GitHub's and GitLab's logins (OAuth 2's authorization code), over real HTTP.

Shapes: RFC 6749, section 4.1; GitHub answers for a token as a form, GitLab as JSON. A code is good
once, for the client and the address of return that it was given for.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.fakes import web

CLIENT, SECRET = "client-id", "of-the-application"


@dataclass(frozen=True, kw_only=True)
class Person:
    """Who is logged in at the site; `groups` are GitHub's organisations, or GitLab's paths."""

    login: str
    name: str = "Somebody"
    groups: tuple[str, ...] = ()


@dataclass
class OAuthSites:
    """Both, at one address; `person` is who sits before the browser."""

    person: Person
    url: str = ""
    refused: list[str] = field(default_factory=list)
    _codes: dict[str, tuple[str, Person]] = field(default_factory=dict)
    _tokens: dict[str, Person] = field(default_factory=dict)

    def authorize(self, asked: dict[str, str]) -> str:
        """The address that the browser returns to."""
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        code = secrets.token_hex(8)
        self._codes[code] = (asked["redirect_uri"], self.person)
        told = {"code": code} | ({"state": asked["state"]} if "state" in asked else {})
        return f"{asked['redirect_uri']}?{urlencode(told)}"

    def token(self, form: dict[str, str]) -> dict[str, str] | None:
        """An access token for a code; None when there is none."""
        place, person = self._codes.pop(form.get("code", ""), ("", self.person))
        right = {"client_id": CLIENT, "client_secret": SECRET, "redirect_uri": place}
        right["grant_type"] = "authorization_code"
        if wrong := [name for name, value in right.items() if form.get(name) != value]:
            self.refused += wrong
            return None
        token = secrets.token_hex(8)
        self._tokens[token] = person
        return {"access_token": token, "token_type": "bearer"}

    def resource(self, path: str, token: str) -> Any:
        """What the sites' own interfaces say of the token's owner; None without one."""
        person = self._tokens.get(token)
        if person is None:
            return None
        mail = f"{person.login}@example.org"
        names = {"username": person.login, "name": person.name, "avatar_url": ""}
        return {
            "/api/v3/user": {"login": person.login, "name": person.name, "email": None},
            "/api/v3/user/emails": [{"email": mail, "primary": True, "verified": True}],
            "/api/v3/user/orgs": [{"login": group} for group in person.groups],
            "/api/v4/user": names | {"email": mail},
            "/api/v4/groups": [
                {"path": group.rpartition("/")[2], "full_path": group} for group in person.groups
            ],
        }.get(path)


class _Handler(web.Handler):
    def do_GET(self) -> None:
        sites: OAuthSites = self.fake
        split = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(split.query).items()}
        if split.path in {"/login/oauth/authorize", "/oauth/authorize"}:
            self.answer(302, headers={"Location": sites.authorize(asked)})
            return
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme != "token":
            token = asked.get("access_token", "")
        said = sites.resource(split.path, token)
        self._say(401 if said is None else 200, json.dumps(said))

    def do_POST(self) -> None:
        form = {name: values[0] for name, values in parse_qs(self.sent().decode()).items()}
        token = self.fake.token(form)
        if token is None:
            self._say(401, json.dumps({"error": "invalid_grant"}))
        elif self.path == "/login/oauth/access_token":
            self._say(200, urlencode(token), "application/x-www-form-urlencoded")
        else:
            assert self.path == "/oauth/token"
            self._say(200, json.dumps(token))

    def _say(self, status: int, text: str, kind: str = "application/json") -> None:
        self.answer(status, text.encode(), {"Content-Type": kind})


@contextmanager
def oauth_sites(person: Person) -> Iterator[OAuthSites]:
    """Both on one port, until the context ends."""
    sites = OAuthSites(person=person)
    with web.served(_Handler, sites) as sites.url:
        yield sites

"""The client of a farm's REST interface, with failures as our errors.

Buildbot takes HTTP Basic at /auth/login alone and answers with a cookie; every other request is
known by that cookie. Reading is GET, acting is JSON-RPC 2.0 by POST.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx

from buildbot_bench.cli.farm_access import (
    NO_FARM,
    Credentials,
    FarmAccess,
    kept_login,
    read_credentials,
)
from buildbot_bench.core.errors import BenchError, InfraError, NotYetError, UsageError
from buildbot_bench.core.legible import long_line, quoted

_PREFIX = "api/v2/bench"
INVALID_PARAMS, INTERNAL_ERROR, NOT_YET = -32602, -32603, -32001

# What a person did wrong, what the farm itself could not get (a review's patch, its mirror), and
# what it did not begin, because its mirror is still being made.
_SAID_BY_THE_FARM: Mapping[int | None, type[BenchError]] = {
    INVALID_PARAMS: UsageError,
    INTERNAL_ERROR: InfraError,
    NOT_YET: NotYetError,
}
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
# A farm on this machine is not asked through a proxy.
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


@dataclass(frozen=True, kw_only=True, slots=True)
class JobKind:
    """What a farm has by numbers: its names in REST, and the command that acts on it."""

    noun: str
    plural: str
    command: str

    @property
    def key(self) -> str:
        """What its number is called in JSON."""
        return f"{self.noun}id"

    def at(self, number: int) -> str:
        """Where one of it is."""
        return f"{self.plural}/{number}"

    def goes_on(self, number: int) -> str:
        """What to do when the farm is away for too long."""
        return f"the {self.noun} goes on with the farm: `{self.command} --follow {number}`"

    def missing(self) -> UsageError:
        """The complaint that there is none of that number."""
        hint = f"`{self.command} --list` lists them"
        return UsageError(f"the farm has no such {self.noun}", hint=hint)


SEARCH = JobKind(noun="search", plural="searches", command="bench-bisect")
COMPARISON = JobKind(noun="comparison", plural="comparisons", command="bench-compare")


class FarmUnreachableError(InfraError):
    """The farm does not answer, or not now: the same request may succeed later."""


class NoFarmError(FarmUnreachableError):
    """Nobody listens there: the request was not sent."""


class FarmClient:
    """A farm's searches and comparisons, as a context manager that closes its connections.

    Every method raises UsageError for what the farm refuses, NotYetError for what it cannot answer
    before its mirror is made, FarmUnreachableError when it does not answer (5xx among them) and
    InfraError when it answers what makes no sense. What they return is the farm's JSON as it came:
    nothing in it is to be trusted on a terminal.
    """

    def __init__(
        self, url: str, credentials: Credentials | None = None, *, absent: str = NO_FARM
    ) -> None:
        self.url = url.rstrip("/")
        self._absent = absent
        self._credentials = credentials
        self._logged_in = False
        try:
            self._http = httpx.Client(
                base_url=self.url + "/",
                timeout=_TIMEOUT,
                headers={"Accept": "application/json"},
                mounts=dict.fromkeys(_LOOPBACK),
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise UsageError(f"{quoted(url)} is no URL: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def act(self, place: str, action: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Have a resource do something; never sent twice."""
        body = {"jsonrpc": "2.0", "method": action, "params": dict(params), "id": 1}
        answer = self._json(self._send("POST", f"{_PREFIX}/{place}", json=body))
        match answer.get("result"):
            case dict() as result:
                return result
            case _:
                raise self._senseless(f"{quoted(action)} gave no object")

    def rows(self, place: str, **query: int) -> list[dict[str, Any]]:
        """All that a resource lists, which is named as the last part of its path that is a name."""
        key = next(part for part in reversed(place.split("/")) if not part.isdigit())
        match self._json(self._send("GET", f"{_PREFIX}/{place}", params=query)).get(key):
            case list() as rows:
                return rows
            case _:
                raise self._senseless(f"no {quoted(key)} at /{_PREFIX}/{place}")

    def one(self, kind: JobKind, number: int) -> dict[str, Any]:
        """One search or comparison as it stands; UsageError: the farm has none of that number."""
        found = self.rows(kind.at(number))
        if not found:
            raise kind.missing()
        return found[0]

    def _send(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Ask, with a fresh login when the cookie is no longer taken; raise unless it is a 2xx."""
        fresh = self._login() if not self._logged_in else False
        response = self._request(method, path, **arguments)
        if response.status_code in {401, 403} and not fresh and self._login():
            response = self._request(method, path, **arguments)
        if not response.is_success:
            raise self._refusal(response)
        return response

    def _login(self) -> bool:
        """Exchange the credentials for a cookie; False when there is nothing to exchange."""
        if self._credentials is None:
            return False
        user = self._credentials.user
        basic = httpx.BasicAuth(user, self._credentials.password)
        response = self._request("GET", "auth/login", auth=basic)
        if response.status_code >= 400 and response.status_code != 501:  # 501: needs no login
            if response.status_code > 500:
                raise self._refusal(response)
            raise UsageError(
                f"{self.url} does not let {quoted(user)} in (HTTP {response.status_code})",
                hint="check --user and what --password-file holds",
            )
        # A farm behind a proxy gives a cookie for TLS alone, also to a command that asks it without
        # the proxy: the password has just gone the same way.
        for cookie in self._http.cookies.jar:
            cookie.secure = False
        self._logged_in = True
        return True

    def _request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **arguments)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise NoFarmError(
                f"no farm answers at {self.url}: {_reason(error)}",
                hint=self._absent,
            ) from error
        except httpx.RequestError as error:
            raise FarmUnreachableError(
                f"the farm at {self.url} broke off: {_reason(error)}",
                hint="look whether it is being restarted",
            ) from error

    def _refusal(self, response: httpx.Response) -> BenchError:
        """What an HTTP error of Buildbot's means to the person who asked."""
        status = response.status_code
        code, message = _buildbot_error(response)
        if code in _SAID_BY_THE_FARM and (status < 500 or code == NOT_YET):
            return _SAID_BY_THE_FARM[code](message)
        if status in {401, 403}:
            hint = "ask its operator for the role, or log in as somebody else"
            if self._credentials is None:
                hint = "log in with --user NAME --password-file FILE"
            return UsageError(f"{self.url} does not allow this: {message}", hint=hint)
        for kind in (SEARCH, COMPARISON):
            is_meant = f"/{kind.plural}/" in response.url.path
            if status == 404 and is_meant and "nvalid path" not in message:
                return kind.missing()
        if status in {404, 501}:
            return InfraError(
                f"{self.url} answers, but has no such thing as this command asks for ({message})",
                hint="check --farm, and that farm and command are of one release",
            )
        if status >= 500:
            return FarmUnreachableError(f"the farm at {self.url} failed: {message}")
        return self._senseless(message)

    def _json(self, response: httpx.Response) -> dict[str, Any]:
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self._senseless("no JSON object")
        return answer

    def _senseless(self, detail: str) -> InfraError:
        return InfraError(
            f"{self.url} does not answer as a farm does: {detail}", hint="check --farm"
        )


def farm_at(access: FarmAccess) -> FarmClient:
    """The farm, to be asked by who is named, or else as was logged in there before."""
    named = read_credentials(access.user, access.password_file)
    return FarmClient(access.url, named or kept_login(access.url), absent=access.absent)


def _reason(error: Exception) -> str:
    return long_line(re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__)


def _buildbot_error(response: httpx.Response) -> tuple[int | None, str]:
    """Code and message: an object from JSON-RPC, a string from GET, a page from a proxy."""
    fallback = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    try:
        error = response.json()["error"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None, long_line(fallback)
    match error:
        case {"code": int(code), "message": str(message)} if message:
            return code, long_line(message)
        case str(message) if message:
            return None, long_line(message)
        case _:
            return None, long_line(fallback)

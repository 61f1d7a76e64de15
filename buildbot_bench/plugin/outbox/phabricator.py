"""Notices of culprits on Phabricator: comments on the reviews that a message names."""

import json
from collections.abc import Sequence
from typing import Any

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.legible import one_line
from buildbot_bench.plugin.outbox.site import (
    HINT,
    NamedCulprit,
    SiteDenial,
    SiteRefusal,
    WantedNotice,
    call,
)
from buildbot_bench.workflow.notify import Phabricator

COMMENT = "phabricator-comment"


class PhabricatorSite:
    """Phabricator as bench.yml has it."""

    SETTINGS = Phabricator

    def __init__(self, settings: Phabricator) -> None:
        self._settings = settings
        self.token_secret = settings.token_secret

    def notices(self, culprit: NamedCulprit) -> Sequence[WantedNotice]:
        """A comment on each review."""
        return [
            WantedNotice(kind=COMMENT, target=f"D{number}", body=culprit.markdown)
            for number in culprit.reviews
        ]

    async def say(self, notice: WantedNotice, *, token: str, page: str, mark: str) -> None:
        """Comment by Conduit, unless a comment there has the mark.

        Source: https://secure.phabricator.com/conduit/.
        """
        del page
        target = {"objectIdentifier": notice.target}
        known = await self._conduit(token, "transaction.search", target)
        if mark in json.dumps(known.get("data", [])):
            return
        comment = {"type": "comment", "value": f"{notice.body}\n({mark})\n"}
        wanted = target | {"transactions": [comment]}
        await self._conduit(token, "differential.revision.edit", wanted)

    async def _conduit(self, token: str, method: str, parameters: Json) -> Json:
        form = {
            "api.token": token,
            **{name: _encoded(value) for name, value in _flat(parameters)},
        }
        site = self._settings.site
        answer = await call("POST", f"{site.rstrip('/')}/api/{method}", {}, form=form)
        if not isinstance(answer, dict):
            raise InfraError(f"{site} does not answer as Conduit does", hint=HINT)
        if code := answer.get("error_code"):
            said = one_line(f"{code}: {answer.get('error_info')}")
            kind = SiteDenial if code == "ERR-INVALID-AUTH" else SiteRefusal
            raise kind(f"{site} takes no comment: {said}", hint=HINT)
        return answer.get("result") or {}


def _flat(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """A nested value as Conduit takes it in a form: `transactions[0][type]`."""
    match value:
        case dict():
            inner = value.items()
        case list():
            inner = dict(enumerate(value)).items()
        case _:
            return [(name, value)]
    return [
        pair for key, one in inner for pair in _flat(one, f"{name}[{key}]" if name else str(key))
    ]


def _encoded(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)

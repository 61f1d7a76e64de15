"""The progress of a farm in lines, from its public REST interface."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Any

import httpx

from buildbot_bench.core.legible import one_line


class Onlooker:
    """Says each thing once: an image that is built, a sample that is there, a verdict, a search."""

    def __init__(self, url: str, say: Callable[[str], None]) -> None:
        self._client = httpx.Client(base_url=f"{url}api/v2/bench/", timeout=10)
        self._say = say
        self._known: dict[str, str] = {}
        self._measured: set[str] = set()

    def measured(self, label: str) -> bool:
        """Whether all iterations of a revision's sample were seen to be there."""
        self.look()
        return label in self._measured

    def look(self) -> None:
        """Say what is new; a master that is busy or away is asked again the next time."""
        for probe in reversed(self._get("probes")):
            self._tell(f"probe {probe['probeid']}", _probe_text(probe), indent="  ")
            if probe["state"] == "done" and probe["values"]:
                self._measured.add(probe["label"])
        for judgement in reversed(self._get("judgements")):
            self._tell(f"judgement {judgement['judgementid']}", _judgement_text(judgement))
        for search in reversed(self._get("searches")):
            self._tell(f"search {search['searchid']}", _search_text(search))

    def _get(self, collection: str) -> list[dict[str, Any]]:
        try:
            answer = self._client.get(collection)
            answer.raise_for_status()
        except httpx.HTTPError:
            return []
        found: list[dict[str, Any]] = answer.json()[collection]
        return found

    def _tell(self, key: str, text: str, *, indent: str = "") -> None:
        if self._known.get(key) != text:
            self._known[key] = text
            self._say(indent + one_line(text))


def _probe_text(probe: dict[str, Any]) -> str:
    what = f"{probe['label']} for {probe['reason']}"
    if probe["failure"]:
        return f"{what}: {probe['failure']}"
    if probe["state"] == "done" and probe["values"]:
        unit = probe["unit"]
        return f"{what}: {mean(probe['values']):,.0f} {unit} (n={len(probe['values'])})"
    if probe["image_state"] in {"wanted", "building"}:
        return f"{what}: building"
    done = len(probe["values"])
    return f"{what}: measuring {done}/{probe['iterations']}"


def _judgement_text(judgement: dict[str, Any]) -> str:
    return f"verdict on {judgement['new_sha'][:10]}: {judgement['state']}: {judgement['reason']}"


def _search_text(search: dict[str, Any]) -> str:
    ends = f"({search['old']['label']}, {search['new']['label']}]"
    return f"search {search['searchid']} in {ends}, {search['commits']} commits: {search['state']}"

"""Every page and REST resource answers, on SQLite and on PostgreSQL, whatever it is asked."""

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import sqlalchemy as sa
from twisted.python.threadable import isInIOThread
from twisted.web.server import Request

from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.farm import SERVICE_NAME
from buildbot_bench.plugin.pages.histories import Histories
from buildbot_bench.plugin.rest import endpoints
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint
from tests.contracts.pages.named import (
    COLLECTIONS,
    METHODS,
    OF_A_BRANCH,
    PROGRAMS,
    RESOURCES,
    programs,
    targets,
)
from tests.databases import DATABASES, sqlite_engine
from tests.fakes.database import DirectPool
from tests.fakes.served import API, PAGES, Answered, ServedFarm

_NUMBER = re.compile(r"-?[0-9]+\.[0-9]+(e[-+][0-9]+)?")


def registered(served: ServedFarm) -> dict[str, str]:
    """Our resources, as Buildbot has them."""
    found = {"/".join(path): end for path, end in served.data.matcher.iterPatterns()}
    return {path: end for path, end in found.items() if path.startswith("bench/")}


async def test_all_that_the_plugin_registers_is_named(served):
    farm = await served()
    there = registered(farm)
    assert set(there) == set(RESOURCES)
    lists = {path for path, end in there.items() if end.kind.name == "COLLECTION"}
    assert lists == set(COLLECTIONS)
    acting = {path for path, end in there.items() if type(end).act is not BenchEndpoint.act}
    assert acting == set(METHODS)
    assert {path: set(there[path].rtype.entityType.fieldNames) for path in lists} == {
        path: set(fields) for path, fields in COLLECTIONS.items()
    }
    assert {name.decode() for name in farm.pages.resource.children} == set(PROGRAMS)


async def test_the_tables_hold_rows_of_each_kind_in_each_state(served, engine):
    await served()
    missing = []
    with engine.connect() as conn:
        for table in METADATA.sorted_tables:
            if conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0:
                missing.append(table.name)
            for column in table.columns:
                if isinstance(column.type, sa.Enum):
                    there = {str(one) for one in conn.execute(sa.select(column)).scalars()}
                    names = set(column.type.enums) - there
                    missing += [f"{column}: {name}" for name in sorted(names)]
    assert missing == []


@pytest.mark.parametrize("database", [*DATABASES, "stored"])
async def test_whatever_there_is_is_answered(served, there):
    farm = await served()
    known = there()
    wrong = []
    for pattern, name in RESOURCES.items():
        for target in targets(pattern, known):
            answer = await farm.get(target)
            if answer.status != 200:
                wrong.append((target, answer.status, answer.body[:200]))
            elif name:
                assert set(answer.json) == {name, "meta"}, target
            else:
                assert list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
    for target in programs(known):
        answer = await farm.get(target)
        if answer.status != 200:
            wrong.append((target, answer.status, answer.body[:200]))
        else:
            assert_readable(target, answer)
    assert wrong == []


@pytest.mark.parametrize("database", ["sqlite"])
async def test_each_answer_is_written_by_the_reactors_thread(served, there):
    """What another writes may be lost between two parts that the reactor sends."""
    written: set[tuple[bytes, bool]] = set()

    class Noted(Request):
        def write(self, data: bytes) -> None:
            written.add((self.uri, isInIOThread()))
            super().write(data)

    farm = await served(Noted)
    asked = [target for pattern in RESOURCES for target in targets(pattern, there())]
    for target in asked:
        assert (await farm.get(target)).body
    assert written == {(target.encode(), True) for target in asked}


async def test_the_browsers_files_are_served(served):
    farm = await served()
    for file in sorted(farm.pages.static_dir.iterdir()):
        assert (await farm.get(PAGES + file.name)).body == file.read_bytes()


def assert_readable(target: str, answer: Answered) -> None:
    """What a program reads is what its header says that it is."""
    kind = answer.headers["content-type"].partition(";")[0]
    match kind:
        case "image/svg+xml":
            ET.fromstring(answer.body)
        case "application/json":
            assert answer.json
        case "text/plain":
            assert answer.body.decode().strip()
        case "text/html":
            assert answer.body.startswith(b"<!DOCTYPE html>")
        case "text/javascript":
            assert answer.body.decode().startswith("export ")
        case _:
            raise AssertionError(f"{target}: {kind}")


@pytest.mark.parametrize("database", ["postgresql"])
async def test_the_same_rows_are_shown_alike_from_both_databases(
    served, there, engine, master, tmp_path
):
    farm = await served()
    known = there()
    all_targets = [t for pattern in RESOURCES for t in targets(pattern, known)]
    all_targets += programs(known)
    from_postgresql = [alike(await farm.get(target)) for target in all_targets]
    service = master.service_manager.namedServices[SERVICE_NAME]
    service.histories = Histories()
    service.farm.store = BenchStore(DirectPool(copied(engine, tmp_path / "copy.sqlite")))
    for target, answer in zip(all_targets, from_postgresql, strict=True):
        assert alike(await farm.get(target)) == answer, target


def copied(source: sa.Engine, path: Path) -> sa.Engine:
    """All rows in a file of SQLite's."""
    copy = sqlite_engine(path)
    METADATA.create_all(copy)
    with source.connect() as old, copy.begin() as new:
        # A comparison names a search, and a search comes after it: they are all there at the end.
        new.exec_driver_sql("PRAGMA defer_foreign_keys = on")
        for table in METADATA.sorted_tables:
            if rows := [dict(row) for row in old.execute(sa.select(table)).mappings()]:
                new.execute(sa.insert(table), rows)
    return copy


def alike(answer: Answered) -> tuple[int, str]:
    """An answer, but for the last digits of sums: each database adds up in an order of its own."""
    text = answer.body.decode("utf-8", "replace")
    return answer.status, _NUMBER.sub(lambda number: f"{float(number[0]):.10g}", text)


async def test_a_list_that_is_cut_is_a_part_of_the_whole(served, there):
    farm = await served()
    known = there()
    for pattern in COLLECTIONS:
        target, name = next(targets(pattern, known)), RESOURCES[pattern]
        whole = (await farm.get(target)).json[name]
        assert (await farm.get(f"{target}?limit=0")).json[name] == []
        parts = [
            (await farm.get(f"{target}?limit=1&offset={offset}")).json[name]
            for offset in range(min(len(whole), 4))
        ]
        assert parts == [[one] for one in whole[:4]], pattern


async def test_no_list_has_more_rows_than_its_most(served, there, monkeypatch):
    farm = await served()
    monkeypatch.setattr(endpoints.BenchEndpoint, "most_rows", 2)
    known = there()
    for pattern in COLLECTIONS:
        target, name = next(targets(pattern, known)), RESOURCES[pattern]
        answer = (await farm.get(target)).json
        assert len(answer[name]) <= 2, pattern
        assert (await farm.get(f"{target}?limit=3")).status == 400
        assert len((await farm.get(f"{target}?limit=2")).json[name]) == min(
            2, answer["meta"]["total"]
        ), pattern


async def test_what_is_sorted_or_filtered_is_so_before_it_is_cut(served):
    farm = await served()
    rows = (await farm.get(f"{API}bench/searches")).json["searches"]
    numbers = sorted(row["searchid"] for row in rows)
    assert len(numbers) > 2
    oldest = (await farm.get(f"{API}bench/searches?order=searchid&limit=2")).json["searches"]
    assert [row["searchid"] for row in oldest] == numbers[:2]
    found = (await farm.get(f"{API}bench/searches?state=found&limit=1")).json["searches"]
    assert [row["state"] for row in found] == ["found"]


async def test_each_branch_has_a_history_of_its_own(served):
    farm = await served()
    rows = (await farm.get(f"{API}bench/series?branch=stable/14")).json["views"]
    assert {row["branch"] for row in rows} == {"stable/14"}
    positions = {}
    for branch in ("main", "stable%2F14"):
        target = f"{PAGES}history/apu/forwarding?branch={branch}"
        (arrays,) = (await farm.get(target)).json["views"]
        positions[arrays["branch"]] = dict(zip(arrays["positions"], arrays["means"], strict=True))
    main, other = positions["main"], positions["stable/14"]
    assert [position for position in other if position > 8] == [9, 10]
    assert {p: v for p, v in other.items() if p <= 8} == {p: v for p, v in main.items() if p <= 8}
    assert max(other[9], other[10]) < min(main[9], main[10])
    (default,) = (await farm.get(f"{PAGES}history/apu/forwarding")).json["views"]
    assert default["branch"] == "main"


async def test_a_commit_and_a_file_are_of_the_branch_that_is_asked_for(served):
    farm = await served()
    path = f"{API}bench/history/apu/forwarding/9"
    (main,), (other,) = [
        (await farm.get(path + query)).json["views"] for query in ("", "?branch=stable/14")
    ]
    assert main["sha"] != other.get("sha")
    assert other["samples"][0]["values"] != main["samples"][0]["values"]
    shared = [
        (await farm.get(f"{API}bench/history/apu/forwarding/7{query}")).json["views"]
        for query in ("", "?branch=stable/14")
    ]
    assert shared[0] == shared[1]
    csv_path = f"{API}bench/samples/apu/forwarding/csv"
    answer = await farm.get(f"{csv_path}?branch=stable/14")
    lines = list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
    assert {line["sha"] for line in lines if int(line["position"]) > 8} == {
        f"{position:040x}" for position in (9, 10)
    }
    assert "stable-14-apu-forwarding.csv" in answer.headers["content-disposition"]


async def test_a_branch_that_is_not_there_is_answered(served, there):
    farm = await served()
    known = there()
    for branch in ("", "nonsense", "%00", "%ED%9F%BF", "%25", "x" * 3000, "a%2Fb"):
        for pattern in OF_A_BRANCH:
            answer = await farm.get(f"{next(targets(pattern, known))}?branch={branch}")
            assert answer.status == 404, (pattern, branch)
        (arrays,) = (await farm.get(f"{PAGES}history/apu/forwarding?branch={branch}")).json["views"]
        assert arrays["positions"] == [], branch
        rows = (await farm.get(f"{API}bench/series?branch={branch}")).json["views"]
        assert rows == [], branch

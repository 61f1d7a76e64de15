"""Whatever is asked of a farm, by path, query or parameter: it is answered or refused, no fault."""

from tests.contracts.pages.hostile import BEYOND, NAMES, REFUSED, calls, paths, queries
from tests.contracts.pages.named import COLLECTIONS, PROGRAMS, RESOURCES, targets
from tests.fakes.served import API, PAGES


async def test_a_path_that_nobody_means_is_not_found(served, there):
    farm = await served()
    known = there()
    wrong = []
    for pattern in RESOURCES:
        for target in paths(pattern, known):
            status = (await farm.get(target)).status
            beyond = any(f"/{number}" in target for number in BEYOND)
            if status not in ({404} if beyond else {200, 400, 404}):
                wrong.append((target[:100], status))
    assert not wrong, show(wrong)


async def test_a_query_that_nobody_means_is_answered_or_refused(served, there):
    farm = await served()
    known = there()
    wrong = []
    for pattern in RESOURCES:
        target = next(targets(pattern, known))
        for query in REFUSED if pattern in COLLECTIONS else ():
            status = (await farm.get(f"{target}?{query}")).status
            if status != 400:
                wrong.append((f"{target}?{query}"[:100], status))
        for query in queries(pattern):
            answer = await farm.get(f"{target}?{query}")
            if answer.status not in {200, 400}:
                wrong.append((f"{target}?{query}"[:100], answer.status))
            elif answer.status == 200 and RESOURCES[pattern]:
                assert answer.json
    assert not wrong, show(wrong)


async def test_a_refusal_says_what_is_wrong(served):
    farm = await served()
    for name, number in (("limit", "-1"), ("offset", "-7")):
        answer = await farm.get(f"{API}bench/searches?{name}={number}")
        assert answer.json["error"] == f"{name}={number}: it must be 0 or more"
    answer = await farm.get(f"{API}bench/searches?limit=99999999")
    assert "it must be at most 2000; offset= shows the others" in answer.json["error"]


async def test_pages_for_programs_are_not_found_by_other_names(served):
    farm = await served()
    wrong = []
    for page in PROGRAMS:
        for odd in (*NAMES, *(f"{number}.svg" for number in BEYOND)):
            for target in (f"{PAGES}{page}/{odd}", f"{PAGES}{page}/{odd}/{odd}"):
                status = (await farm.get(target)).status
                if status not in {200, 404, 405}:
                    wrong.append((target[:100], status))
    assert not wrong, show(wrong)


async def test_parameters_that_nobody_means_are_refused(served, there):
    farm = await served()
    known = there()
    wrong = []
    for pattern, method, params in calls():
        odd = () if params else paths(pattern, known)
        for target in (next(targets(pattern, known)), *odd):
            answer = await farm.post(target, method, params)
            if answer.status not in {200, 400, 404}:
                wrong.append((target[:60], method, f"{params}"[:200], answer.status))
            elif answer.status == 400:
                assert "\n" not in answer.json["error"]["message"]
    assert not wrong, show(wrong)


def show(wrong):
    return "\n".join(map(str, wrong))

"""A farm with one event of each kind in its past, the same on every database.

`WHOLE` is its workflow for make_farm: a control image, a gate, captures, artefacts that expire.
"""

import hashlib
from dataclasses import replace

from buildbot_bench.api.answers import AbTestState, SearchState
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.incident.model import Breakage, Ending
from buildbot_bench.core.metric import Metric, NoiseClass
from buildbot_bench.core.read_files import ReadFiles, pack_read_files
from buildbot_bench.core.search import Answer, Slope, SlopePart, Step
from buildbot_bench.core.sharing import PersonPriority, Served
from buildbot_bench.plugin.broker.quarantine import end_quarantine
from buildbot_bench.plugin.db.ab_test_rows import AbTestImage, AbTestRow, AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.columns import (
    JudgementState,
    MarkKind,
    ProfileState,
    ReportState,
    SearchKind,
)
from buildbot_bench.plugin.db.finding_rows import Answers, NewJudgement, Recovery, VerdictGrounds
from buildbot_bench.plugin.db.leases import BROKER
from buildbot_bench.plugin.db.rows import ImageRow, NewCommit
from tests.fakes.control import CONTROLLED, PLAIN
from tests.fakes.database import iterated
from tests.fakes.gated import GATED, count
from tests.fakes.past import TESTBED, WORKLOAD, Past, boots

NOTICE_KINDS = ("github-status", "github-comment", "phabricator-comment")
WHOLE = (
    (PLAIN, CONTROLLED.replace("}}", "}, profile: 5m}")),
    *GATED,
    ("branches: [main]", "branches: [main, stable/*]"),
    ("\nmail:", "\nartefacts: {retention: {keep-days: 1}}\n\nmail:"),
)
OLD, NEW = 6, 7
OTHER, FORK = "stable/14", 8
DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
FOUND = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")
OPEN = replace(FOUND, steps=(), unresolved=((2, 5),), reason="two suspects are left")
NOTHING = replace(FOUND, steps=(), reproduced=False, reason="the ends do not differ")
PART = SlopePart(old=2, new=5, effect=-0.03, low=-0.04, high=-0.02)
SLOPE = replace(OPEN, slopes=(Slope(whole=PART, parts=(PART,)),), reason="it slopes")
# What PostgreSQL, SQLite, JSON and a spreadsheet would stumble over.
HOSTILE = "\0=cmd|' /C calc'!A0 \ud800 \u202e<script>%s{0}"
SAMPLED = "main;ip_input 700\ncpu_idle 300\n"


async def live_through_everything(past: Past) -> None:
    """Fill every table but that of leases, with a row in each of its states."""
    await past.commits(*range(1, 16))
    await past.commits(16, 17, 18, important=False)
    await _images(past)
    await _measurements(past)
    await _controls(past)
    await _verdicts(past)
    await _searches(past)
    await _ab_tests(past)
    await _mails(past)
    await _marks_and_notices(past)
    await _other_branch(past)
    own = Metric(name="time", unit="ms", higher_is_better=False, noise=NoiseClass.EXACT)
    await past.farm.store.keep_metric(testbed=TESTBED, workload=WORKLOAD, metric=own)
    await past.farm.store.keep_share("lab", HOSTILE, Served(start=1.0, finish=91.0))


async def take_leases(past: Past) -> None:
    """Those of a master that lives and runs the broker."""
    for lease in (BROKER, "master:1"):
        await past.farm.store.take_lease(lease, token=f"of {lease}", masterid=1, hold_s=60)


async def _other_branch(past: Past) -> None:
    """It parts at r8, and has two commits of its own, which are slower than main's."""
    store, now = past.farm.store, past.farm.now()
    await store.keep_branch(OTHER, trunk="main", fork_position=FORK)
    gone = NewCommit(sha="d" * 40, position=FORK + 3, subject=HOSTILE, author=HOSTILE)
    await store.add_commits(OTHER, [gone])
    await store.forget_commits(OTHER, FORK)
    shas = [f"{position:040x}" for position in (FORK + 1, FORK + 2)]
    for position, sha in enumerate(shas, start=FORK + 1):
        commit = NewCommit(sha=sha, position=position, subject=HOSTILE, author=HOSTILE)
        await store.add_commits(OTHER, [commit])
        digest = f"{position:x}-other".ljust(64, "0")
        built = {"state": "built", "digest": digest, "size": 9, "branch": OTHER}
        image = await past.image(position, sha=sha, **built)
        await store.keep_artefact(digest=digest, size=9, now=now)
        await past.measured(image, boots(0.7e6, series=60 + position), epoch="1", judged=True)
    judged = NewJudgement(
        testbed="apu",
        workload="forwarding",
        unit="pps",
        old_sha=past.shas[FORK],
        old_position=FORK,
        new_sha=shas[0],
        new_position=FORK + 1,
        state=JudgementState.UNFIT,
        branch=OTHER,
    )
    await store.ensure_judgement(judged, now=now)


async def _images(past: Past) -> None:
    for position, state in enumerate(("wanted", "building", "failed", "dropped", "held"), start=13):
        await past.image(position, state=state)
    await past.image(12, state="untestable", reason=f"does not compile: {HOSTILE}")
    for position in range(1, 12):
        image = await past.image(position, kernel_digest=f"{position:064x}")
        await past.farm.store.keep_artefact(digest=image.digest, size=9, now=past.farm.now())
    manifest = {"compiler": HOSTILE, "flags": ["-O2"]}
    await past.image(OLD, ordinal=1, manifest=manifest, build_s=12.5)
    await _read_files(past)


async def _read_files(past: Past) -> None:
    """What one build read, and a commit that touches nothing of it."""
    store = past.farm.store
    image = await store.image_of(past.shas[OLD], 0, "")
    newest = await store.newest_commit("main")
    assert image is not None
    assert newest is not None
    read = pack_read_files(ReadFiles(names=frozenset({"sys/kernel.c"})))
    digest = await store.keep_read_files(read)
    await store.change(image, changed_at=past.farm.now(), read_files=digest)
    await store.presume_no_ops({newest.id: HOSTILE})


async def _measurements(past: Past) -> None:
    for position in range(1, 12):
        await count(past, position, 1000.0)
        level = 1e6 if position < NEW else 0.8e6
        await past.measured(position, boots(level, series=position), epoch="1")
    second = await past.farm.store.image_of(past.shas[OLD], 1, "")
    assert second is not None
    await past.measured(second, boots(1e6, series=50), epoch="1")
    await past.measured(9, boots(0.9e6, series=51), epoch="2")
    await past.measured(9, (5e6,), tunables="kern.random.harvest.mask=351")
    failed = await past.probe(10, state="done", failure=HOSTILE, failure_kind="infrastructure")
    await past.add(failed, 0, None)
    await _both_units(past)
    await past.probe(11, state="lost", failure="gone", ended_at=past.farm.now())
    untestable = await past.farm.store.image_of(past.shas[12], 0, "")
    assert untestable is not None
    await past.probe(untestable, state="cancelled")
    await past.probe(2, state="issued", brid=500, issued_at=past.farm.now())
    for reason in ("backfill", "confirm", "person", "schedule", "workload", "commit"):
        await past.probe(3, reason=reason)
    await past.probe(4, state="done", judged=True)


async def _both_units(past: Past) -> None:
    """One iteration in two units, with a hostile log and facts that are no text."""
    probe = await past.probe(10, state="done", iterations=1, epoch="2")
    for unit, value in (("pps", 0.85e6), ("cycles/packet", 1e-9)):
        await iterated(
            past.farm.store,
            probe,
            value,
            at_s=past.farm.now(),
            unit=unit,
            duration_s=0.1,
            log=HOSTILE,
            facts={"cpu": HOSTILE, "cores": 4, "speed": 1.5, "smt": None, "turbo": False},
        )
    named = {Metric(name="BM_<b>", unit="BM_<b>"): 7.5, Metric(name="../etc", unit="../etc"): 1e-9}
    assert await past.farm.store.add_values(probe=probe, ordinal=0, named=named)


async def _controls(past: Past) -> None:
    """Rounds of the control image; one quarantine was a false alarm, one ended, one lasts."""
    store = past.farm.store
    for serial, level in enumerate((1e6, 1e6, 0.7e6, 1e6, 0.7e6, 0.7e6)):
        past.farm.master.reactor.advance(86400)
        columns = {"reason": "control", "epoch": "2", "ended_at": past.farm.now()}
        probe = await past.measured(4, boots(level, 3, series=100 + serial), **columns)
        if level < 1e6:
            row = await store.begin_quarantine(
                probe_id=probe.id,
                testbed="apu",
                workload="forwarding",
                epoch="2",
                since_s=past.farm.now() - 2 * 86400,
                shift=-0.3 if serial == 2 else None,
                reason=f"off by 30 % {HOSTILE}",
                now=past.farm.now(),
            )
            if serial != 5:
                await end_quarantine(past.farm, row, by="ann", trusted=serial == 2)
    await past.measured(11, boots(0.8e6, series=120), epoch="2")
    await past.probe(4, reason="control")


async def _verdicts(past: Past) -> None:
    for position, state in enumerate(JudgementState, start=NEW):
        told = {"effect": -0.2, "low": -0.21, "high": -0.19, "p_value": 1e-300, "probability": 0.99}
        bare = state in {JudgementState.UNFIT, JudgementState.NOTHING}
        columns = {} if bare else told
        verdict = None if bare else VerdictGrounds(reason=HOSTILE)
        await past.judgement(OLD, position, state=state, verdict=verdict, rounds=1, **columns)


async def _searches(past: Past) -> None:
    search = await past.answered(FOUND)
    for side in (OLD, NEW):
        values = boots(1e6 if side == OLD else 0.8e6, series=70 + side)
        await past.measured(side, values, reason="search", search_id=search.id, epoch="2")
        await _profile(past, side, ProfileState.DONE, search_id=search.id)
    await _other_series(past, search.id)
    await past.answered(OPEN, "inconclusive")
    await past.answered(NOTHING, "not-reproduced")
    await past.answered(SLOPE, "slope", first_parent=True, inside=Answers(found=(SLOPE, OPEN)))
    for state in (SearchState.FAILED, SearchState.CANCELLED):
        await past.search(state=state, detail=HOSTILE, ended_at=past.farm.now())
    await past.search(state=SearchState.CANCELLING, priority=PersonPriority.LOW)
    patch = await past.farm.store.add_patch(
        body=b"\xff\0", origin=HOSTILE, requester=HOSTILE, now=past.farm.now()
    )
    fix = {"fix_sha": past.shas[18], "fix_patch": patch.digest}
    alarm = {"key": "alarm:1", "reason": "alarm", "requester": "judge", "claimed": 0.2}
    await past.search(2, 10, **alarm, **fix)
    running = await past.search(3, 9, priority=PersonPriority.HIGH)
    await past.probe(8, reason="search", search_id=running.id)
    for state in ProfileState:
        await _profile(past, 9, state, search_id=running.id)
    await _breakages(past)


async def _breakages(past: Past) -> None:
    """One that runs, of the boots; one that was found, and one that is over, of the builds."""
    await past.search(3, 9, kind="boot", requester="", reason="alarm")
    told = Breakage(ending=Ending.BROKEN, old=1, new=2, reason=HOSTILE, before=0, detail=HOSTILE)
    new = past.shas[9]
    over = Recovery(
        old_sha=past.shas[8],
        old_label="r8",
        old_position=8,
        new_sha=new,
        new_label="r9",
        new_position=9,
        at_s=past.farm.now(),
    )
    found = {"kind": "build", "testbed": "", "state": "found", "breakage": told}
    found |= {"ended_at": past.farm.now(), "detail": HOSTILE, "requester": "", "reason": "alarm"}
    for recovery in (None, over):
        row = await past.search(3, 9, **found, recovery=recovery)
        await past.farm.store.change(row, workload="")


async def _other_series(past: Past, search_id: int) -> None:
    """One series of the incident in each standing; what was denied has a search of its own."""
    own = await past.answered(NOTHING, "not-reproduced")
    said = {"effect": -0.1, "low": -0.11, "high": -0.09, "reason": HOSTILE, "ended_at": 9.0}
    for standing in Standing:
        columns = {} if standing is Standing.WAITING else said | {"standing": standing}
        if standing is Standing.DENIED:
            columns["own_search_id"] = own.id
        await past.joined(search_id, f"{standing} {HOSTILE}", **columns)


async def _profile(past: Past, of: int | ImageRow, state: ProfileState, **asked: int) -> None:
    store, now = past.farm.store, past.farm.now()
    image = of if isinstance(of, ImageRow) else await past.image(of)
    row = await store.ensure_profile(
        key=f"profile:{image.id}:{state}:{asked}",
        token="job",
        image_id=image.id,
        testbed="apu",
        workload="forwarding",
        now=now,
        **asked,
    )
    columns: dict[str, object] = {"state": state}
    if state is ProfileState.DONE:
        kept = await store.add_capture(counter="cycles", folded=SAMPLED, taken_at=now)
        columns |= {"digest": kept.digest, "ended_at": now}
    if state is ProfileState.FAILED:
        columns |= {"failure": HOSTILE, "ended_at": now}
    await store.change(row, **columns)


async def _ab_tests(past: Past) -> None:
    done = await _ab_test(past, 3, "options:VIMAGE", AbTestState.DONE, ended_at=past.farm.now())
    for variant, level in zip(done.variants, (5e5, 5.2e5, 4.9e5), strict=True):
        image = await past.farm.store.image(variant.image_id)
        assert image is not None
        values = boots(level, series=200 + variant.image_id)
        await past.measured(image, values, reason="person", ab_test_id=done.id, epoch="2")
        await _profile(past, image, ProfileState.DONE, ab_test_id=done.id)
    second = await past.image(3, ordinal=1)
    values = boots(5.1e5, 3, series=299)
    await past.measured(second, values, reason="person", ab_test_id=done.id, epoch="2")
    further = AbTestImage(
        place=0, testbed=TESTBED, workload=WORKLOAD, number=1, image_id=second.id, boots=3
    )
    await past.farm.store.want_images(done.id, [further])
    patch = await past.farm.store.add_patch(
        body=b"--- a/x\n+++ b/x\n\xff\x1b[2J\0", origin="my.patch", requester="carol", now=1.0
    )
    await _ab_test(past, 5, f"patch:{patch.digest}", AbTestState.AWAITING)
    for position, state in enumerate(AbTestState, start=2):
        if state not in {AbTestState.DONE, AbTestState.AWAITING}:
            ended = state not in {AbTestState.RUNNING, AbTestState.CANCELLING}
            columns = {"ended_at": past.farm.now(), "detail": HOSTILE} if ended else {}
            await _ab_test(past, position, "nooptions:INVARIANTS", state, **columns)


async def _ab_test(
    past: Past, position: int, change: str, state: AbTestState, **columns: object
) -> AbTestRow:
    store = past.farm.store
    base, new = await past.image(position), await _variant(past, position, change)
    third = await past.image(position + 1)
    if state is AbTestState.AWAITING:
        new = await store.change(new, changed_at=past.farm.now(), state="held")
        assert new is not None
    ab_test = await store.add_ab_test(
        NewAbTest(
            variants=[
                AbTestVariant(image_id=image.id, tunables="", variant=image.label, label=label)
                for image, label in ((base, base.label), (new, HOSTILE), (third, third.label))
            ],
            series=[("apu", "forwarding")],
            iterations=5,
            confidence=95.0,
            min_effect=0.02,
            requester="ann",
            images=4,
            priority=list(PersonPriority)[position % len(PersonPriority)],
            limited=position % 2 == 1,
        ),
        now=past.farm.now(),
    )
    changed = await store.change_ab_test(ab_test, state=state, **columns)
    assert changed is not None
    return changed


async def _variant(past: Past, position: int, change: str) -> ImageRow:
    store, now = past.farm.store, past.farm.now()
    variant = f"{past.shas[position]}+{change}"
    image = await store.ensure_image(
        sha=past.shas[position],
        variant=variant,
        ordinal=0,
        position=position,
        label=f"r{position}+{change.rpartition(':')[2][:12]}",
        now=now,
    )
    digest = hashlib.sha256(variant.encode()).hexdigest()
    changed = await store.change(image, changed_at=now, state="built", digest=digest, size=9)
    assert changed is not None
    return changed


async def _mails(past: Past) -> None:
    store = past.farm.store
    mail = {
        "message_id": "<1@example.org>",
        "subject": HOSTILE,
        "recipients": ["net@example.org"],
        "message": b"Subject: \xff\0\r\n\r\n",
    }
    searches = await store.searches()
    for search, state in zip(searches, ReportState, strict=False):
        row = await store.add_mail(f"search:{search.id}", now=past.farm.now(), **mail)
        await store.change(row, state=state, last_error=HOSTILE)
    await store.add_mail("quarantine:1", now=past.farm.now(), **mail)


async def _marks_and_notices(past: Past) -> None:
    store, now = past.farm.store, past.farm.now()
    (found,) = await store.searches(states=[SearchState.FOUND], kinds=[SearchKind.EFFECT])
    (verdict,) = await store.judgements(JudgementState.REGRESSION)
    fix = past.farm.history.resolve("r9")
    for kind in MarkKind:
        said = {"kind": kind, "author": HOSTILE, "now": now}
        said |= {"fix": fix} if kind == MarkKind.FIXED else {}
        await store.add_mark(search_id=found.id, **said)
        await store.add_mark(judgement_id=verdict.id, **said)
    wanted = [
        (kind, f"D{number}", HOSTILE)
        for number, kind in enumerate(
            3 * ("github-status", "github-comment", "phabricator-comment"), start=1
        )
    ]
    notices = await store.add_notices(found.id, wanted, now=now)
    for notice, state in zip(notices, ReportState, strict=False):
        await store.change(notice, state=state, last_error=HOSTILE)

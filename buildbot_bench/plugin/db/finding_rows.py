"""Rows of findings: incidents, judgements, searches, mails, marks, notices and quarantines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.incident.model import AlarmedSeries, Breakage, is_worse
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.plugin.db.columns import (
    Count,
    Digest,
    Flag,
    JudgementId,
    JudgementState,
    MarkKind,
    ProbeId,
    ReportState,
    SearchId,
    SearchKind,
    SearchReason,
    Sha,
    Word,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """How an incident ended: in (old, new], seen at `at_s`.

    `difference` is by what fraction the level differs from the one before the incident, None where
    there is no level.
    """

    old_sha: str
    old_label: str
    old_position: int
    new_sha: str
    new_label: str
    new_position: int
    at_s: float
    difference: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesRange:
    """The range (old, new] of a series.

    `value` is the name of one of many values of a run, empty for what stands for all of them.
    """

    testbed: str
    workload: str
    unit: str
    old_sha: Sha
    old_position: int
    new_sha: Sha
    new_position: int
    value: str = ""

    @property
    def series(self) -> tuple[str, str]:
        """The testbed and the workload on it."""
        return self.testbed, self.workload


@dataclass(frozen=True, kw_only=True, slots=True)
class RaisedAlarm(SeriesRange):
    """What the judge saw of a series over (old, new]: `claimed` is the effect.

    `old` is the anchor, which lies before the change. `judgement_id` is the verdict's.
    `higher_is_better` is None where the unit alone says it.
    """

    claimed: float
    judgement_id: JudgementId | None = None
    higher_is_better: bool | None = None

    def on(self, branch: str) -> AlarmedSeries:
        """The alarm in the core's words."""
        return AlarmedSeries(
            **shared(AlarmedSeries, self) | {"effect": self.claimed},
            configuration=branch,
            old=self.old_position,
            new=self.new_position,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class NewIncidentSeries(RaisedAlarm):
    """A series whose alarm joins the incident of a search."""

    search_id: SearchId


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentSeriesRow(NewIncidentSeries):
    """A series of an incident, as stored: whether the search's step is on it, too.

    `effect`, `low`, `high` are fractions of its old level; `own_search_id` is the search that it
    got for itself, where the step does not explain its alarm.
    """

    id: int
    standing: Standing
    effect: float | None
    low: float | None
    high: float | None
    reason: str
    own_search_id: SearchId | None
    created_at: float
    ended_at: float | None
    version: Count


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictGrounds:
    """What a judgement rests on: the image that was judged, and the fresh boots asked for.

    `probes` are the ids of the latter's requests; `reason` is for a reader. `began` is the first
    position at the level that an alarm reported, or since which the lab stands elsewhere, when new
    boots denied a change of the code there or showed a small one; None: the level is what it was,
    or an older judge's alarm. `anchor` is a position before the change that an alarm reported.
    `stated` is the probability of the last alarm; it stays when the alarm is taken back.
    """

    image: int | None = None
    probes: tuple[int, ...] = ()
    reason: str = ""
    began: int | None = None
    anchor: int | None = None
    stated: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewJudgement(SeriesRange):
    """A sample judged against an older one; `effect`, `low`, `high` are fractions of its level.

    `branch` is the one that has the new revision; None, of what an earlier release judged.
    """

    state: JudgementState
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    probability: float | None = None
    rounds: int = 0
    verdict: VerdictGrounds | None = None
    search_id: SearchId | None = None
    branch: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgementRow(NewJudgement):
    """A judgement, as stored; `repository` is what its branch has in front."""

    id: int
    created_at: float
    changed_at: float
    version: Count
    repository: str = ""

    @property
    def grounds(self) -> VerdictGrounds:
        """What the verdict rests on; nothing, of a judgement without one."""
        return self.verdict or VerdictGrounds()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """What a search came to, and then inside the merge that it found, and the one in that."""

    found: tuple[Answer, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSearch(SeriesRange):
    """A search that is asked for: over (old, new] on a testbed and workload.

    `key` names what asked, so that it asks once; None: each is another search. `claimed` is the
    effect that started it; `fix_sha` and `fix_patch` are carried along, and `tunables` set before
    the traffic. One of kind `build` is of all testbeds: its testbed and workload are empty.
    `higher_is_better` is None where the unit alone says it. With `first_parent` a merge is one
    commit.
    """

    key: str | None
    branch: str
    min_effect: float
    error: float
    reason: SearchReason
    requester: str
    claimed: float | None = None
    forecast: Any = None
    fix_sha: Sha | None = None
    fix_patch: Digest | None = None
    tunables: str = ""
    kind: SearchKind = SearchKind.EFFECT
    priority: PersonPriority = PersonPriority.NORMAL
    higher_is_better: bool | None = None
    first_parent: Flag = False

    @property
    def measured_in(self) -> str | None:
        """The value or unit that is searched; None for the primary one of each iteration."""
        return self.value or self.unit or None

    def makes_worse(self, effect: float) -> bool:
        """Whether an effect is one for the worse, of what is searched."""
        return is_worse(effect, self.unit, self.higher_is_better)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRow(NewSearch):
    """A search, as stored: its state, and the answer that it came to.

    `stated` is the answer with the figures that all mails and pages give of its steps; None until
    the broker has worked them out. That of a breakage is `breakage`. What a search found is an
    incident, until its `recovery`. `repository` is what its branch has in front. `inside` are the
    answers so far of one that goes on inside merges; the first is the `answer` when it has ended.
    """

    id: int
    state: SearchState
    answer: Answer | None
    detail: str | None
    created_at: float
    ended_at: float | None
    version: Count
    breakage: Breakage | None = None
    recovery: Recovery | None = None
    repository: str = ""
    stated: Answer | None = None
    inside: Answers | None = None

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What is known of the range, and then of each merge inside which the search went."""
        return self.inside.found if self.inside else ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that it found, as its report states them, counted from its old end."""
        known = self.stated or self.answer
        return known.steps if known else ()

    @property
    def headline(self) -> Step | None:
        """The step that its report is about, by the report's rule; None where none is sure."""
        return self.chosen(self.steps)

    def chosen(self, steps: Sequence[Step]) -> Step | None:
        """The sure one of some steps that counts most: the worst."""
        sure = [step for step in steps if step.is_sure(self.error)]
        return max(
            sure,
            key=lambda step: (self.makes_worse(step.effect), abs(step.effect)),
            default=None,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportRow:
    """One mail; `message` is the RFC 5322 text that is sent, byte for byte.

    `key` names what it is about, so that there is no second one: `search:7`, `quarantine:2`.
    """

    id: int
    key: str
    search_id: SearchId | None
    state: ReportState
    message_id: str
    subject: str
    recipients: Sequence[str]
    message: bytes
    attempts: Count
    last_error: str | None
    next_try_at: float
    created_at: float
    sent_at: float | None
    version: Count


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkRow:
    """What somebody said of a search's report or of a verdict; the newest word counts.

    One of `search_id` and `judgement_id` is set. The `fixed_*` are those of the commit that
    fixed it; `pending` says that fresh boots were asked for and the broker has not seen to it.
    """

    id: int
    search_id: SearchId | None
    judgement_id: JudgementId | None
    kind: MarkKind
    fixed_sha: Sha | None
    fixed_label: str | None
    author: str
    at_s: float
    pending: Flag
    version: Count


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeRow:
    """One thing said of a search's culprit on another site: `body` to `target`, written once.

    `target` is a commit's hash, or a review as in D8526; `body` is Markdown, or a status' line.
    `denials` are those of its `attempts` at which the site was there and did not let us in.
    """

    id: int
    search_id: SearchId
    kind: Word
    target: str
    body: str
    state: ReportState
    attempts: Count
    last_error: str | None
    next_try_at: float
    created_at: float
    sent_at: float | None
    denials: int = 0
    version: Count


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantineRow:
    """A span in which a testbed was not to be believed, since its control image showed it.

    `probe_id` is the request of that measurement, `since_s` when the last good one before it
    ended: what the testbed measured after it is in doubt, unless `trusted` says that it was a
    false alarm. `shift` is by what fraction the control image was off; None: it gave no value.
    `ended_by` is a person, or what else ended it.
    """

    id: int
    probe_id: ProbeId
    testbed: str
    workload: str
    epoch: str
    since_s: float
    shift: float | None
    reason: str
    begun_at: float
    ended_at: float | None
    ended_by: str | None
    trusted: Flag
    version: Count

"""The asynchronous methods, one transaction each, by which the plugin uses the tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.plugin.db import ab_tests as ab_test_queries
from buildbot_bench.plugin.db import changes as change_queries
from buildbot_bench.plugin.db import commits as commit_queries
from buildbot_bench.plugin.db import findings as finding_queries
from buildbot_bench.plugin.db import images as image_queries
from buildbot_bench.plugin.db import leases as lease_queries
from buildbot_bench.plugin.db import named_values as value_queries
from buildbot_bench.plugin.db import outbox as outbox_queries
from buildbot_bench.plugin.db import probes as probe_queries
from buildbot_bench.plugin.db import read_files as trial_queries
from buildbot_bench.plugin.db import samples as sample_queries
from buildbot_bench.plugin.db import series as series_queries
from buildbot_bench.plugin.db import sql
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow, AbTestVariant
from buildbot_bench.plugin.db.finding_rows import (
    IncidentSeriesRow,
    JudgementRow,
    MarkRow,
    NoticeRow,
    ReportRow,
    SearchRow,
)
from buildbot_bench.plugin.db.pooled import PooledStore, reading, tell, writing
from buildbot_bench.plugin.db.rows import CaptureRow, ImageRow, ProbeRow, ProfileRow
from buildbot_bench.plugin.db.sql import VersionedRow


class BenchStore(PooledStore):
    """The tables behind `master.db.pool`."""

    async def change(self, row: VersionedRow, /, **columns: Any) -> VersionedRow | None:
        """The row with columns changed; None when another was quicker."""
        changed = await self.write(sql.change, row, **columns)
        tell(row, changed)
        return changed

    async def change_all(self, changes: Sequence[tuple[VersionedRow, Mapping[str, Any]]]) -> None:
        """Change the columns of rows in one transaction, of those where no other was quicker."""
        changed = await self.write(
            lambda conn: [sql.change(conn, row, **columns) for row, columns in changes]
        )
        for (old, _), new in zip(changes, changed, strict=True):
            tell(old, new)

    async def change_ab_test(
        self, row: AbTestRow, /, *, more: Sequence[AbTestVariant] = (), **columns: Any
    ) -> AbTestRow | None:
        """The comparison with columns changed and `more` variants, in the same way."""
        changed = await self.write(ab_test_queries.change_ab_test, row, more=more, **columns)
        tell(row, changed)
        return changed

    upgrade = writing(sql.upgrade)
    analyse = writing(sql.analyse)

    take_lease = writing(lease_queries.take_lease)
    renew_lease = writing(lease_queries.renew_lease)
    drop_lease = writing(lease_queries.drop_lease)
    hold_lease = writing(lease_queries.must_hold)
    confirm = writing(lease_queries.confirm)
    leases = reading(lease_queries.leases)
    busy_masters = reading(lease_queries.busy_masters)
    release_claims = writing(lease_queries.release_claims)
    begun = reading(lease_queries.begun)
    unclaim = writing(lease_queries.unclaim)

    branches = reading(commit_queries.branches)
    keep_branch = writing(commit_queries.keep_branch)
    line_of = reading(commit_queries.line_of)
    branch_of = reading(commit_queries.branch_of)
    add_commits = writing(commit_queries.add_commits)
    forget_commits = writing(commit_queries.forget_commits)
    newest_commit = reading(commit_queries.newest_commit)
    unmeasured = reading(commit_queries.unmeasured)
    commit_at = reading(commit_queries.commit_at)
    commit_times = reading(commit_queries.commit_times)
    asked_commits = reading(change_queries.asked_commits)
    first_arrival = reading(commit_queries.first_arrival)
    first_of_newest_push = reading(commit_queries.first_of_newest_push)

    newest_commits = reading(change_queries.newest_commits)
    have_commits = reading(change_queries.have_commits)
    asked_since = reading(change_queries.asked_since)
    undone_commits = reading(change_queries.undone_commits)
    versions_since = reading(change_queries.versions_since)
    last_untestable = reading(change_queries.last_untestable)
    series_that_failed = reading(change_queries.series_that_failed)
    versions_of_ranges = reading(change_queries.versions_of_ranges)
    versions_of_ab_tests = reading(change_queries.versions_of_ab_tests)
    images_of_new_probes = reading(change_queries.images_of_new_probes)
    version_of_findings = reading(change_queries.version_of_findings)

    ensure_image = writing(image_queries.ensure_image)
    image = reading(sql.by_id(ImageRow))
    image_of = reading(sql.row_by(ImageRow, "variant", "ordinal", "repository"))
    image_at = reading(image_queries.image_at)
    images = reading(image_queries.images)
    all_images_between = reading(image_queries.all_images_between)
    images_of_history = reading(image_queries.images_of_history)
    images_of_variants = reading(image_queries.images_of_variants)
    images_between = reading(image_queries.images_between)
    measured_twin = reading(image_queries.measured_twin)
    built_before = reading(image_queries.built_before)

    keep_read_files = writing(trial_queries.keep_read_files)
    read_files = reading(trial_queries.read_files)
    old_logs = reading(sample_queries.old_logs)
    delete_logs = writing(sample_queries.delete_logs)

    lists_without_kernel = reading(trial_queries.lists_without_kernel)
    forget_read_files = writing(trial_queries.forget_read_files)
    listed_images = reading(trial_queries.listed_images)
    newest_listed = reading(trial_queries.newest_listed)
    unbuilt_commits = reading(trial_queries.unbuilt_commits)
    presumed_no_ops = reading(trial_queries.presumed_no_ops)
    presume_no_ops = writing(trial_queries.presume_no_ops)
    capture_of_workload = reading(trial_queries.capture_of_workload)

    ensure_probe = writing(probe_queries.ensure_probe)
    troubles = reading(probe_queries.troubles)
    probe = reading(sql.by_id(ProbeRow))
    probes = reading(probe_queries.probes)
    probe_by_key = reading(probe_queries.probe_by_key)
    probes_of_search = reading(sql.rows_by(ProbeRow, "search_id"))
    open_probes = reading(probe_queries.open_probes)
    recent_probes = reading(probe_queries.recent_probes)
    first_asked_at = reading(probe_queries.first_asked_at)
    overdue = reading(probe_queries.overdue)
    unjudged_probes = reading(probe_queries.unjudged_probes)
    probes_of = reading(probe_queries.probes_of)

    keep_metric = writing(sample_queries.keep_metric)
    metric_of = reading(sample_queries.metric_of)
    direction_of = reading(sample_queries.direction_of)

    claims = reading(probe_queries.claims)
    capture_claims = reading(probe_queries.capture_claims)
    shares = reading(probe_queries.shares)
    keep_share = writing(probe_queries.keep_share)
    boots_since = reading(probe_queries.boots_since)

    add_iteration = writing(sample_queries.add_iteration)
    add_values = writing(value_queries.add_values)
    value_names = reading(value_queries.value_names)
    suites = reading(value_queries.suites)
    runs_of_values = reading(sample_queries.runs_of_values)
    iterations_of_probe = reading(sample_queries.iterations_of_probe)
    samples = reading(sample_queries.samples)
    samples_of_images = reading(sample_queries.samples_of_images)

    newest_iterations = reading(series_queries.newest_iterations)
    newest_positions = reading(series_queries.newest_positions)
    measured_series = reading(series_queries.measured_series)
    measured_by = reading(series_queries.measured_by)
    points = reading(series_queries.points)
    points_of_builds = reading(series_queries.points_of_builds)
    export = reading(series_queries.export)
    last_outcomes = reading(series_queries.last_outcomes)
    last_boot_at = reading(series_queries.last_boot_at)
    facts_on = reading(series_queries.facts_on)
    outcomes_since = reading(series_queries.outcomes_since)
    counts = reading(series_queries.counts)

    boots_of = reading(trial_queries.boots_of)
    series_that_fail = reading(trial_queries.series_that_fail)
    newest_attempts = reading(trial_queries.newest_attempts)
    failing_builds = reading(trial_queries.failing_builds)
    failing_boots = reading(trial_queries.failing_boots)

    ensure_judgement = writing(finding_queries.ensure_judgement)
    ensure_judgements = writing(finding_queries.ensure_judgements)
    judgement = reading(sql.by_id(JudgementRow))
    judgements = reading(finding_queries.judgements)
    judgements_of_commit = reading(finding_queries.judgements_of_commit)
    judgements_of_values = reading(finding_queries.judgements_of_values)
    judgements_of_search = reading(sql.rows_by(JudgementRow, "search_id"))
    unsearched_improvements = reading(finding_queries.unsearched_improvements)
    judged_commits = reading(finding_queries.judged_commits)
    alarms_over = reading(finding_queries.alarms_over)
    closed_judgements = reading(finding_queries.closed_judgements)

    add_search = writing(finding_queries.add_search)
    search = reading(sql.by_id(SearchRow))
    search_by_key = reading(sql.row_by(SearchRow, "key"))
    searches = reading(finding_queries.searches)
    searches_over = reading(finding_queries.searches_over)
    unstated_searches = reading(finding_queries.unstated_searches)
    progress = reading(finding_queries.progress)

    join_incident = writing(finding_queries.join_incident)
    series_of_incident = reading(sql.rows_by(IncidentSeriesRow, "search_id"))
    confirmed_incidents = reading(
        sql.rows_by(IncidentSeriesRow, "testbed", "workload", standing=Standing.CONFIRMED)
    )
    waiting_series = reading(sql.rows_by(IncidentSeriesRow, standing=Standing.WAITING))
    judgement_of_search = reading(finding_queries.judgement_of_search)
    incidents_over = reading(finding_queries.incidents_over)

    keep_artefact = writing(image_queries.keep_artefact)
    artefacts = reading(image_queries.artefacts)
    claimed_artefacts = reading(image_queries.claimed_artefacts)
    release_artefact = writing(image_queries.release_artefact)
    forget_artefact = writing(image_queries.forget_artefact)
    needed_images = reading(image_queries.needed_images)
    built_places = reading(image_queries.built_places)
    ab_tests_elsewhere = reading(image_queries.ab_tests_elsewhere)
    unbuilt_elsewhere = reading(image_queries.unbuilt_elsewhere)
    open_probes_elsewhere = reading(image_queries.open_probes_elsewhere)

    add_patch = writing(ab_test_queries.add_patch)
    patch = reading(ab_test_queries.patch)
    patch_bytes = reading(ab_test_queries.patch_bytes)
    forget_patches = writing(ab_test_queries.forget_patches)

    add_ab_test = writing(ab_test_queries.add_ab_test)
    ab_test = reading(ab_test_queries.ab_test)
    ab_tests = reading(ab_test_queries.ab_tests)
    scheduled_ab_tests = reading(ab_test_queries.scheduled_ab_tests)
    untold_ab_tests = reading(ab_test_queries.untold_ab_tests)
    want_images = writing(ab_test_queries.want_images)
    images_of_ab_test = reading(ab_test_queries.images_of_ab_test)
    known_iterations = reading(ab_test_queries.known_iterations)
    newest_epoch = reading(ab_test_queries.newest_epoch)
    probes_of_ab_test = reading(sql.rows_by(ProbeRow, "ab_test_id"))
    iterations_of_ab_test = reading(ab_test_queries.iterations_of_ab_test)

    control_probes = reading(image_queries.control_probes)
    iterations_of_probes = reading(image_queries.iterations_of_probes)
    commits_measured_since = reading(image_queries.commits_measured_since)

    begin_quarantine = writing(image_queries.begin_quarantine)
    quarantines = reading(image_queries.quarantines)
    untold_quarantines = reading(image_queries.untold_quarantines)
    doubted = reading(image_queries.doubted)

    ensure_profile = writing(probe_queries.ensure_profile)
    profile = reading(sql.by_id(ProfileRow))
    profiles = reading(sql.rows_by(ProfileRow, "state"))
    profiles_of_search = reading(sql.rows_by(ProfileRow, "search_id"))
    profiles_of_ab_test = reading(sql.rows_by(ProfileRow, "ab_test_id"))
    add_capture = writing(probe_queries.add_capture)
    capture = reading(sql.row_by(CaptureRow, "digest"))

    add_mail = writing(outbox_queries.add_mail)
    mails_like = reading(outbox_queries.mails_like)
    mails_sent_since = reading(outbox_queries.mails_sent_since)
    report_of_search = reading(sql.row_by(ReportRow, "search_id"))
    unreported_searches = reading(outbox_queries.searches_where(outbox_queries.is_unreported))
    undecided_searches = reading(outbox_queries.searches_where(outbox_queries.is_undecided))
    untold_breakages = reading(outbox_queries.searches_where(outbox_queries.is_untold_breakage))
    untold_recoveries = reading(outbox_queries.searches_where(outbox_queries.is_untold_recovery))
    withheld_reports = reading(outbox_queries.withheld_reports)
    digest_reports = writing(outbox_queries.digest_reports)
    due_reports = reading(outbox_queries.due(ReportRow))

    findings = reading(finding_queries.findings)
    findings_over = reading(finding_queries.findings_over)
    last_marks = reading(finding_queries.last_marks)
    newest_values = reading(finding_queries.newest_values)

    add_mark = writing(outbox_queries.add_mark)
    mark_searches = writing(outbox_queries.mark_searches)
    marks_of_search = reading(sql.rows_by(MarkRow, "search_id"))
    marks_of_judgement = reading(sql.rows_by(MarkRow, "judgement_id"))
    marks_on_series = reading(outbox_queries.marks_on_series)
    newest_marks = reading(outbox_queries.newest_marks)
    pending_marks = reading(sql.rows_by(MarkRow, pending=True))
    opinions = reading(outbox_queries.opinions)

    add_notices = writing(outbox_queries.add_notices)
    notices_of_search = reading(sql.rows_by(NoticeRow, "search_id"))
    unnoticed_searches = reading(outbox_queries.searches_where(outbox_queries.is_unnoticed))
    due_notices = reading(outbox_queries.due(NoticeRow))
    take_up_notices = writing(outbox_queries.take_up_notices)

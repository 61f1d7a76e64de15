"""The mail about a master that hung or crashed: at most one a day, to the farm's operators."""

from __future__ import annotations

from pathlib import Path

from buildbot_bench.core.operations import Hang
from buildbot_bench.core.report.hang import HangReport, harmless_hang
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.outbox.farm_mail import farm_envelope, keep_mail, lab_url
from buildbot_bench.plugin.outbox.search_mail import operators
from buildbot_bench.render.farm_mails import compose_hang

PAUSE_S = 24 * 3600.0


async def write_hang(farm: Farm, hang: Hang) -> None:
    """Write the mail, unless this master's last one is younger than a day."""
    mail = farm.workflow.mail
    series = f"hang:{farm.master.masterid}:"
    if mail is None or any(
        farm.now() - earlier.created_at < PAUSE_S for earlier in await farm.store.mails_like(series)
    ):
        return
    file = Path(hang.path)
    report = harmless_hang(
        HangReport(
            farm=farm.workflow.name,
            what=hang.what,
            at_s=hang.at_s,
            again_s=farm.now(),
            file=f"{file.parent.name}/{file.name}",
            url=lab_url(farm),
        )
    )
    about = f"hang.{farm.master.masterid}.{int(hang.at_s)}"
    envelope = farm_envelope(farm, mail, operators(mail), about)
    await keep_mail(farm, f"{series}{int(hang.at_s)}", envelope, compose_hang(report, envelope))

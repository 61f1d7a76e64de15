"""One mail about a master that hung, at most once a day, and what the metrics say of it."""

import os
from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path

from prometheus_client.utils import floatToGoString

from buildbot_bench.plugin.operations.hangs import keep_hang, stacks_file
from buildbot_bench.plugin.outbox.farm_mails import PAUSE_S, write_hang
from buildbot_bench.plugin.pages.metrics import metrics
from tests.fakes.control import WITH_CONTROL


async def test_a_hang_is_mailed_to_the_operators_once_a_day(make_farm, master):
    farm = make_farm(WITH_CONTROL)
    base = Path(master.basedir)
    assert "bench_master_hangs 0.0" in await metrics(farm)
    assert keep_hang(base) is None
    stacks_file(base).write_text("did not answer for 60 s\nThread 1\n")
    at_s = int(farm.now()) - 30
    os.utime(stacks_file(base), (at_s, at_s))
    hang = keep_hang(base)
    for later_s in (0, 60):
        await write_hang(farm, replace(hang, at_s=at_s + later_s))
    (row,) = await farm.store.due_reports(farm.now())
    mail = message_from_bytes(row.message, policy=policy.default)
    assert list(row.recipients) == ["ops@example.org"]
    assert mail["Subject"].endswith(": the master did not answer for 60 s, and was started again")
    assert (
        f"hangs/{Path(hang.path).name} in the master's" in mail.get_body(("plain",)).get_content()
    )
    told = await metrics(farm)
    assert "bench_master_hangs 1.0" in told
    assert f"bench_master_last_hang_timestamp_seconds {floatToGoString(at_s)}" in told
    master.reactor.advance(PAUSE_S)
    await write_hang(farm, replace(hang, at_s=at_s + PAUSE_S))
    assert len(await farm.store.mails_like("hang:")) == 2

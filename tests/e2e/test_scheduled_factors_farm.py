"""Factors of bench.yml: a change whose sign depends on a tunable leaves as one right mail."""

import re
from collections.abc import Iterator

import pytest

from tests.e2e.embedded import embed
from tests.e2e.farms import module_farms
from tests.e2e.histories import edited_history
from tests.e2e.inbox import Inbox, flowing
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.edits import Change, Edit

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

PATIENCE_S = 900.0
FORWARD = "src/forward.c"
# How long a packet is held up, by the option and the tunable: each alone slows, both speed up, all
# by so much that no luck with layout is to be told from it.
HELD_UP = """\
#include "route.h"

#ifdef PATCHED
static const int held_up[2] = {9000, 0};
#else
static const int held_up[2] = {3000, 12000};
#endif

static void
hold_up(void)
{
	static int tuned = -1;

	if (tuned < 0) {
		const char *said = getenv("net.simple_tx");
		tuned = said != NULL && *said == '1';
	}
	for (volatile int i = 0; i < held_up[tuned]; i++)
		continue;
}
"""
EDITS = (
    Edit(
        path=FORWARD,
        old="#include <stdbool.h>\n",
        new="#include <stdbool.h>\n#include <stdlib.h>\n",
    ),
    Edit(path=FORWARD, old='#include "route.h"\n', new=HELD_UP),
    Edit(
        path=FORWARD,
        old="\tdecrement_ttl(header);\n",
        new="\tdecrement_ttl(header);\n\thold_up();\n",
    ),
)
FACTORS = "{patched: PATCHED, simple_tx: 'net.simple_tx:0,1'}"
SETTINGS = 'driver = "embedded"\nduration_s = 0.2\n'


@pytest.fixture(scope="module")
def farm(inbox: Inbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplayFarm]:
    change = Change(label="r2", author="alice", message="Hold packets up", edits=EDITS)
    history = edited_history(tmp_path_factory.mktemp("history"), 1, [change])

    def prepare(farm: ReplayFarm) -> None:
        dispatch = "  workflow_dispatch:"
        schedule = f"  schedule: [{{cron: '* * * * *', factors: {FACTORS}}}]\n{dispatch}"
        embed(farm, (dispatch, schedule), smtp_port=inbox.port, settings=SETTINGS)

    with module_farms(tmp_path_factory) as farms:
        yield farms(Shape(tip="r2", poll_s=2.0), history, prepare)


def test_the_mail_says_that_the_effect_of_one_depends_on_the_other(farm, inbox) -> None:
    mail = inbox.wait_for(farm, "patched x simple_tx at r2", PATIENCE_S)
    text = flowing(mail)
    found = re.search(
        r"patched=with makes forwarding [\d.]+ % slower with simple_tx=0 \(-[^)]*\)"
        r" and [\d.]+ % faster with simple_tx=1",
        text,
    )
    assert found, text
    assert "The best combination is patched=with, simple_tx=1." in text
    assert "boot the same images" in text
    (number,) = re.findall(r"/bench/comparisons/(\d+)", text)
    (shown,) = farm.get(f"comparisons/{number}")["comparisons"]
    assert (shown["requester"], shown["state"]) == ("bench.yml", "done")
    (series,) = shown["report"]["series"]
    (interaction,) = series["factors"]["interactions"]
    assert interaction["is_there"]
    assert interaction["ratio"] > 1.0
    # Two images alone were built at first: the combinations of one kernel share it.
    kernels = "SELECT count(*) FROM bench_image WHERE ordinal = 0 AND position = 2"
    assert farm.value(kernels) == 2

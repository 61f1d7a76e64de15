"""The shipped farm on the embedded testbed, as a farm of tests."""

from tests.e2e.replay_farm import ReplayFarm
from tests.readme import CHECKOUT

PLAIN = 'driver = "embedded"\n'


def embed(
    farm: ReplayFarm,
    *replaced: tuple[str, str],
    smtp_port: int | None = None,
    settings: str = PLAIN,
) -> None:
    """Write bench.yml as it is shipped, with some words of it replaced, and its testbed.

    Without a port there is no mail. There are no captures: they take two boots.
    """
    text = (CHECKOUT / "bench.yml").read_text()
    if smtp_port is None:
        text = text.partition("mail:\n")[0]
    else:
        replaced = (("smtp-port: 2525", f"smtp-port: {smtp_port}"), *replaced)
    ours = (("repository: .farm/src", f"repository: {farm.source}"), (", profile: 2m", ""))
    for old, new in (*ours, *replaced):
        assert old in text, old
        text = text.replace(old, new)
    farm.local.plan.workflow.write_text(text)
    farm.local.plan.testbeds.write_text(f"[testbeds.embedded]\n{settings}")

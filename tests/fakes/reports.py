"""Reports as a finished search would give them, made from recorded or invented measurements.

The IFLIB figures are those of the netbenches archive (Olivier Cochard-Labbé, BSD-2-Clause), series
fbsd12-head.iflib on an AMD GX-412TC with Intel i210AT: the median of each iteration, in pps. What
surrounds them (digests, facts of the lab, other workloads and testbeds) is invented.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.links import NO_LINKS, links_of
from buildbot_bench.core.profile.model import Profile, Stack
from buildbot_bench.core.read_files import FileChange, ReadFiles
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import (
    Context,
    ControlRecord,
    ImageRecord,
    SearchStage,
    SeriesSamples,
)
from buildbot_bench.core.report.model import ProbeRecord, Report, Setting
from buildbot_bench.core.report.why import Capture, Captures
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.sample import PPS, Iteration, Metric, Sample
from buildbot_bench.core.search import Answer, OddImage, Slope, SlopePart, Step, Suspect
from buildbot_bench.core.search.model import OtherSpeed
from buildbot_bench.core.touched import CommitPrior, commit_prior
from tests.core.profiles import SIMPLE_TX, recorded

FIRST_SVN = 311848
IFLIB = {
    0: (622368.5, 624595.5, 621955.0, 625651.0, 628503.5),  # r311848
    1: (465402.0, 463375.5, 466679.0, 462666.5, 465755.5),  # r311849
    1056: (570701.5, 572311.5, 575035.5, 574741.5, 572907.0),  # r312904
    1057: (586193.0, 581032.0, 587969.0, 588829.0, 584949.0),  # r312905
    1600: (502255.0, 505580.0, 508331.0, 506829.0, 508858.5),  # r313448
}
LINKS = links_of("https://cgit.freebsd.org/src")
SETTING = Setting(
    testbed="apu2",
    workload="forwarding",
    metric=PPS,
    confidence=95.0,
    min_effect=0.02,
    farm="netlab",
    search_id=7,
    url="https://bench.example.org/#/bench/searches/7",
    operator="Lab Keeper <keeper@example.org>",
    links=LINKS,
)
HOSTILE = (
    "<script>alert('x')</script>\r\nBcc: everyone@example.org\r\n\r\n\x1b]0;owned\x07\x1b[2J"
    '\u202egnp.exe\u2066 \U000e0041 {{ 7 * 7 }} & "quotes" \ud800 ' + "A" * 5000
)


SIMPLE_TX_DIFF = """\
diff --git a/sys/net/iflib.c b/sys/net/iflib.c
--- a/sys/net/iflib.c
+++ b/sys/net/iflib.c
@@ -4321,2 +4321 @@ iflib_if_transmit(if_t ifp, struct mbuf *m)
-\tif (ctx->ifc_sysctl_simple_tx)
-\t\treturn (iflib_simple_transmit(ifp, m));
+\terr = ifmp_ring_enqueue(txq->ift_br, (void **)&m, 1, TX_BATCH_SIZE, abdicate);
diff --git a/share/man/man4/iflib.4 b/share/man/man4/iflib.4
--- a/share/man/man4/iflib.4
+++ b/share/man/man4/iflib.4
@@ -200 +199,0 @@
-.It Va simple_tx
"""


def hostile_captures() -> Captures:
    """A kernel names its functions as it likes, and a commit its files."""
    name = one_line(HOSTILE).replace(" ", "_").replace(";", ":")
    sides = [
        Profile(stacks=(Stack(frames=(name,), samples=count), Stack(frames=("f",), samples=900)))
        for count in (100, 500)
    ]
    old, new = (Capture(label=HOSTILE, profile=side, link=HOSTILE) for side in sides)
    diff = f"--- a/{name}\n+++ b/{name}\n@@ -1 +0,0 @@ f(void)\n-{HOSTILE}\n"
    return Captures(counter=HOSTILE, old=old, new=new, difference=HOSTILE, diff=diff)


def revision(index: int, **fields: object) -> Revision:
    known = {
        "sha": f"{index + 0xA1B2C3D4E5:010x}" + "0" * 30,
        "position": 200_000 + index,
        "svn": FIRST_SVN + index,
        "subject": f"Change number {index}",
        "author": "A Committer <committer@example.org>",
        "committed_at_s": 1_484_000_000 + 600 * index,
    }
    return Revision(**(known | fields))


CONTROL = ControlRecord(
    label="r311800", rounds=41, spread=0.0042, every_s=86400.0, last_good_s=1_484_499_000.0
)


def history(n: int, **at: Mapping[str, object]) -> RevisionRange:
    """n + 1 revisions; `at` changes the fields of one: `_3={"subject": …}`."""
    fields = {int(name[1:]): changed for name, changed in at.items()}
    return RevisionRange(
        revisions=tuple(revision(index, **fields.get(index, {})) for index in range(n + 1))
    )


def samples(values: Mapping[int, Sequence[float]], *, image: int = 0) -> list[Sample]:
    return [
        Sample(
            label=f"r{FIRST_SVN + position}",
            position=position,
            image=image,
            iterations=tuple(Iteration(value=value) for value in each),
        )
        for position, each in values.items()
    ]


def log(values: Mapping[int, Sequence[float]], **failures: str) -> list[ProbeRecord]:
    """One probe after the other as a search would have run them, each a boot of half a minute."""
    probes = [
        ProbeRecord(serial=0, label=f"r{FIRST_SVN + position}", value=value, unit="pps")
        for position, each in values.items()
        for value in each
    ]
    probes += [ProbeRecord(serial=0, label=label, failure=why) for label, why in failures.items()]
    return [
        replace(probe, serial=serial, at_s=1_484_500_000.0 + 41 * serial, duration_s=38.5)
        for serial, probe in enumerate(probes, start=1)
    ]


def step(old: int, new: int, effect: float, probability: float = 0.9962) -> Step:
    return Step(
        old=old,
        new=new,
        effect=effect,
        low=effect - 0.0046,
        high=effect + 0.0046,
        probability=probability,
    )


def answer(*steps: Step, **fields: object) -> Answer:
    known = {
        "reproduced": True,
        "unresolved": (),
        "reason": "each step is located",
    }
    return Answer(steps=steps, **(known | fields))


def of_one_step(suspects: RevisionRange, effect: float = -0.25) -> Report:
    """A report on a change at the first of them whose measurements do not matter."""
    found = answer(step(0, 1, effect))
    return compose(range=suspects, answer=found, samples=[], setting=SETTING)


def images(
    values: Mapping[int, Sequence[float]], *, ordinal: int = 0, **facts: str
) -> tuple[ImageRecord, ...]:
    """What these values were measured on; no two digests are alike."""
    return tuple(
        ImageRecord(
            position=position,
            label=f"r{FIRST_SVN + position}",
            ordinal=ordinal,
            digest=f"{position:04x}{ordinal:x}".ljust(64, "c0ffee"[ordinal])[:64],
            build_s=850.0,
            iterations=len(each),
            text_bytes=24_576_000 + 12_288 * (position > 0),
            facts=frozenset(({"dut": "AMD GX-412TC", "system": "FreeBSD 12"} | facts).items()),
        )
        for position, each in values.items()
    )


def series(testbed: str, workload: str, values: Mapping[int, Sequence[float]]) -> SeriesSamples:
    return SeriesSamples(testbed=testbed, workload=workload, samples=tuple(samples(values)))


def besides() -> Context:
    """What a whole farm would know around the IFLIB range: three workloads on two testbeds."""
    left = {0: 1600, 1: 544, 1056: 380, 1057: 44, 1600: 4}
    times = iter(probe.at_s for probe in log(IFLIB))
    return Context(
        images=images(IFLIB),
        series=(
            series("apu2", "ipfw-statefull", {0: (401e3, 399e3, 400e3), 1: (340e3, 342e3, 341e3)}),
            series("apu2", "pf-statefull", {-20: (280e3, 281e3, 280e3), 9: (281e3, 280e3, 281e3)}),
            series("xeon", "forwarding", {0: (9.0e6, 9.4e6, 9.2e6), 1: (9.3e6, 9.1e6, 8.7e6)}),
            series("xeon", "pf-statefull", {0: (8.0e6,)}),
        ),
        tip=revision(1604),
        stages=tuple(
            SearchStage(
                at_s=next(times),
                position=position,
                left=left[position],
                suspects=(Suspect(old=0, new=left[position], probability=0.9, effect=-0.25),),
            )
            for position, each in IFLIB.items()
            for _ in each
        ),
        runners_up={1: (Suspect(old=1, new=2, probability=0.0021, effect=-0.03),)},
        control=CONTROL,
        prior=touching(),
    )


def touching() -> CommitPrior:
    """A fifth of 1600 commits touch the kernel, some of them what runs; r311849 is one of these."""
    paths = ["sys/net/iflib.c" if n % 80 == 1 else f"sys/{n % 5}.c" for n in range(1, 1601)]
    changes = [[FileChange(path=path, edited=True)] for path in paths]
    read = ReadFiles(names=frozenset({"sys/net/iflib.c", "sys/3.c"}))
    return commit_prior(changes, read, {"sys/net/iflib.c"})


def of_branch() -> Report:
    """The model case on a farm that watches several branches."""
    return iflib(replace(SETTING, branch="stable/14"))


_SCATTER = (0.0, 0.004, -0.003, 0.001, -0.002)


def iflib(setting: Setting = SETTING) -> Report:
    """The model case: four steps in 1600 commits, down, up, up and down again."""
    subject = "Migrate e1000 to the IFLIB framework:"
    return compose(
        range=history(1600, _1={"subject": subject, "author": "Iff Lib <iflib@example.org>"}),
        answer=answer(
            step(0, 1, -0.2559),
            step(1055, 1056, 0.2331),
            step(1056, 1057, 0.0226),
            step(1599, 1600, -0.1358),
        ),
        samples=samples(IFLIB),
        setting=setting,
        probes=log(IFLIB),
        known=besides(),
    )


def of_command(metric: Metric, old: float, new: float) -> Report:
    """What a command measured before and after a commit, a hundredth of it off now and then."""
    values = {
        n: tuple(level * (1 + part) for part in _SCATTER) for n, level in ((0, old), (1, new))
    }
    said = {"command": "./bench-compress corpus.tar", "randomised": "the size of the environment"}
    return compose(
        range=history(1, _1={"subject": "compress: look twice"}),
        answer=answer(step(0, 1, new / old - 1)),
        samples=[replace(one, metric=metric) for one in samples(values)],
        setting=replace(
            SETTING,
            testbed="runner",
            workload="compress",
            metric=metric,
            item=ItemUnderTest.COMMAND,
        ),
        probes=log(values),
        known=Context(images=images(values, **said)),
    )


def of_two_commands(metric: Metric) -> Report:
    """A command that became slower twice; the smaller step was not proved on both sides."""
    values = {
        0: (98.4, 98.1, 98.6, 98.4, 98.3),
        1: (93.4, 93.6, 93.1, 93.3, 93.5),
        5: (93.5, 93.3),
        6: (90.1,),
    }
    said = {"command": "./bench-compress corpus.tar", "randomised": "the size of the environment"}
    return compose(
        range=history(6, _1={"subject": "compress: look twice"}),
        answer=answer(step(0, 1, -0.051), step(5, 6, -0.036, probability=0.97)),
        samples=[replace(one, metric=metric) for one in samples(values)],
        setting=replace(
            SETTING,
            testbed="runner",
            workload="compress",
            metric=metric,
            item=ItemUnderTest.COMMAND,
        ),
        probes=log(values),
        no_ops={3},
        known=Context(images=images(values, **said)),
    )


def of_local(metric: Metric) -> Report:
    """What `bench-bisect --local` says where the build does not heed BENCH_IMAGE."""
    values = {0: (98.4, 98.1, 98.6, 98.4, 98.3), 1: (93.4, 93.6, 93.1, 93.3, 93.5)}
    said = {
        "link order": "one: the build does not heed BENCH_IMAGE",
        "randomised": "the size of the environment, the layout of the address space",
    }
    return compose(
        range=history(3, _1={"parent_sha": revision(0).sha}),
        answer=answer(step(0, 1, -0.0505)),
        samples=[replace(one, metric=metric) for one in samples(values)],
        setting=replace(
            SETTING,
            testbed="here",
            workload="bench-compress",
            metric=metric,
            farm="",
            url=None,
            operator="",
            item=ItemUnderTest.COMMAND,
            links=NO_LINKS,
        ),
        probes=log(values, r311851="the build ended with status 2"),
        untestable={3: "the build ended with status 2"},
        no_ops={2},
        reproduce=("bench-bisect --local v1 v2 --build make --run ./bench-compress",),
        known=Context(
            images=tuple(replace(image, facts=frozenset(said.items())) for image in images(values)),
            one_layout=(
                f"the link order was not varied ({said['link order']}); "
                f"randomised for each run: {said['randomised']}"
            ),
        ),
    )


def proven() -> Report:
    """All that can be checked was checked, and passed; a second testbed confirms the change."""
    values = {0: (1000.0, 1004, 996, 1001, 999), 1: (748.0, 752, 750, 751, 749)}
    newest = {2: (751.0, 750, 749)}
    report = compose(
        range=history(1, _1={"parent_sha": revision(0).sha}),
        answer=answer(step(0, 1, -0.25)),
        samples=[*samples(values), *samples(values, image=1)],
        setting=SETTING,
        known=Context(
            images=(*images(values), *images(values, ordinal=1, firmware="1.2")),
            later=tuple(samples(newest)),
            tip=revision(2),
            control=CONTROL,
            series=(
                replace(
                    series("xeon", "forwarding", {}),
                    standing=Standing.CONFIRMED,
                    effect=-0.182,
                    low=-0.187,
                    high=-0.177,
                ),
            ),
        ),
    )
    return replace(report, reviews=("D8526",))


def broken_range() -> Report:
    """The step lies behind revisions that do not build: three suspects, one no-op change."""
    values = {0: (1000.0, 1004, 996, 1001, 999), 1: (1001.0, 1002), 6: (748.0, 752, 750, 751, 749)}
    return compose(
        range=history(8),
        answer=answer(step(1, 6, -0.25), unresolved=((6, 8),)),
        samples=samples(values),
        setting=SETTING,
        probes=log(values, r311850="kernel does not build: if_em.c:42: error: expected ';'"),
        untestable={2: "does not build", 3: "does not build", 5: "panics at boot"},
        no_ops={4},
        known=Context(
            images=(
                *images({0: values[0], 1: values[1]}, firmware="1.16.3"),
                *images({6: values[6]}, firmware="1.17.0"),
            ),
            tip=revision(8),
        ),
    )


def improvement() -> Report:
    """What the IFLIB range also holds: it became better again."""
    values = {0: IFLIB[1], 1: IFLIB[1056]}
    return compose(
        range=history(1, _1={"subject": "Let iflib's rx path prefetch"}),
        answer=answer(step(0, 1, 0.2331)),
        samples=samples(values),
        setting=replace(SETTING, search_id=9),
    )


def race() -> Report:
    """A third of the boots are slower, since two commits."""
    third = OtherSpeed(before=0.004, after=0.33, depth=-0.12)
    steps = (replace(one, race=third) for one in (step(0, 1, -0.04), step(1, 2, -0.03)))
    values = {0: (1000.0, 1004, 996), 1: (1001.0, 880, 999), 2: (880.0, 1001, 997)}
    return compose(
        range=history(2),
        answer=answer(*steps),
        samples=samples(values),
        setting=SETTING,
    )


def hostile_improvement() -> Report:
    """A stranger made it better."""
    return compose(
        range=history(1, _1={"subject": HOSTILE, "author": HOSTILE}),
        answer=answer(step(0, 1, 0.25)),
        samples=samples({0: (800.0, 802, 798), 1: (1000.0, 1004, 996)}),
        setting=replace(SETTING, workload=HOSTILE, farm=HOSTILE, operator=HOSTILE, url=HOSTILE),
    )


def profiled(data: Path) -> Report:
    """A culprit with captures of both sides: those of one kernel with and without `simple_tx`.

    The commit, the boots and the diff are invented; the captures are the archive's.
    """
    values = {0: (1000.0, 1004, 996, 1001, 999), 1: (748.0, 752, 750, 751, 749)}
    new, old = (recorded(data, name) for name in SIMPLE_TX)
    page = "https://bench.example.org/plugins/bench/flamegraph"
    return compose(
        range=history(1, _1={"subject": "iflib: send through the ring again"}),
        answer=answer(step(0, 1, -0.25)),
        samples=samples(values),
        setting=SETTING,
        known=Context(
            captures=Captures(
                counter="BU_CPU_CLK_UNHALTED",
                old=Capture(label="r311848", profile=old, link=f"{page}/1.svg"),
                new=Capture(label="r311849", profile=new, link=f"{page}/2.svg"),
                difference=f"{page}/1-2.svg",
                diff=SIMPLE_TX_DIFF,
            )
        ),
    )


def unprofiled() -> Report:
    """The captures that were wanted could not be made."""
    values = {0: (1000.0, 1004, 996), 1: (748.0, 752, 750)}
    idle = "r311848: 94.3% of 224953 samples are idle"
    return compose(
        range=history(1),
        answer=answer(step(0, 1, -0.25)),
        samples=samples(values),
        setting=SETTING,
        known=Context(captures=Captures(missing=idle)),
    )


def hostile() -> Report:
    """Every text that a stranger can write is an attack."""
    values = {0: (1000.0, 1004, 996), 1: (750.0, 752, 748)}
    return compose(
        range=history(2, _1={"subject": HOSTILE, "author": HOSTILE}),
        answer=answer(step(0, 1, -0.25), step(1, 2, 0.1), reason=HOSTILE),
        samples=samples(values),
        setting=replace(
            SETTING, workload=HOSTILE, testbed=HOSTILE, farm=HOSTILE, operator=HOSTILE, url=HOSTILE
        ),
        probes=[ProbeRecord(serial=1, label=HOSTILE, failure=HOSTILE, note=HOSTILE)],
        untestable={2: HOSTILE},
        known=Context(
            images=images(values, **{HOSTILE: HOSTILE}),
            series=(series(HOSTILE, HOSTILE, values), series(HOSTILE, "pf", {})),
            tip=revision(2, subject=HOSTILE),
            captures=hostile_captures(),
            prior=commit_prior(
                [[FileChange(path=HOSTILE, edited=True)], []],
                ReadFiles(names=frozenset({HOSTILE})),
                {HOSTILE},
            ),
        ),
    )


def not_reproduced() -> Report:
    """The two ends do not differ."""
    values = {0: IFLIB[0], 3: (623001.0, 625377.5, 622944.5, 626110.0, 624020.5)}
    return compose(
        range=history(3),
        answer=answer(reproduced=False, reason="the ends do not differ enough"),
        samples=samples(values),
        setting=SETTING,
        probes=log(values),
    )


def inconclusive() -> Report:
    """A step is there, but the measurements that were allowed did not suffice to place it."""
    values = {0: IFLIB[0], 4: (600100.0, 612000.0), 8: IFLIB[1]}
    return compose(
        range=history(8),
        answer=answer(
            step(3, 4, -0.2559, 0.614),
            unresolved=((0, 8),),
            reason="12 measurements were not enough",
        ),
        samples=samples(values),
        setting=SETTING,
        probes=log(values),
    )


def slope() -> Report:
    """The ends differ, no commit by itself; and an image that its siblings deny."""
    values = {0: IFLIB[0], 4: (600100.0, 602000.0, 601200.0), 8: (584000.0, 585100.0, 583900.0)}
    whole = SlopePart(old=0, new=8, effect=-0.0612, low=-0.0655, high=-0.0569)
    parts = (
        SlopePart(old=0, new=4, effect=-0.0351, low=-0.0394, high=-0.0308),
        SlopePart(old=4, new=8, effect=-0.0270, low=-0.0313, high=-0.0227),
    )
    return compose(
        range=history(8),
        answer=answer(
            slopes=(Slope(whole=whole, parts=parts),),
            odd_images=(OddImage(position=4, image=0, effect=-0.0408),),
            reason="the ends differ, but no single commit changes enough",
        ),
        samples=samples(values),
        setting=SETTING,
        probes=log(values),
    )

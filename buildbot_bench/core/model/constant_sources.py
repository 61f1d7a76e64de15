"""The meaning, unit and source of each constant in `constants`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant:
    """What a constant of this module means: its unit, and where its value comes from."""

    name: str
    unit: str
    source: str


TABLE = (
    Constant(
        name="FAR_SHARE",
        unit="share of images",
        source="netbenches, 353 builds of seven year series against the six next to them between "
        "known changes: a normal for each series with a common uniform tail is most likely with "
        "1.5 to 2 % (.3 to 5 % within two units of ln)",
    ),
    Constant(
        name="TESTBED_FAR_WEIGHT",
        unit="images that FAR_SHARE is worth for a new testbed",
        source="chosen: the archive's likelihood is worth 135, but its series show .7 to 6.5 %",
    ),
    Constant(
        name="FAR_SPAN",
        unit="ln of the metric, full width",
        source="netbenches, with FAR_SHARE: .2 is likeliest (.15 and .3 by 1.6 units of ln less)",
    ),
    Constant(
        name="FAR_SHARE_WEIGHT",
        unit="images that FAR_SHARE is worth to a search",
        source="chosen: a testbed's first hundred images outweigh it",
    ),
    Constant(
        name="FAR_REACH",
        unit="ln of the metric, either way",
        source="netbenches year series: the widest spread of neighbouring builds is 4.7 %",
    ),
    Constant(
        name="FAR_ANYWHERE",
        unit="share of far images that lie anywhere, not where others read",
        source="chosen: the worst that luck can do is to read like the other side of a step",
    ),
    Constant(
        name="MOST_FAR",
        unit="share of images that a search believes to be far off",
        source="chosen: a testbed with more has images of two speeds, which is another hypothesis",
    ),
    Constant(
        name="TWO_SPEEDS",
        unit="probability that the images of a range have two speeds",
        source="chosen: one testbed in five may link so",
    ),
    Constant(
        name="RACE",
        unit="probability that boots have two speeds whose shares a commit may change",
        source="chosen: as rare as a further step in a range",
    ),
    Constant(
        name="BEYOND_LAYOUT",
        unit="fraction of the level, as ln(1 + BEYOND_LAYOUT) either way",
        source="half of FAR_SPAN, twice the widest spread of neighbouring builds in netbenches: no "
        "image is that far off by luck",
    ),
    Constant(
        name="DENIES",
        unit="standard errors of an image beyond the middle between two levels",
        source="chosen: chance puts one image in 44 of the right level there",
    ),
    Constant(
        name="IMAGES_THAT_SHOW",
        unit="images of each side of a step below BEYOND_LAYOUT",
        source="chosen: with FAR_SHARE two images of one side lie far off once in 2500 times",
    ),
    Constant(
        name="BOOTS_THAT_DENY",
        unit="boots of an image that contradicts another",
        source="chosen: with OUTLIER_SHARE the median of three lies off once in 370 times",
    ),
    Constant(
        name="MOST_FAILING",
        unit="failing builds in one gap",
        source="chosen: ten hours of a builder, and where four of five do not build one in a "
        "thousand brackets has more; then the answer says what is untried",
    ),
    Constant(
        name="OUTLIER_SHARE",
        unit="share of boots",
        source="chosen: boots of the netbenches year series that say nothing of their build; as "
        "that of the search",
    ),
    Constant(
        name="OUTLIER_SPAN",
        unit="ln of the metric, full width",
        source="chosen: a boot that went wrong gives from half of the level to twice",
    ),
    Constant(
        name="RUN_NOISE",
        unit="fraction of the level, standard deviation",
        source="netbenches: boots of one image vary by .8 % in the median",
    ),
    Constant(
        name="BUILD_NOISE",
        unit="fraction of the level, standard deviation",
        source="netbenches: neighbours of the seven year series differ by .9, 1.3, 1.7, 1.8, 2.2, "
        "3.0 and 4.7 %, of which boots explain little",
    ),
    Constant(
        name="COUNTED_NOISE",
        unit="fraction of the level, standard deviation",
        source="boots of FreeBSD 13.1 in QEMU count alike to nothing to .04 %; layout moves no "
        "instruction",
    ),
    Constant(
        name="PRIOR_WEIGHT",
        unit="observations that a prior's standard deviation is worth",
        source="chosen: three boots of a testbed outweigh the archive",
    ),
    Constant(
        name="PRIOR_DF",
        unit="degrees of freedom of a prior's variance",
        source="chosen: how sure it is that an unknown testbed resembles the known ones",
    ),
    Constant(
        name="CONTROL_SPREAD",
        unit="RUN_NOISE, between rounds of a control image",
        source="chosen: the archive never measured one image on many days",
    ),
    Constant(
        name="SATURATED_NOISE",
        unit="fraction of the level, standard deviation",
        source="netbenches: line-rate series repeat to .00 to .03 %",
    ),
    Constant(
        name="MODES_APART",
        unit="spread within a mode",
        source="netbenches: bimodal machines (580 581 738 773 780 kpps is one revision)",
    ),
    Constant(
        name="LEAST_MODES",
        unit="ln of the metric",
        source="chosen: nearer modes are noise like any other",
    ),
    Constant(
        name="IMAGES_WITH_MODES",
        unit="share of images with boots enough to show two modes",
        source="chosen: in fewer it was some boots that went wrong",
    ),
    Constant(
        name="CHANGES_PER_COMMIT",
        unit="changes of level, of any size",
        source="netbenches: one of 4 % in about 8000 commits of a year; most are smaller: chosen",
    ),
    Constant(
        name="RECENT",
        unit="positions among which a change may have come",
        source="chosen: older ones were judged before",
    ),
    Constant(
        name="MEMORY",
        unit="positions that tell the present level",
        source="chosen: sixty boots give it to an eighth of one boot's noise",
    ),
    Constant(
        name="SUSPICIOUS",
        unit="Bayes factor of a change at one place",
        source="chosen: from it on a few boots more are well spent",
    ),
    Constant(
        name="SHOWN_AGAIN",
        unit="probability that fresh boots of both sides differ in the direction of the change",
        source="chosen: with .99 a lab that drifts by .5 % raised a false alarm in 1800 commits",
    ),
    Constant(
        name="RELEVANT_SHARE",
        unit="min_effect",
        source="chosen: a step of min_effect that is known to an eighth of itself reads as less "
        "once in 44 times",
    ),
    Constant(
        name="SOUGHT_SHARE",
        unit="min_effect",
        source="chosen: nearly min_effect, as the request alone says so",
    ),
    Constant(
        name="CLAIM_SHARE",
        unit="what was claimed",
        source="chosen: what is selected for being large is on average overestimated",
    ),
    Constant(
        name="EFFECT_SCALES",
        unit="min_effect; standard deviations of sizes of changes",
        source="netbenches: persistent changes of the year series are 4 to 23 %, of releases to 80",
    ),
    Constant(
        name="USABLE_SCALE",
        unit="min_effect",
        source="chosen: 10 % by default, less than which half of the archive's changes are",
    ),
    Constant(
        name="TOLERANCE_SHARE",
        unit="min_effect",
        source="chosen: a lab that is off by half of min_effect turns no verdict by itself",
    ),
    Constant(
        name="MODE_SHARE",
        unit="share of boots",
        source="netbenches: bimodal machines draw the rarer mode in a fifth to a third of the "
        "boots",
    ),
    Constant(
        name="DRIFT_WEIGHT",
        unit="probability",
        source="chosen: one search in ten runs while the lab's room warms up or cools down",
    ),
    Constant(
        name="DRIFT_SD",
        unit="run noises",
        source="chosen: a lab that drifts by 1 % where boots scatter by .5 %",
    ),
    Constant(
        name="DRIFT_TIME_S",
        unit="seconds",
        source="chosen: rooms warm up and cool down within hours",
    ),
    Constant(
        name="FURTHER_STEP",
        unit="probability",
        source="chosen: of ranges with one step few have another, wherever it is",
    ),
    Constant(
        name="CLUSTERED_STEP",
        unit="probability",
        source="netbenches: of the four steps of the iflib range two are neighbours; work on one "
        "thing comes in several commits",
    ),
    Constant(
        name="NO_STEP",
        unit="probability",
        source="chosen: without a claim nothing is known",
    ),
    Constant(
        name="CLAIM_IS_TRUE",
        unit="probability",
        source="chosen: an alarm is confirmed by boots before it claims; the rest is false or "
        "elsewhere",
    ),
    Constant(
        name="CLAIM_SPREAD",
        unit="in ln of the size",
        source="chosen: an alarm measures an effect to about a sixth",
    ),
    Constant(
        name="BUILD_WIDER",
        unit="times the stated one",
        source="chosen: few images teach a standard deviation to within a factor of three",
    ),
    Constant(
        name="WIDER_WEIGHT",
        unit="probability",
        source="chosen: of testbeds, those whose stated build noise is too small",
    ),
    Constant(
        name="PROOF_P_VALUE",
        unit="p of Student's t",
        source="chosen: a pair of neighbours was picked among many because it differs, so 5 % is "
        "too much",
    ),
    Constant(
        name="LEFT_OUT",
        unit="probability",
        source="chosen: that another step is left out matters less than a wrong one, and is said",
    ),
    Constant(
        name="LEFT_IN_SLOPE",
        unit="probability",
        source="chosen: that a slope holds one commit of a relevant effect: its parts are "
        "reported anyway",
    ),
    Constant(
        name="VERDICT_SURE",
        unit="probability of a comparison's sign where there is one look",
        source="chosen: each sign may err in half of .005, so that one comparison of nothing in "
        "two hundred is called changed",
    ),
    Constant(
        name="LAST_LOOK_SURE",
        unit="probability of a comparison's sign at the last look of several",
        source="chosen: at .9975, 1.4 % of 500 simulated comparisons of nothing were called "
        "changed after 5.4 looks each; errors fall about as 1 - LAST_LOOK_SURE does, so that .6 % "
        "are expected where 1 % may be",
    ),
    Constant(
        name="SURE_FROM",
        unit="images of each side from which LAST_LOOK_SURE is enough; fewer must be surer",
        source="chosen: as many as tell 2 % where builds vary by 1.6 %; errors are spent in "
        "proportion to what is known (K. K. G. Lan, D. L. DeMets, Biometrika 70, 1983)",
    ),
    Constant(
        name="FOUND_AT_FIRST",
        unit="share of comparisons that the images asked for beforehand decide",
        source="chosen: a comparison that asks again takes fewer images than one that asks once",
    ),
)

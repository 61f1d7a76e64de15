"""The constants of the noise model, each with its unit and its source.

Code reads them as attributes of this module, so that `make bench` can halve and double one and
print how far the results move. `benchmarks/sensitivity.py` reads the texts below them.
"""

FAR_SHARE = 0.02
"""Share of images. Source: netbenches, 353 builds of seven year series against the six next to them
between known changes: a normal for each series with a common uniform tail is most likely with 1.5
to 2 % (.3 to 5 % within two units of ln)."""

TESTBED_FAR_WEIGHT = 30.0
"""Images that FAR_SHARE is worth for a new testbed. Source: chosen: the archive's likelihood is
worth 135, but its series show .7 to 6.5 %."""

FAR_SPAN = 0.2
"""Ln of the metric, full width. Source: netbenches, with FAR_SHARE: .2 is likeliest (.15 and .3 by
1.6 units of ln less)."""

FAR_SHARE_WEIGHT = 15.0
"""Images that FAR_SHARE is worth to a search. Source: chosen: a testbed's first hundred images
outweigh it."""

FAR_REACH = 0.06
"""Ln of the metric, either way. Source: netbenches year series: the widest spread of neighbouring
builds is 4.7 %."""

FAR_ANYWHERE = 0.2
"""Share of far images that lie anywhere, not where others read. Source: chosen: the worst that luck
can do is to read like the other side of a step."""

MOST_FAR = 0.1
"""Share of images that a search believes to be far off. Source: chosen: a testbed with more has
images of two speeds, which is another hypothesis."""

TWO_SPEEDS = 0.2
"""Probability that the images of a range have two speeds. Source: chosen: one testbed in five may
link so."""

RACE = 0.02
"""Probability that boots have two speeds whose shares a commit may change. Source: chosen: as rare
as a further step in a range."""

BEYOND_LAYOUT = 0.1
"""Fraction of the level, as ln(1 + BEYOND_LAYOUT) either way. Source: half of FAR_SPAN, twice the
widest spread of neighbouring builds in netbenches: no image is that far off by luck."""

DENIES = 2.0
"""Standard errors of an image beyond the middle between two levels. Source: chosen: chance puts one
image in 44 of the right level there."""

IMAGES_THAT_SHOW = 2
"""Images of each side of a step below BEYOND_LAYOUT. Source: chosen: with FAR_SHARE two images of
one side lie far off once in 2500 times."""

BOOTS_THAT_DENY = 3
"""Boots of an image that contradicts another. Source: chosen: with OUTLIER_SHARE the median of
three lies off once in 370 times."""

MOST_FAILING = 30
"""Failing builds in one gap. Source: chosen: ten hours of a builder, and where four of five do not
build one in a thousand brackets has more; then the answer says what is untried."""

OUTLIER_SHARE = 0.03
"""Share of boots. Source: chosen: boots of the netbenches year series that say nothing of their
build; as that of the search."""

OUTLIER_SPAN = 0.5
"""Ln of the metric, full width. Source: chosen: a boot that went wrong gives from half of the level
to twice."""

RUN_NOISE = 0.008
"""Fraction of the level, standard deviation. Source: netbenches: boots of one image vary by .8 % in
the median."""

BUILD_NOISE = 0.016
"""Fraction of the level, standard deviation. Source: netbenches: neighbours of the seven year
series differ by .9, 1.3, 1.7, 1.8, 2.2, 3.0 and 4.7 %, of which boots explain little."""

COUNTED_NOISE = 0.0002
"""Fraction of the level, standard deviation. Source: boots of FreeBSD 13.1 in QEMU count alike to
nothing to .04 %; layout moves no instruction."""

PRIOR_WEIGHT = 2.0
"""Observations that a prior's standard deviation is worth. Source: chosen: three boots of a testbed
outweigh the archive."""

PRIOR_DF = 8.0
"""Degrees of freedom of a prior's variance. Source: chosen: how sure it is that an unknown testbed
resembles the known ones."""

CONTROL_SPREAD = 0.5
"""RUN_NOISE, between rounds of a control image. Source: chosen: the archive never measured one
image on many days."""

SATURATED_NOISE = 0.0005
"""Fraction of the level, standard deviation. Source: netbenches: line-rate series repeat to .00 to
.03 %."""

MODES_APART = 10.0
"""Spread within a mode. Source: netbenches: bimodal machines (580 581 738 773 780 kpps is one
revision)."""

LEAST_MODES = 0.005
"""Ln of the metric. Source: chosen: nearer modes are noise like any other."""

IMAGES_WITH_MODES = 0.2
"""Share of images with boots enough to show two modes. Source: chosen: in fewer it was some boots
that went wrong."""

CHANGES_PER_COMMIT = 1 / 200
"""Changes of level, of any size. Source: netbenches: one of 4 % in about 8000 commits of a year;
most are smaller: chosen."""

RECENT = 20
"""Positions among which a change may have come. Source: chosen: older ones were judged before."""

MEMORY = 60
"""Positions that tell the present level. Source: chosen: sixty boots give it to an eighth of one
boot's noise."""

SUSPICIOUS = 0.4
"""Bayes factor of a change at one place. Source: chosen: from it on a few boots more are well
spent."""

SHOWN_AGAIN = 0.999
"""Probability that fresh boots of both sides differ in the direction of the change. Source: chosen:
with .99 a lab that drifts by .5 % raised a false alarm in 1800 commits."""

RELEVANT_SHARE = 0.75
"""Min_effect. Source: chosen: a step of min_effect that is known to an eighth of itself reads as
less once in 44 times."""

SOUGHT_SHARE = 0.9
"""Min_effect. Source: chosen: nearly min_effect, as the request alone says so."""

CLAIM_SHARE = 0.5
"""What was claimed. Source: chosen: what is selected for being large is on average
overestimated."""

EFFECT_SCALES = (1.0, 5.0, 12.5)
"""Min_effect; standard deviations of sizes of changes. Source: netbenches: persistent changes of
the year series are 4 to 23 %, of releases to 80."""

USABLE_SCALE = 5.0
"""Min_effect. Source: chosen: 10 % by default, less than which half of the archive's changes
are."""

TOLERANCE_SHARE = 0.5
"""Min_effect. Source: chosen: a lab that is off by half of min_effect turns no verdict by
itself."""

MODE_SHARE = 0.25
"""Share of boots. Source: netbenches: bimodal machines draw the rarer mode in a fifth to a third of
the boots."""

DRIFT_WEIGHT = 0.1
"""Probability. Source: chosen: one search in ten runs while the lab's room warms up or cools
down."""

DRIFT_SD = 2.0
"""Run noises. Source: chosen: a lab that drifts by 1 % where boots scatter by .5 %."""

DRIFT_TIME_S = 4 * 3600.0
"""Seconds. Source: chosen: rooms warm up and cool down within hours."""

FURTHER_STEP = 0.02
"""Probability. Source: chosen: of ranges with one step few have another, wherever it is."""

CLUSTERED_STEP = 0.1
"""Probability. Source: netbenches: of the four steps of the iflib range two are neighbours; work on
one thing comes in several commits."""

NO_STEP = 0.5
"""Probability. Source: chosen: without a claim nothing is known."""

CLAIM_IS_TRUE = 0.85
"""Probability. Source: chosen: an alarm is confirmed by boots before it claims; the rest is false
or elsewhere."""

CLAIM_SPREAD = 0.16
"""In ln of the size. Source: chosen: an alarm measures an effect to about a sixth."""

BUILD_WIDER = 3.0
"""Times the stated one. Source: chosen: few images teach a standard deviation to within a factor of
three."""

WIDER_WEIGHT = 0.2
"""Probability. Source: chosen: of testbeds, those whose stated build noise is too small."""

PROOF_P_VALUE = 0.01
"""P of Student's t. Source: chosen: a pair of neighbours was picked among many because it differs,
so 5 % is too much."""

LEFT_OUT = 0.05
"""Probability. Source: chosen: that another step is left out matters less than a wrong one, and is
said."""

LEFT_IN_SLOPE = 0.3
"""Probability. Source: chosen: that a slope holds one commit of a relevant effect: its parts are
reported anyway."""

VERDICT_SURE = 0.9975
"""Probability of a comparison's sign where there is one look. Source: chosen: each sign may err in
half of .005, so that one comparison of nothing in two hundred is called changed."""

LAST_LOOK_SURE = 0.999
"""Probability of a comparison's sign at the last look of several. Source: chosen: at .9975, 1.4 %
of 500 simulated comparisons of nothing were called changed after 5.4 looks each; errors fall about
as 1 - LAST_LOOK_SURE does, so that .6 % are expected where 1 % may be."""

SURE_FROM = 16
"""Images of each side from which LAST_LOOK_SURE is enough; fewer must be surer. Source: chosen: as
many as tell 2 % where builds vary by 1.6 %; errors are spent in proportion to what is known (K. K.
G. Lan, D. L. DeMets, Biometrika 70, 1983)."""

FOUND_AT_FIRST = 0.5
"""Share of comparisons that the images asked for beforehand decide. Source: chosen: a comparison
that asks again takes fewer images than one that asks once."""

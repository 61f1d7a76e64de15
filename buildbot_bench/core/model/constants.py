"""The constants of the model; units and sources stand in `constant_sources`; it computes nothing.

What is learnt from a testbed's own history replaces them (`learn`). Code reads them as attributes
of this module, so that `make bench` can halve and double one and print how far the results move.
"""

from __future__ import annotations

FAR_SHARE = 0.02
TESTBED_FAR_WEIGHT = 30.0
FAR_SPAN = 0.2
FAR_SHARE_WEIGHT = 15.0
FAR_REACH = 0.06
FAR_ANYWHERE = 0.2
BEYOND_LAYOUT = 0.1
MOST_FAILING = 11
TESTABLE_BETWEEN = 0.3
OUTLIER_SHARE = 0.03
OUTLIER_SPAN = 0.5
RUN_NOISE = 0.008
BUILD_NOISE = 0.016
COUNTED_NOISE = 0.0002
PRIOR_WEIGHT = 2.0
PRIOR_DF = 8.0
CONTROL_SPREAD = 0.5
SATURATED_NOISE = 0.0005
MODES_APART = 10.0
LEAST_MODES = 0.005
IMAGES_WITH_MODES = 0.2
CHANGES_PER_COMMIT = 1 / 200
RECENT = 20
MEMORY = 60
SUSPICIOUS = 0.4
SHOWN_AGAIN = 0.999
RELEVANT_SHARE = 0.75
SOUGHT_SHARE = 0.9
CLAIM_SHARE = 0.5
EFFECT_SCALES = (1.0, 5.0, 12.5)
USABLE_SCALE = 5.0
TOLERANCE_SHARE = 0.5
MODE_SHARE = 0.25
DRIFT_WEIGHT = 0.1
DRIFT_SD = 2.0
DRIFT_TIME_S = 4 * 3600.0
FURTHER_STEP = 0.02
CLUSTERED_STEP = 0.1
NO_STEP = 0.5
CLAIM_IS_TRUE = 0.85
CLAIM_SPREAD = 0.16
BUILD_WIDER = 3.0
WIDER_WEIGHT = 0.2
PROOF_P_VALUE = 0.01
LEFT_OUT = 0.05
LEFT_IN_SLOPE = 0.3

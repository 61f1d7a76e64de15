"""What may stand in one comparison: each wrong name is named, with the next thing to try."""

import pytest

from buildbot_bench.core.compare.variants import Identity, check_identities, check_written
from buildbot_bench.core.errors import UsageError


def identity(name: str, **changed: str) -> Identity:
    usual = {"recipe": name, "tunables": "", "variant": name, "label": name}
    return Identity(**usual | changed)


@pytest.mark.parametrize(
    ("written", "labels", "complaint"),
    [
        (["r1"], {}, "a comparison takes 2 to 32 variants, 1 given; as in `bench-compare"),
        ([f"r{n}" for n in range(33)], {}, "takes 2 to 32 variants, 33 given"),
        (["r1", "r2", "r1"], {}, "r1 is there twice; name each variant once"),
        (["r1", "r2"], {"r9": "X"}, "'X' is for r9, which is not compared; label one of r1, r2"),
        (["r1", "r2"], {"r1": "X", "r2": "X"}, "r1 and r2 are both to be called 'X'; give one"),
        (["r1", "r2"], {"r1": ""}, "'' is no label for r1; a label is one line of 1 to 60"),
        (["r1", "r2"], {"r1": "x" * 61}, "is no label for r1"),
        (["r1", "r2"], {"r1": "a\nb"}, "is no label for r1"),
    ],
)
def test_what_is_wrong_is_named(written, labels, complaint):
    with pytest.raises(UsageError) as caught:
        check_written(written, labels)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_comparison_has_already_counts():
    check_written([], {}, known=["r1", "r2"])
    check_written(["r3"], {"r3": "X"}, known=["r1", "r2"])
    with pytest.raises(UsageError, match="r2 is there twice"):
        check_written(["r2"], {}, known=["r1", "r2"])
    with pytest.raises(UsageError, match="33 given"):
        check_written(["r99"], {}, known=[f"r{n}" for n in range(32)])
    with pytest.raises(UsageError, match="label one of the new variants"):
        check_written([], {"r1": "X"}, known=["r1", "r2"])


def test_two_names_of_one_variant_are_seen():
    same = [identity("r1"), identity("n1", recipe="r1")]
    with pytest.raises(UsageError, match="r1 and n1 are the same variant; name each once"):
        check_identities(same)
    check_identities([identity("r1"), identity("r1+sysctl:a.b=1", recipe="r1", tunables="a.b=1")])


def test_a_label_that_is_the_name_of_another_is_refused():
    with pytest.raises(UsageError, match="r1 and r2 are both called 'r1'"):
        check_identities([identity("r1"), identity("r2", label="r1")])

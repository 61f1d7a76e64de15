"""How a variant is written, and that it is one image however it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import CommitCount, Name, SvnNumber
from buildbot_bench.core.variant import (
    KernelOption,
    MergedCommit,
    PatchFile,
    Picked,
    Recipe,
    Review,
    Tunable,
    VariantSpec,
    is_directory,
    parse_recipe,
    parse_variant,
    recipe,
    tunables_text,
    write_variant,
)

SHA = "f1e5c15" + "0" * 33
DIGEST, OTHER = "a" * 64, "b" * 64

bases = st.one_of(
    st.builds(SvnNumber, number=st.integers(0, 999_999_999)),
    st.builds(CommitCount, number=st.integers(0, 999_999_999)),
    st.builds(Name, text=st.from_regex(r"(release/|v)[0-9a-f]{1,40}", fullmatch=True)),
)
options = st.builds(
    KernelOption, name=st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True), enabled=st.booleans()
)
tunables = st.builds(
    Tunable,
    name=st.from_regex(r"[a-z][a-z0-9_]{0,9}(\.[a-z0-9_%-]{1,9}){1,4}", fullmatch=True),
    value=st.from_regex(r"[A-Za-z0-9_.,:/-]{1,30}", fullmatch=True),
)
patches = st.one_of(
    st.builds(Review, number=st.integers(1, 9_999_999)),
    st.builds(Picked, revision=st.from_regex(r"[a-f0-9]{7,40}|r[0-9]{6}", fullmatch=True)),
    st.builds(PatchFile, name=st.from_regex(r"[a-z0-9_./~-]{0,20}[a-z]", fullmatch=True)),
)
changes = st.lists(
    st.one_of(options, tunables, patches), unique_by=lambda c: getattr(c, "name", c), max_size=5
)
variants = st.builds(VariantSpec, base=bases, changes=changes.map(tuple))


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("r311848", ()),
        ("r299288+D8526", (Review(number=8526),)),
        ("r317849+VIMAGE", (KernelOption(name="VIMAGE"),)),
        ("r317849+nooptions:INVARIANTS", (KernelOption(name="INVARIANTS", enabled=False),)),
        ("r299288+file:my.patch", (PatchFile(name="my.patch"),)),
        ("r299288+commit:c255761", (Picked(revision="c255761"),)),
        (
            "r311848+sysctl:kern.random.harvest.mask=351",
            (Tunable(name="kern.random.harvest.mask", value="351"),),
        ),
        ("main+VIMAGE+D8526", (KernelOption(name="VIMAGE"), Review(number=8526))),
    ],
)
def test_a_variant_is_a_revision_and_its_changes(text, changes):
    assert parse_variant(text).changes == changes
    assert write_variant(parse_variant(text)) == text


@given(variants)
def test_what_is_written_is_read_again(spec):
    assert parse_variant(write_variant(spec)) == spec


@given(st.text(max_size=60))
def test_any_other_text_is_refused_in_one_line(text):
    try:
        spec = parse_variant(text)
    except UsageError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert parse_variant(write_variant(spec)) == spec
    assert "\n" not in refusal


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("r1+", "'' is no change"),
        ("+VIMAGE", "'' is not a revision"),
        ("r1+vimage", "'vimage' is no change of a kernel; a change is D8526"),
        ("r1+nooptions:invariants", "in capitals"),
        ("r1+file:", "rename the file"),
        ("r1+file:..", "rename the file"),
        ("r1+sysctl:PATH=/tmp", "is no tunable"),
        ("r1+sysctl:a.b", "NAME=VALUE"),
        ("r1+sysctl:a.b=$(reboot)", "is no tunable"),
        ("r1+VIMAGE+nooptions:VIMAGE", "says 2 things of the option VIMAGE"),
        ("r1+D5+D5", "says 2 things of the patch D5"),
        ("r1+sysctl:a.b=1+sysctl:a.b=2", "says 2 things of the tunable a.b"),
        ("+".join(["r1", *(f"O{n}" for n in range(33))]), "has 33 changes, and 32 are the most"),
        (
            "+".join(["r1", *(f"sysctl:a{n}.b={'v' * 100}" for n in range(10))]),
            "longer than 1000 characters together; set fewer at once",
        ),
    ],
)
def test_bad_ones_are_refused_with_what_to_write_instead(text, complaint):
    with pytest.raises(UsageError) as caught:
        parse_variant(text)
    assert complaint in str(caught.value)


def of(text: str, *digests: str) -> Recipe:
    """The recipe of a variant whose patches have these digests, in the order written."""
    written = parse_variant(text).changes
    patched = [change for change in written if isinstance(change, Review | PatchFile)]
    return recipe(SHA, written, dict(zip(patched, digests, strict=True)))


def test_a_plain_revision_is_its_hash():
    assert of("r1").text == SHA


def test_options_in_any_order_are_one_image():
    assert of("r1+VIMAGE+nooptions:INVARIANTS").text == of("r1+nooptions:INVARIANTS+VIMAGE").text


def test_a_patch_is_known_by_its_bytes_wherever_it_came_from():
    assert of("r1+D5", DIGEST) == of("r1+file:my.patch", DIGEST)


def test_patches_keep_their_order_for_one_may_stand_on_another():
    assert of("r1+D5+D6", DIGEST, OTHER) != of("r1+D6+D5", OTHER, DIGEST)


def test_a_tunable_is_no_other_image():
    assert of("r1+sysctl:b.c=2+sysctl:a.b=1").text == SHA
    assert tunables_text(parse_variant("r1+sysctl:b.c=2+sysctl:a.b=1").changes) == "a.b=1 b.c=2"


@given(
    st.lists(
        st.builds(
            MergedCommit,
            sha=st.sampled_from(["1" * 40, "2" * 40]),
            under=st.text(max_size=40).filter(lambda name: not name or is_directory(name)),
        )
    ),
    st.lists(st.sampled_from([DIGEST, OTHER, "c" * 64]), unique=True),
    st.sets(options),
)
def test_the_canonical_text_is_read_again(merged, digests, some):
    whole = Recipe(
        sha=SHA,
        merged=tuple(merged),
        patches=tuple(digests),
        options=tuple(sorted(some, key=lambda o: o.name)),
    )
    assert parse_recipe(whole.text) == whole


def test_foreign_text_is_no_recipe():
    for foreign in (
        "patch:../../etc/passwd",
        "merge:--upload-pack=sh",
        "merge:main",
        f"merge:{SHA}:",
        f"merge:{SHA}:{'a' * 101}",
        f"merge:{SHA}:a b",
    ):
        with pytest.raises(UsageError):
            parse_recipe(f"{SHA}+{foreign}")


def test_a_stored_recipe_of_a_merge_is_read_as_before():
    assert parse_recipe(f"{SHA}+merge:{'1' * 40}").merged == (MergedCommit(sha="1" * 40),)


@pytest.mark.parametrize("name", ["", "a" * 101, "\udc80", "x" * 40 + "\n" * 30])
def test_a_directory_that_no_recipe_can_hold_is_none(name):
    assert not is_directory(name)


def test_options_are_lines_of_a_kernel_configuration():
    assert of("r1+VIMAGE+nooptions:INVARIANTS").option_lines == (
        "nooptions INVARIANTS\noptions VIMAGE"
    )


@pytest.mark.parametrize("text", ["D12345678", "D0", "D00012", "D" + "9" * 60])
def test_what_looks_like_a_review_is_no_option_unless_it_is_called_one(text):
    with pytest.raises(UsageError, match=r"no review.*\+options:D"):
        parse_variant(f"r1+{text}")
    spec = parse_variant(f"r1+options:{text}")
    assert write_variant(spec) == f"r1+options:{text}"

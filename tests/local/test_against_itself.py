"""bench-compare --local --aa: one revision, in one image and in several."""

import pytest

from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.local.against_itself import itself_text, measure_itself
from buildbot_bench.local.revisions import Revisions
from tests.fakes.local_bench import ReadMeasurer, SilentWatcher


@pytest.fixture
def itself(ask, bench_for, repository):
    def measure(build: str = "", *, runs: int = 5, images: int = 4, failures=()):
        search = ask(build)
        bench = bench_for(search, ReadMeasurer(noise=0.004, failures=failures))
        revision = Revisions(git=repository.git).one("n3")
        return measure_itself(revision, bench, SilentWatcher(), runs=runs, images=images)

    return measure


def test_without_a_build_the_same_files_run_as_often_as_two_variants(itself):
    seen = itself()
    assert [len(own) for own in seen.values.values()] == [10]
    text = itself_text(seen)
    assert "against itself" in text
    assert "from image to image  nothing: there is no --build" in text
    assert "for both sides" in text


def test_images_that_differ_run_in_turns(itself):
    seen = itself('echo "$BENCH_IMAGE" >image')
    assert [len(own) for own in seen.values.values()] == [5, 5, 5, 5]
    assert "seen: " in itself_text(seen)
    assert seen.found.build


def test_a_build_that_gives_the_same_again_is_found_out(itself):
    seen = itself("true")
    assert "the build does not heed BENCH_IMAGE" in itself_text(seen)
    assert "cannot be shown: with one image it may be luck with layout" in itself_text(seen)


def test_what_does_not_build_or_run_is_said(itself):
    with pytest.raises(UntestableRevision, match="cannot be built"):
        itself("exit 1")
    broken = UntestableRevision("it crashes")
    with pytest.raises(UntestableRevision, match="cannot be measured: it crashes"):
        itself(failures=(broken,))


def test_one_run_of_each_is_two_as_one_shows_no_noise(itself):
    seen = itself('echo "$BENCH_IMAGE" >image', runs=1)
    assert [len(own) for own in seen.values.values()] == [2, 2, 2, 2]


def test_a_value_of_nothing_is_refused(itself):
    with pytest.raises(UsageError, match="a run gave 0"):
        itself("echo 0 >level")

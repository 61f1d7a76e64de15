"""The commit of a merged branch on a builder: merged with what came before, or told not to be."""

from buildbot.process.results import EXCEPTION, FAILURE, SKIPPED, SUCCESS

from buildbot_bench.core.variant import MergedCommit, Recipe
from buildbot_bench.plugin.steps.build import Merge
from buildbot_bench.programs import identity
from tests.fakes.stepcase import ExpectShell, StepCase

ONE, TWO = "1" * 40, "2" * 40
THERE = ("cat-file", "-e")
FETCH = ("fetch", "--quiet", "--force", "origin")


class TestMerge(StepCase):
    async def merged(
        self, outcome: int, *commands: tuple[tuple[str, ...], int], merged=(ONE, TWO), under=""
    ):
        """The image of r4, merged with others, after these gits and how each ended."""
        others = tuple(MergedCommit(sha=sha, under=under) for sha in merged)
        recipe = Recipe(sha=self.past.shas[4], merged=others)
        image = await self.farm.store.ensure_image(
            sha=recipe.sha, variant=recipe.text, ordinal=0, position=4, label="side", now=1.0
        )
        self.prepare(Merge(), image=image.id)
        expected = [
            ExpectShell(
                workdir="build",
                command=["git", "-c", "core.hooksPath=/dev/null", *words],
                env={"LC_ALL": "C"} | identity("bench", 1_000_000_000),
                log_environ=False,
            ).exit(status)
            for words, status in commands
        ]
        self.expect_commands(*expected)
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.image(image.id)

    async def test_a_plain_image_is_merged_with_nothing(self):
        assert (await self.merged(SKIPPED, merged=())).state == "wanted"

    async def test_commits_are_merged_in_their_order_and_fetched_where_the_builder_lacks_one(self):
        there = ((*THERE, f"{ONE}^{{commit}}"), 0), ((*THERE, f"{TWO}^{{commit}}"), 1)
        merges = [(_merge(sha), 0) for sha in (ONE, TWO)]
        assert (await self.merged(SUCCESS, *there, (FETCH, 0), *merges)).state == "wanted"

    async def test_a_vendors_commit_is_merged_into_its_directory(self):
        there = ((*THERE, f"{ONE}^{{commit}}"), 0)
        *words, sha = _merge(ONE)
        merge = (*words, "-Xsubtree=contrib/c++", sha)
        commands = there, (merge, 0)
        await self.merged(SUCCESS, *commands, merged=(ONE,), under="contrib/c++")

    async def test_one_that_conflicts_makes_the_image_untestable(self):
        there = ((*THERE, f"{ONE}^{{commit}}"), 0)
        image = await self.merged(FAILURE, there, (_merge(ONE), 1), there, merged=(ONE,))
        assert (image.state, image.reason) == (
            "untestable",
            "111111111111 does not merge on this builder",
        )

    async def test_one_that_the_builder_cannot_get_says_nothing_of_the_image(self):
        lacks = ((*THERE, f"{ONE}^{{commit}}"), 1)
        commands = lacks, (FETCH, 128), (_merge(ONE), 1), lacks
        assert (await self.merged(EXCEPTION, *commands, merged=(ONE,))).state == "wanted"


def _merge(sha: str) -> tuple[str, ...]:
    return ("merge", "--quiet", "--no-ff", "--no-verify", "-m", "merged", sha)

"""Where in bench.yml a mistake is shown, and that all of a file's are shown at once."""

from collections.abc import Callable
from pathlib import Path

from tests.workflow.example import SMALLEST, Complaints, Loader, smallest_with


def test_what_github_users_write_is_answered_in_their_terms_all_at_once(
    located: Complaints, golden: Callable[[str, str], None], data: Path
) -> None:
    text = (data / "workflow" / "from-github.yml").read_text(encoding="utf-8")
    golden("workflow/from-github.txt", "\n".join(located(text)) + "\n")


def test_the_column_is_that_of_the_value_beside_its_key(located: Complaints) -> None:
    (line,) = located(SMALLEST + "regression: {error: 1%, confidence: 97}\n")
    assert line.startswith("bench.yml:15:37: regression.confidence: should be one of")


def test_the_column_of_an_unknown_key_is_its_own(located: Complaints) -> None:
    (line,) = located(SMALLEST.replace("matrix", "matrx"))
    assert line.startswith("bench.yml:14:16: jobs.bench.strategy.matrx: unknown key")


def test_an_item_of_a_list_has_a_place_of_its_own(located: Complaints) -> None:
    (line,) = located(smallest_with(runs_on="runs-on: [builder, 'a b']"))
    assert line.startswith("bench.yml:5:24: jobs.kernel.runs-on[1]: should be at most")


def test_an_expression_has_the_place_in_its_script(located: Complaints) -> None:
    text = SMALLEST.replace(
        "run: make\n", "run: |\n          make\n          echo ${{ github.sha }}\n"
    )
    assert located(text) == [
        (
            "bench.yml:10:16: jobs.kernel.steps[1].run: expressions such as '${{ github.sha }}' are"
            " not computed here: a 'run' step finds it in $BENCH_SHA"
        )
    ]


def test_what_does_not_fit_is_told_beside_wrong_keys(complaints: Complaints) -> None:
    text = smallest_with(needs="needs: kernl", strategy="strategy: {matrx: {workload: x}}")
    assert complaints("namex: y\n" + text) == [
        "bench.yml:1: namex: unknown key; did you mean 'name'?",
        "bench.yml:13: jobs.bench.needs: there is no job 'kernl'; did you mean 'kernel'?",
        "bench.yml:15: jobs.bench.strategy.matrx: unknown key; did you mean 'matrix'?",
    ]


def test_what_a_wrong_job_owes_others_is_not_guessed(complaints: Complaints) -> None:
    """The step that keeps the artefact may be the one that cannot be read."""
    text = SMALLEST.replace("      - uses: upload-artefact\n        with: {path: kernel}\n", "")
    (line,) = complaints(text.replace("- run: make", "- rum: make"))
    assert line.startswith("bench.yml:8: jobs.kernel.steps[1].rum: unknown key; did you mean 'run'")


def test_controls_are_not_blamed_for_jobs_with_mistakes(complaints: Complaints) -> None:
    text = smallest_with(strategy="strategy: {matrix: {workloads: x}}")
    found = complaints(text + "testbeds: {embedded: {control: {revision: v1, workload: x}}}\n")
    assert [line.split(": ")[1] for line in found] == ["jobs.bench.strategy.matrix.workloads"]


def test_githubs_actions_are_taken_for_ours(read: Loader) -> None:
    theirs = SMALLEST.replace("uses: checkout", "uses: actions/checkout@v4")
    theirs = theirs.replace("uses: upload-artefact", "uses: actions/upload-artifact@v4")
    assert read(theirs).build_job == read(SMALLEST).build_job
    assert read(theirs).build_digest_of("") == read(SMALLEST).build_digest_of("")


def test_a_shells_own_dollars_are_no_expressions(read: Loader) -> None:
    script = "run: echo ${BENCH_SHA} $(date) $((1 + 2)) ${#x} $$"
    assert read(smallest_with(**{"- run": f"- {script}"})).build_job.steps[1]


def test_thousands_of_expressions_are_not_all_told(located: Complaints) -> None:
    many = " ".join(["${{ github.sha }}"] * 5000)
    assert len(located(smallest_with(**{"- run": f"- run: {many}"}))) == 100

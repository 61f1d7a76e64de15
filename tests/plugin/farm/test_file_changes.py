"""What commits do to which files is asked of git once, and is bounded."""

from buildbot_bench.core.read_files import FileChange
from buildbot_bench.plugin.farm.farm import MOST_CHANGES
from tests.gitrepo import Commit, make_repository


def farm_of(make_farm, tmp_path, commits):
    source = tmp_path / "src"
    make_repository(source, commits)
    farm = make_farm(repository=source)
    farm.history.fetch()
    return farm, farm.history.since("main", farm.history.resolve("n1"))


async def test_a_commit_of_very_many_files_may_change_anything(make_farm, tmp_path):
    many = [f"docs/{n}.md" for n in range(MOST_CHANGES + 1)]
    commits = [
        Commit(files=dict.fromkeys(many, "1")),
        Commit(files=dict.fromkeys(many, "2")),
        Commit(files=dict.fromkeys(many[1:], "3")),
    ]
    farm, revisions = farm_of(make_farm, tmp_path, commits)
    large, small = farm.file_changes(revisions)
    assert large == (FileChange(path=many[0], edited=False),)
    assert len(small) == MOST_CHANGES
    assert all(change.edited for change in small)


async def test_git_is_asked_once_for_each_commit(make_farm, tmp_path):
    commits = [Commit(files={"a.c": f"{n}"}) for n in range(5)]
    farm, revisions = farm_of(make_farm, tmp_path, commits)
    first = farm.file_changes(revisions[:2])
    asked = []
    ask = farm.history.file_changes
    farm.history.file_changes = lambda these: asked.extend(these) or ask(these)
    assert farm.file_changes(revisions)[:2] == first
    assert asked == list(revisions[2:])
    assert farm.file_changes(revisions[:0]) == []

"""What others may read before, and after."""

from buildbot_bench.plugin.private_files import make_private, open_to_others


def test_files_and_directories_become_their_owners_alone(tmp_path):
    root = tmp_path / "master"
    (root / "workers" / "lab").mkdir(parents=True, mode=0o755)
    for path, mode in ((root / "state.sqlite", 0o644), (root / "workers" / "run", 0o775)):
        path.write_text("secret")
        path.chmod(mode)
    for directory in (root, root / "workers", root / "workers" / "lab"):
        directory.chmod(0o755)
    assert len(list(open_to_others(root))) == 4

    make_private(root)

    assert list(open_to_others(root)) == []
    assert root.stat().st_mode & 0o777 == 0o700
    assert (root / "state.sqlite").stat().st_mode & 0o777 == 0o600
    assert (root / "workers" / "run").stat().st_mode & 0o777 == 0o700


def test_what_a_link_names_outside_stays_as_it_is(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kernel").write_text("")
    (outside / "kernel").chmod(0o644)
    outside.chmod(0o755)
    root = tmp_path / "master"
    root.mkdir()
    (root / "artefacts").symlink_to(outside)
    (root / "kernel").symlink_to(outside / "kernel")
    (root / "gone").symlink_to(tmp_path / "nothing")

    make_private(root)

    assert (outside / "kernel").stat().st_mode & 0o777 == 0o644
    assert outside.stat().st_mode & 0o777 == 0o755

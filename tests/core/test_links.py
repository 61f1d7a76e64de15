"""Where commits, reviews and files are read: addresses by a URL of git, and hostile names."""

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.links import NO_LINKS, Links, check_template, links_of

SHA = "a1b2c3d4e5" + "0" * 30
PLACE = ("sys/net/iflib.c", SHA, 4321)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.freebsd.org/src.git",
        "https://cgit.freebsd.org/src",
        "ssh://anonymous@git.freebsd.org/src.git",
    ],
)
def test_freebsds_own_repository_is_read_at_cgit_and_phabricator(url: str) -> None:
    links = links_of(url)
    assert links.commit(SHA) == f"https://cgit.freebsd.org/src/commit/?id={SHA}"
    assert links.diff(SHA) == f"https://cgit.freebsd.org/src/diff/?id={SHA}"
    assert links.review("D8526") == "https://reviews.freebsd.org/D8526"
    assert links.file(*PLACE) == (
        f"https://cgit.freebsd.org/src/tree/sys/net/iflib.c?id={SHA}#n4321"
    )


@pytest.mark.parametrize(
    ("url", "web"),
    [
        ("https://github.com/acme/router.git", "https://github.com/acme/router"),
        ("git@github.com:acme/router.git", "https://github.com/acme/router"),
        ("ssh://git@github.com:22/acme/router", "https://github.com/acme/router"),
        ("git://github.com/acme/router.git/", "https://github.com/acme/router"),
    ],
)
def test_github(url: str, web: str) -> None:
    links = links_of(url)
    assert links.commit(SHA) == f"{web}/commit/{SHA}"
    assert links.review("#12") == f"{web}/pull/12"
    assert links.review("D8526") == ""
    assert links.file(*PLACE) == f"{web}/blob/{SHA}/sys/net/iflib.c#L4321"


def test_a_mirror_of_freebsd_at_github_is_reviewed_at_phabricator() -> None:
    links = links_of("https://github.com/freebsd/freebsd-src.git")
    assert links.review("D8526") == "https://reviews.freebsd.org/D8526"
    assert links.reviews_of("iflib: faster (#12)", (8526,)) == ("D8526",)


def test_gitlab_of_a_company_on_a_port() -> None:
    links = links_of("https://gitlab.example.org:8443/group/sub/router.git")
    web = "https://gitlab.example.org:8443/group/sub/router"
    assert links.commit(SHA) == f"{web}/-/commit/{SHA}"
    assert links.review("!45") == f"{web}/-/merge_requests/45"
    assert links.file(*PLACE) == f"{web}/-/blob/{SHA}/sys/net/iflib.c#L4321"


def test_a_repository_that_phabricator_hosts() -> None:
    links = links_of("https://reviews.example.org/diffusion/SRC/source.git")
    assert links.commit(SHA) == f"https://reviews.example.org/rSRC{SHA}"
    assert links.review("D7") == "https://reviews.example.org/D7"
    assert links.file(*PLACE) == ""


@pytest.mark.parametrize(
    "url",
    [
        "/home/ann/src",
        "file:///home/ann/src",
        "../src",
        "https://localhost/src.git",
        "https://git.example.org/src.git",
        'https://github.com/a"onclick=/b',
        "https://github.com/a/{commit}",
        "javascript://github.com/a/b",
        "https://github.com:99999/a/b",
        "https://[bad",
    ],
)
def test_a_path_and_a_host_that_nobody_knows_have_no_addresses(url: str) -> None:
    links = links_of(url)
    assert links == NO_LINKS
    assert not links.commit(SHA) + links.review("D1") + links.file(*PLACE) + links.diff(SHA)


def test_a_password_in_the_repositorys_url_reaches_no_reader() -> None:
    assert "secret" not in str(links_of("https://ann:secret@github.com/acme/router.git"))


def test_what_bench_yml_states_comes_before_what_the_url_tells() -> None:
    stated = Links(commit_url="https://git.example.org/c/{commit}")
    links = links_of("https://github.com/acme/router", stated=stated)
    assert links.commit(SHA) == f"https://git.example.org/c/{SHA}"
    assert links.file(*PLACE).startswith("https://github.com/acme/router/blob/")
    reviewed = links_of("https://github.com/acme/router", reviews="https://phab.example.org/")
    assert reviewed.review("D7") == "https://phab.example.org/D7"


def test_a_pull_request_is_read_from_the_end_of_the_subject() -> None:
    links = links_of("https://github.com/acme/router")
    assert links.reviews_of("pf: faster (#12)", (8526,)) == ("#12",)
    assert links.reviews_of("pf: (#12) faster") == ()


@pytest.mark.parametrize(
    "path", ["../../../evil", "a/../b", "./a", "/etc/passwd", "a//b", "", "a/" + "b" * 5000]
)
def test_a_path_that_leads_elsewhere_has_no_address(path: str) -> None:
    assert links_of("https://github.com/acme/router").file(path, SHA, 1) == ""


def test_a_hostile_path_is_quoted() -> None:
    path = 'sys/"><script>\u202e {commit}?x#y%2e\ud800'
    address = links_of("https://github.com/acme/router").file(path, SHA, 3)
    assert address.startswith(f"https://github.com/acme/router/blob/{SHA}/sys/%22%3E%3Cscript%3E")
    assert address.endswith("%7Bcommit%7D%3Fx%23y%252e%3F#L3")
    assert address.isascii()


@pytest.mark.parametrize("name", ["", "HEAD", "../x", "a1b2'", "javascript:alert(1)", "g" * 40])
def test_what_is_no_hash_has_no_address(name: str) -> None:
    links = links_of("https://github.com/acme/router")
    assert links.commit(name) == links.diff(name) == links.file("a.c", name, 1) == ""


@pytest.mark.parametrize("name", ["", "D", "D1/../..", "x", "12?a=b", "D" + "1" * 10, "\u0661"])
def test_what_is_no_review_has_no_address(name: str) -> None:
    for url in ("https://github.com/acme/router", "https://cgit.freebsd.org/src"):
        assert links_of(url).review(name) == ""


def test_a_file_without_a_line() -> None:
    links = links_of("https://github.com/acme/router")
    assert links.file("a.c", SHA) == f"https://github.com/acme/router/blob/{SHA}/a.c"


@pytest.mark.parametrize(
    ("name", "template", "complaint"),
    [
        ("commit_url", "javascript:alert('{commit}')", "http:// or https://"),
        ("commit_url", "ftp://example.org/{commit}", "http:// or https://"),
        ("commit_url", 'https://example.org/{commit}" onclick=', "http:// or https://"),
        ("commit_url", "https://ann:secret@example.org/{commit}", "http:// or https://"),
        ("commit_url", "https://example.org/" + "x" * 500 + "{commit}", "http:// or https://"),
        ("commit_url", "https://example.org/{commit", "http:// or https://"),
        ("commit_url", "https://example.org/", "{commit}"),
        ("commit_url", "https://{commit}.example.org/", "without {"),
        ("commit_url", "https://example.org/{commit}/{path}", "{path}"),
        ("review_url", "https://example.org/{commit}", "{review}"),
        ("file_url", "https://example.org/{path}/{review}", "{review}"),
    ],
)
def test_a_template_that_is_refused(name: str, template: str, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_template(template, name)
    assert complaint in str(refused.value)


def test_a_template_of_another_project() -> None:
    template = "https://git.example.org/tree/{path}?h={commit}#n{line}"
    assert check_template(template, "file_url") == template
    links = Links(file_url=template)
    assert links.file("a b.c", SHA, 3) == f"https://git.example.org/tree/a%20b.c?h={SHA}#n3"

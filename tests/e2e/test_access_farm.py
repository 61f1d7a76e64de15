"""Who is let in, on one real farm: by GitHub, GitLab, a reverse proxy; and workers by TLS alone.

The sites speak OAuth 2 over loopback, the proxy is nginx, the browser chromium.
"""

import socket
import ssl
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from buildbot_bench.demo.certificates import make_certificates
from buildbot_bench.demo.farm import USER
from buildbot_bench.plugin.operations.hangs import read_ports
from tests.asking import ASKED
from tests.chromium import Page
from tests.contracts.subject import post
from tests.e2e.browsing import show
from tests.e2e.guarded_farm import NGINX, GuardedFarm, example, reverse_proxy
from tests.e2e.replay_farm import Shape
from tests.fakes.oauth_sites import OAuthSites, Person, oauth_sites
from tests.running import ran

pytestmark = pytest.mark.e2e

TESTBED = "/api/v2/bench/testbeds/replay"
SEARCHES, COMPARISONS = "/api/v2/bench/searches", "/api/v2/bench/comparisons"
ANN = Person(login="ann", name="Ann")
CAROL = Person(login="carol", name="Carol", groups=("freebsd",))
MALLORY = "</script><script>window.harmed = 1</script><img src=x onerror=window.harmed=1>"
TLS_ALERT = b"\x15"  # RFC 8446, section 5.1
OF_A_PAGE = {
    "content-security-policy": "script-src 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


@pytest.fixture(scope="module")
def sites() -> Iterator[OAuthSites]:
    with oauth_sites(ANN) as sites:
        yield sites


@pytest.fixture(scope="module")
def farm(farms) -> GuardedFarm:
    return farms(Shape(tip="r311849", commits=False), kind=GuardedFarm)


def roles(client: httpx.Client) -> set[str]:
    """What somebody may do, as the farm answers it."""
    asked = {
        "bench": (TESTBED, "release", {}),
        "try": (COMPARISONS, "start", {"variants": ["r311848", "r1"]}),
    }
    answers = {role: post(client, *call).status_code for role, call in asked.items()}
    assert set(answers.values()) <= {200, 400, 403}, answers
    return {role for role, status in answers.items() if status != 403}


def user_of(client: httpx.Client) -> dict:
    return client.get("/config").json()["user"]


def test_workers_connect_by_tls_alone_and_only_to_their_own_master(farm: GuardedFarm) -> None:
    farm.wait(lambda: connected(farm) == {"builder", "lab"}, "both workers")
    builder, trust = farm.local.workers["builder"], farm.directory / "certificates" / "trust"
    other = farm.directory / "other"
    make_certificates(other, ["localhost", "127.0.0.1"])

    builder.stop()
    farm.wait(lambda: connected(farm) == {"lab"}, "the end of the builder's connection")
    builder.log.write_text("")
    builder.env["BENCH_TRUST"] = str(other / "trust")
    builder.start()
    farm.wait(partial(tried_again, builder.log), "the builder's further attempts")
    assert connected(farm) == {"lab"}
    handshake(farm, trust)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(farm, other / "trust")
    assert said_plainly(farm, b"GET / HTTP/1.0\r\n\r\n")[:1] in {b"", TLS_ALERT}

    builder.stop()
    builder.env["BENCH_TRUST"] = str(farm.directory / "nothing")
    builder.env["BENCH_MASTER"] = "192.0.2.1"  # of another machine
    builder.log.write_text("")
    builder.start()
    farm.wait(partial(says, builder.log, "BENCH_UNENCRYPTED=yes"), "the builder's refusal")

    builder.stop()
    builder.env["BENCH_MASTER"] = f"localhost:{farm.local.plan.pb_port}"
    builder.env["BENCH_TRUST"] = str(trust)
    builder.start()
    farm.wait(lambda: connected(farm) == {"builder", "lab"}, "the builder, by its name")


def says(log: Path, words: str) -> bool:
    return words in log.read_text()


def tried_again(log: Path) -> bool:
    return log.read_text().count("Scheduling retry") > 1


def said_plainly(farm: GuardedFarm, words: bytes) -> bytes:
    """What the port of the workers answers to somebody who does not speak TLS."""
    with socket.create_connection(("127.0.0.1", farm.local.plan.pb_port), timeout=60) as plain:
        plain.sendall(words)
        return plain.recv(100)


def handshake(farm: GuardedFarm, trust: Path) -> None:
    context = ssl.create_default_context(cafile=str(trust / "authority.pem"))
    address = ("127.0.0.1", farm.local.plan.pb_port)
    with (
        socket.create_connection(address, timeout=60) as plain,
        context.wrap_socket(plain, server_hostname="localhost"),
    ):
        pass


def connected(farm: GuardedFarm) -> set[str]:
    workers = httpx.get(f"{farm.url}api/v2/workers", **ASKED).json()["workers"]
    ours = [worker for worker in workers if not worker["name"].startswith("__")]  # the janitor
    return {worker["name"] for worker in ours if worker["connected_to"]}


def test_every_answer_says_what_a_browser_may_do_with_it(farm: GuardedFarm) -> None:
    with farm.browser() as client:
        for path in (
            "/",
            "/api/v2/builders",
            "/api/v2/none",
            "/plugins/bench/badge.svg",
            "/plugins/bench/glossary.html",
            "/plugins/bench/flamegraph/1.svg",
            "/plugins/bench/ui.js",
            "/plugins/none",
            "/assets/none",
            "/auth/login",
            "/config",
            "/none",
        ):
            headers = client.get(path).headers
            for name, value in OF_A_PAGE.items():
                if name == "content-security-policy" and "flamegraph" in path:
                    value = "script-src 'none'"  # noqa: PLW2901
                assert value in headers[name], (path, name)
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "script-src 'unsafe" not in headers["content-security-policy"]


def github(sites: OAuthSites) -> str:
    """What docs/how-to/access.md shows, with a server of our own in place of github.com."""
    block = example("python", "GitHubAuth")
    return block.replace(
        'Secret("github.oauth")', f'Secret("github.oauth"), serverURL="{sites.url}"'
    )


def test_who_logs_in_at_github_has_the_roles_of_the_name_and_the_groups(
    farm: GuardedFarm, sites: OAuthSites
) -> None:
    farm.reconfigure(github(sites), "GitHub")
    for person, may in (
        (ANN, {"bench", "try"}),
        (CAROL, {"try"}),
        (Person(login="dave", groups=("openbsd",)), set()),
        # The farm's own user of that name has all roles.
        (Person(login=USER), set()),
    ):
        sites.person = person
        with farm.browser() as client:
            client.get("/auth/login")
            assert user_of(client)["username"] == f"{person.login}@github"
            assert roles(client) == may, person
            client.get("/auth/logout")
            assert roles(client) == set()
    with farm.browser() as client:
        assert client.get("/auth/login?code=guessed").status_code >= 400
        assert sites.refused == ["redirect_uri"]  # a code that was given out has one
        assert roles(client) == set()
        client.get("/auth/login", auth=(USER, farm.local.plan.password))
        assert (user_of(client)["username"], roles(client)) == (USER, {"bench", "try"})
    assert farm.bisect("r311848", "r311849", "--dry-run").returncode == 0


@pytest.mark.browser
def test_pages_work_and_no_script_runs_that_is_not_the_masters(
    farm: GuardedFarm, sites: OAuthSites, page: Page
) -> None:
    farm.reconfigure(github(sites), "GitHub")
    sites.person = ANN
    page.open(f"{farm.url}auth/login")
    page.wait("document.querySelector('#root').children.length")
    assert page.run("fetch('config').then(c => c.json()).then(c => c.user.full_name)") == "Ann"
    for path in ("history", "reports", "lab"):
        show(page, farm, path)
    for path, words in (
        ("builders", "kernel"),
        ("workers", "lab"),
        ("about", "Twisted"),
        ("waterfall", "Waterfall"),
        ("console", "Console"),
    ):
        page.open(f"{farm.url}#/{path}")
        page.wait(f"document.body.innerText.includes('{words}')")
    assert page.complaints == []

    page.run(
        "(() => { const script = document.createElement('script');"
        " script.textContent = 'window.harmed = 1'; document.body.append(script);"
        " document.body.insertAdjacentHTML("
        "'beforeend', '<img src=x onerror=\"window.harmed = 1\">'); })()"
    )
    farm.wait(lambda: _refusals(page) >= 2, "the browser's refusals")
    assert page.run("window.harmed") is None

    sites.person = Person(login="mallory", name=MALLORY)
    before = _refusals(page)
    page.open(f"{farm.url}auth/login")
    farm.wait(lambda: _refusals(page) > before, "the refusal of what a name holds")
    assert page.run("window.harmed") is None


def _refusals(page: Page) -> int:
    page.run("1")  # what the browser has to say comes with an answer
    return sum("Content Security Policy" in complaint for complaint in page.complaints)


def test_who_logs_in_at_gitlab_has_the_roles_of_whole_paths(
    farm: GuardedFarm, sites: OAuthSites
) -> None:
    gitlab = example("python", "GitLabAuth").replace("https://gitlab.com", sites.url)
    farm.reconfigure(github(sites) + gitlab, "GitLab")
    for groups, may in (
        (("freebsd",), {"try"}),
        (("mallory/freebsd",), set()),
        ((*(f"many/{number}" for number in range(30)), "freebsd"), {"try"}),
    ):
        sites.person = Person(login="eve", groups=groups)
        with farm.browser() as client:
            client.get("/auth/login")
            assert user_of(client)["username"] == "eve@gitlab"
            assert roles(client) == may, groups


@pytest.mark.skipif(NGINX is None, reason="there is no nginx")
def test_the_user_of_a_reverse_proxy_is_believed_and_nobody_elses_header(
    farm: GuardedFarm, sites: OAuthSites, tmp_path: Path
) -> None:
    proxy = example("python", "RemoteUserAuth").partition("\n")[2]  # the port is our own
    farm.reconfigure(f"{github(sites)}{proxy}".replace("ann@github", "ann@proxy"), "RemoteUserAuth")
    passwords = tmp_path / "htpasswd"
    passwords.write_text("".join(f"{name}:{{PLAIN}}sesame\n" for name in ("ann", "bob")))
    with reverse_proxy(tmp_path / "nginx", farm.url, passwords) as url:
        for name, may in (("ann", {"bench", "try"}), ("bob", set())):
            forged = {"X-Remote-User": "ann", "X_Remote_User": "ann"}
            with httpx.Client(
                base_url=url, auth=(name, "sesame"), headers=forged, **ASKED
            ) as client:
                assert client.get("/").status_code == 200
                assert user_of(client)["username"] == f"{name}@proxy"
                assert roles(client) == may
        assert httpx.get(url, headers=forged, **ASKED).status_code == 401
    with farm.browser() as client:
        assert client.get("/").status_code == 200
        assert user_of(client) == {"anonymous": True}
        assert roles(client) == set()
        client.get("/", headers={"X-Remote-User": "ann\tbench"})
        assert user_of(client) == {"anonymous": True}


def test_the_doctor_knows_that_all_ports_are_closed_to_others(farm: GuardedFarm) -> None:
    ports = read_ports(farm.directory / "master")
    assert [(one.of, one.is_local, one.is_encrypted) for one in ports] == [
        ("workers", True, True),
        ("pages", True, False),
    ]


def test_a_master_that_others_reach_believes_no_header(farm: GuardedFarm) -> None:
    open_to_all = "c['www']['port'] = 'tcp:8010'"
    farm.say(f"{example('python', 'RemoteUserAuth')}\n{open_to_all}\n")
    done = ran(
        [Path(sys.executable).parent / "buildbot", "checkconfig", "guarded.cfg"],
        cwd=farm.directory / "master",
        env=farm.local.master.env,
    )
    assert done.returncode == 1
    assert "RemoteUserAuth trusts a header that anybody can send" in done.stdout + done.stderr

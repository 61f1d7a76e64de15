"""A farm with the master.cfg of docs/how-to/access.md, whose workers connect by TLS."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path

import httpx

from buildbot_bench.demo.certificates import make_certificates
from buildbot_bench.demo.watching import answers, wait_until
from tests.asking import ASKED
from tests.e2e.replay_farm import ReplayFarm
from tests.fakes.oauth_sites import SECRET
from tests.ports import free_port
from tests.readme import CHECKOUT

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
DOCS = (CHECKOUT / "docs" / "how-to" / "access.md").read_text(encoding="utf-8")
_CONFIGFILE = re.compile(r"^configfile\s*=.*$", re.MULTILINE)
_NGINX = """\
user {user};
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{port};
        {location}
    }}
}}
"""


def example(language: str, word: str) -> str:
    """The example of docs/how-to/access.md in which a word stands."""
    blocks = re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)
    (block,) = [block for block in blocks if word in block]
    return block


class GuardedFarm(ReplayFarm):
    """Its configuration is the one that is shipped, and examples that are put behind it."""

    def start(self) -> None:
        self.local.prepare()
        for name in ("github.oauth", "gitlab.oauth"):
            secret = self.directory / "master" / "secrets" / name
            secret.touch(mode=0o600)
            secret.write_text(SECRET)
        self.say("")
        tac = self.directory / "master" / "buildbot.tac"
        text, changed = _CONFIGFILE.subn(f"configfile = {str(self._config)!r}", tac.read_text())
        assert changed == 1
        tac.write_text(text)
        made = self.directory / "certificates"
        make_certificates(made, ["localhost", "127.0.0.1"])
        port = self.local.plan.pb_port
        self.local.master.env["BENCH_PB"] = (
            f"ssl:{port}:interface=127.0.0.1:privateKey={made}/master.key:certKey={made}/master.pem"
        )
        for worker in self.local.workers.values():
            worker.env["BENCH_TRUST"] = str(made / "trust")
        self.local.start()

    @property
    def _config(self) -> Path:
        return self.directory / "master" / "guarded.cfg"

    def say(self, examples: str) -> None:
        """Write the configuration anew; `reconfigure` has the master read it."""
        shipped = CHECKOUT / "master.cfg"
        self._config.write_text(
            f"exec(compile(open({str(shipped)!r}).read(), {str(shipped)!r}, 'exec'))\n{examples}"
        )

    def reconfigure(self, examples: str, way: str) -> None:
        """Let the master go by these examples; `way` is what its pages then call the log-in."""
        self.say(examples)
        self.reread()
        said = httpx.get(f"{self.url}config", **ASKED).json()["auth"]["name"]
        assert said == way

    @contextmanager
    def browser(self) -> Iterator[httpx.Client]:
        """Somebody who has not logged in, and follows where pages lead."""
        with httpx.Client(base_url=self.url, **ASKED, follow_redirects=True) as client:
            yield client


@contextmanager
def reverse_proxy(directory: Path, farm_url: str, password_file: Path) -> Iterator[str]:
    """A real nginx before a farm, as docs/how-to/access.md has it; its URL."""
    assert NGINX is not None
    directory.mkdir()
    port = free_port()
    location = example("nginx", "proxy_pass").replace("http://127.0.0.1:8010", farm_url.rstrip("/"))
    location = location.replace("/etc/nginx/bench.htpasswd", str(password_file))
    config = directory / "nginx.conf"
    config.write_text(
        _NGINX.format(user=getuser(), directory=directory, port=port, location=location)
    )
    process = subprocess.Popen([NGINX, "-p", str(directory), "-c", str(config)])
    try:
        wait_until(lambda: answers(port), what="nginx starts", timeout_s=60)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)

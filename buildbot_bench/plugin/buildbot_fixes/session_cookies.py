"""Sessions signed by a key of ours, in cookies that are kept from scripts and other sites.

Buildbot 4.3 keeps the key in its database, where it comes into backups, and offers no setting for
it. Its session cookie lacks HttpOnly, SameSite and Secure (www/service.py, BuildbotSite).
To be filed: "The session key cannot be configured, and the session cookie has no attributes."
"""

from functools import partial
from typing import Any

from buildbot.www.service import BuildbotSite
from twisted.web.server import Request


def sign_sessions(site: Any, key: str, url: str) -> None:
    """Have a site go by this key from its next configuration on, and send its cookies guarded.

    Buildbot sets its own right after it has configured who logs in, and offers no other way. `url`
    is the farm's, as browsers see it: of one behind a proxy that speaks TLS no request tells.
    """
    site.setSessionSecret = partial(_set, site, key)
    site.requestFactory = partial(_Request, is_secure=url.startswith("https:"))


def _set(site: Any, key: str, _buildbots: str) -> None:
    BuildbotSite.setSessionSecret(site, key)


class _Request(Request):
    """A request whose cookies no script reads, and that other sites' forms do not bring along.

    A link from another site does: the site of an OAuth login leads back by one.
    """

    def __init__(self, *args: Any, is_secure: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_secure = is_secure

    def addCookie(self, k: Any, v: Any, **kwargs: Any) -> None:
        secure = self._is_secure or kwargs.get("secure")
        super().addCookie(
            k, v, **(kwargs | {"secure": secure, "httpOnly": True, "sameSite": "lax"})
        )

"""Log-in by GitLab; a module of its own, as Buildbot's OAuth needs a further library."""

from collections.abc import Iterator
from typing import Any

from buildbot.www.oauth2 import GitLabAuth


class BenchGitLabAuth(GitLabAuth):
    """Buildbot's, with groups by their whole paths and those alone that the user is a member of.

    By the last part of a path, as Buildbot has it, anybody's group `me/bench` is `bench`.
    """

    _PAGE = 100
    _MOST_PAGES = 20

    def getUserInfoFromOAuthClient(self, c: Any) -> dict[str, Any]:
        """What the site says of who has logged in; runs in a thread."""
        user = self.get(c, "/user")
        return {
            "full_name": user["name"],
            "username": user["username"],
            "email": user["email"],
            "groups": list(self._groups(c)),
        }

    def _groups(self, c: Any) -> Iterator[str]:
        for page in range(1, self._MOST_PAGES + 1):
            path = f"/groups?min_access_level=10&per_page={self._PAGE}&page={page}"
            groups = self.get(c, path)
            yield from (group["full_path"] for group in groups)
            if len(groups) < self._PAGE:
                return

"""Web addresses of commits, reviews, diffs and files: templates filled with quoted values."""

import re
from dataclasses import dataclass, fields, replace
from urllib.parse import quote, urlsplit

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

_PLACE = re.compile(r"\{([a-z]*)\}")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[!#-;=?-~]*)?", re.IGNORECASE)
_COMMIT = re.compile(r"[0-9a-fA-F]{4,64}")
_REVIEW = re.compile(r"D[0-9]{1,9}|[#!]?[0-9]{1,9}")
# A pull request and a merge request have numbers; a review of Phabricator is D and a number.
_TAKES_NUMBERS = re.compile(r"/(pulls?|merge_requests)/\{review\}")
_PULL_REQUEST = re.compile(r"\(([#!][0-9]{1,9})\)\s*\Z")
# Linux takes no longer path (PATH_MAX), and no template needs more than a line.
_MOST_PATH = 4096
_MOST_TEMPLATE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """The templates of a repository's addresses; an empty one makes none.

    `{commit}` stands for a hash, `{review}` for a review's name such as D8526 or a pull request's
    number, `{path}` and `{line}` for a place in a file as of a commit.
    """

    commit_url: str = ""
    review_url: str = ""
    diff_url: str = ""
    file_url: str = ""

    def commit(self, commit: str) -> str:
        """The page of a commit; empty when nothing shows it, or when it is no hash."""
        return _filled(self.commit_url, commit=_hash(commit))

    def diff(self, commit: str) -> str:
        """What a commit changed; empty as for `commit`."""
        return _filled(self.diff_url, commit=_hash(commit))

    def review(self, review: str) -> str:
        """The page of a review, D8526, or of a pull request, 12 or #12; empty where it has none."""
        known = _REVIEW.fullmatch(review)
        if not known or bool(_TAKES_NUMBERS.search(self.review_url)) is review.startswith("D"):
            return ""
        return _filled(self.review_url, review=review.lstrip("#!"))

    def file(self, path: str, commit: str, line: int | None = None) -> str:
        """A file as of a commit, at a line from 1 or at none; empty when nothing shows it."""
        if not path or len(path) > _MOST_PATH or {".", "..", ""} & set(path.split("/")):
            return ""
        template = self.file_url
        if line is None and "{line}" in template:
            template = template.partition("#")[0]
        return _filled(
            template,
            path=quote(path, safe="/", errors="replace"),
            commit=_hash(commit),
            line="" if line is None else str(int(line)),
        )

    def reviews_of(self, subject: str, numbers: tuple[int, ...] = ()) -> tuple[str, ...]:
        """The names of a commit's reviews that have an address here.

        `numbers` are Phabricator's; a pull request stands at the end of the subject.
        """
        named = [f"D{number}" for number in numbers]
        if found := _PULL_REQUEST.search(subject):
            named.append(found[1])
        return tuple(name for name in named if self.review(name))


NO_LINKS = Links()

_NEEDED = {"commit_url": "commit", "review_url": "review", "diff_url": "commit", "file_url": "path"}
_TAKEN = {"file_url": {"path", "commit", "line"}}


def check_template(template: str, name: str) -> str:
    """The template of a field of `Links`, unchanged."""
    needed = _NEEDED[name]
    places = set(_PLACE.findall(template))
    plain = _PLACE.sub("0", template)
    if len(template) > _MOST_TEMPLATE or "{" in plain or not _ADDRESS.fullmatch(plain):
        raise UsageError(
            f"should be a URL that begins with http:// or https://, not {quoted(template)}"
        )
    if _PLACE.search(template.split("/", 3)[2]):
        raise UsageError(f"should name its site without {{…}}: {quoted(template)}")
    if needed not in places:
        raise UsageError(f"should have {{{needed}}} in it: {quoted(template)}")
    if unknown := places - _TAKEN.get(name, {needed}):
        raise UsageError(f"has {{{min(unknown)}}} in it, which this template does not take")
    return template


def links_of(repository_url: str, *, stated: Links = NO_LINKS, reviews: str = "") -> Links:
    """A repository's templates: `stated` ones, what its URL tells, and `reviews`, Phabricator's."""
    found = _found(repository_url)
    if reviews:
        found = replace(found, review_url=f"{reviews.rstrip('/')}/{{review}}")
    own = {one.name: getattr(stated, one.name) for one in fields(stated)}
    return replace(found, **{name: template for name, template in own.items() if template})


# `user@host:path`, which ssh takes besides URLs.
_SCP = re.compile(r"(?:[^/\s:@]+@)?([A-Za-z0-9.-]+\.[A-Za-z0-9.-]+):(?!//)(.+)")
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9._~+-]+)+")
_FREEBSD = "https://reviews.freebsd.org/{review}"


def _found(url: str) -> Links:
    """What a repository's URL tells; nothing of a path, and of hosts that are not known."""
    base, host, path = _browsed(url)
    match host:
        case "":
            return NO_LINKS
        case "github.com":
            own = path.startswith("/freebsd/freebsd-")
            return _commits(base, _FREEBSD if own else f"{base}/pull/{{review}}")
        case "git.freebsd.org" | "cgit.freebsd.org":
            return _cgit(f"https://cgit.freebsd.org{path}", _FREEBSD)
        case "git.kernel.org":
            return _cgit(f"{base}.git")
    if host.startswith("gitlab."):
        return _commits(f"{base}/-", f"{base}/-/merge_requests/{{review}}")
    return _cgit(base) if host.startswith("cgit.") else _phabricator(base, path)


def _commits(base: str, review: str) -> Links:
    """Addresses as GitHub and GitLab have them."""
    return Links(
        commit_url=f"{base}/commit/{{commit}}",
        review_url=review,
        diff_url=f"{base}/commit/{{commit}}.diff",
        file_url=f"{base}/blob/{{commit}}/{{path}}#L{{line}}",
    )


def _cgit(base: str, review: str = "") -> Links:
    """Addresses as cgit has them: https://git.zx2c4.com/cgit/."""
    return Links(
        commit_url=f"{base}/commit/?id={{commit}}",
        review_url=review,
        diff_url=f"{base}/diff/?id={{commit}}",
        file_url=f"{base}/tree/{{path}}?id={{commit}}#n{{line}}",
    )


_DIFFUSION = re.compile(r"(.*)/diffusion/([A-Z]+)(?:/.*)?")


def _phabricator(base: str, path: str) -> Links:
    """A repository that Phabricator hosts under its call sign; the URL of no other says so."""
    if not (hosted := _DIFFUSION.fullmatch(path)):
        return NO_LINKS
    site = base.removesuffix(path) + hosted[1]
    commit = f"{site}/r{hosted[2]}{{commit}}"
    return Links(commit_url=commit, review_url=f"{site}/{{review}}", diff_url=commit)


def _browsed(url: str) -> tuple[str, str, str]:
    """A repository's URL as a browser takes it, without a user, `.git` and a last slash.

    Its host and path come with it; all are empty where it has none, or signs that no host has.
    """
    if copied := _SCP.fullmatch(url):
        url = f"ssh://{copied[1]}/{copied[2]}"
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", "", ""
    path = parts.path.rstrip("/").removesuffix(".git")
    if parts.scheme not in {"http", "https", "ssh", "git"} or "." not in host:
        return "", "", ""
    if not _PLAIN_PATH.fullmatch(path) or not re.fullmatch(r"[a-z0-9.-]+", host):
        return "", "", ""
    web = parts.scheme if parts.scheme in {"http", "https"} else "https"
    where = f"{host}:{port}" if port and parts.scheme == web else host
    return f"{web}://{where}{path}", host, path


def _hash(commit: str) -> str:
    return commit if _COMMIT.fullmatch(commit) else ""


def _filled(template: str, **values: str) -> str:
    """The template with its values; empty when it needs one that is empty."""
    needed = set(_PLACE.findall(template))
    if not template or any(not values[name] for name in needed):
        return ""
    return _PLACE.sub(lambda found: values[found[1]], template)

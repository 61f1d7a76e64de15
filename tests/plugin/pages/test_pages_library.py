"""The charting library: where it comes from, under which names it is served, and how long kept."""

import gzip
import re
import subprocess
import sys

import pytest
from twisted.web.test.requesthelper import DummyRequest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.pages.deferred_resource import ChartLibrary, LibraryPages, chart_library


def asked(library: ChartLibrary, name: str, **headers: str) -> tuple[bytes, dict[str, str]]:
    """The body of an answer, and its headers."""
    request = DummyRequest([b""])
    for header, value in headers.items():
        request.requestHeaders.setRawHeaders(header.replace("_", "-"), [value])
    body = LibraryPages(library).getChildWithDefault(name.encode(), request).render(request)
    found = request.responseHeaders.getAllRawHeaders()
    return body, {key.decode().lower(): values[0].decode() for key, values in found}


@pytest.fixture
def database() -> str:
    """No table is read here."""
    return "sqlite"


def test_the_name_that_stays_leads_to_the_one_with_the_digest():
    library = chart_library()
    body, headers = asked(library, "chart.js")
    assert headers["cache-control"] == "no-cache"
    (name,) = re.findall(r'from "\./(uPlot-[0-9a-f]{16}\.js)"', body.decode())
    assert name == library.name
    kept = asked(library, name)[1]["cache-control"]
    assert kept == "public, max-age=31536000, immutable"


def test_it_is_compressed_for_those_who_read_that():
    library = chart_library()
    body, headers = asked(library, library.name, accept_encoding="gzip, br")
    assert headers["content-encoding"] == "gzip"
    assert len(body) < 40_000
    plain, others = asked(library, library.name)
    assert "content-encoding" not in others
    assert gzip.decompress(body) == plain


def test_another_release_has_another_name(tmp_path, monkeypatch):
    static = tmp_path / "anotherplot" / "static"
    static.mkdir(parents=True)
    (static / "uPlot.iife.js").write_text("var uPlot = {};")
    (static / "uPlot.min.css").write_text('.u-over{content:"\\n"}')
    monkeypatch.syspath_prepend(tmp_path)
    library = chart_library("anotherplot")
    assert library.name != chart_library().name
    assert library.module.decode().splitlines()[1:] == [
        "export default uPlot;",
        'export const style = ".u-over{content:\\"\\\\n\\"}";',
    ]


def test_what_is_missing_is_named_with_what_to_install(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"no Python package nowhere.*pip install 'uplot-python"):
        chart_library("nowhere")
    (tmp_path / "emptyplot").mkdir()
    (tmp_path / "emptyplot" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"has no .*uPlot.iife.js; install it"):
        chart_library("emptyplot")


def test_it_evaluates_no_text_which_the_policy_forbids():
    script = chart_library().module.decode()
    assert not re.search(r"\beval\(|new Function\b", script)


def test_it_is_not_imported_with_all_that_its_package_needs():
    code = "import sys, buildbot_bench.plugin.pages.deferred_resource as l; l.chart_library();"
    code += "print(sorted({'uplot', 'IPython'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"

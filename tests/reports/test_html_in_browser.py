"""The HTML report in a real browser: no complaint, no request, and accessible to everybody.

Needs Chromium (`chromium` or `chromium-browser` on the path). The check of accessibility takes
axe-core from the package axe-core-python; AXE_CORE names another `axe.min.js`, say a newer one.
"""

import json
import os
import re
import shutil
import subprocess
from base64 import b64decode
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.interfaces.border import redacted
from modelmedic.engine.interfaces.formats import Document, Picture, render
from modelmedic.facts.fact_file import read_facts

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here"),
]
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--disable-background-networking", "--no-first-run", "--disable-extensions",
         "--enable-logging=stderr", "--virtual-time-budget=20000")  # fmt: skip
NAMES = ["real", "hostile", "port"]
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
AXE = """<script>{axe}</script><script>
axe.run(document, {{resultTypes: ["violations"]}}).then(function (found) {{
  var pre = document.createElement("pre"); pre.id = "axe-result";
  pre.textContent = JSON.stringify(found.violations.map(function (v) {{
    return [v.id, v.impact, v.nodes.map(function (n) {{ return n.html; }})]; }}));
  document.body.appendChild(pre); }});
</script>"""


@pytest.fixture(scope="module")
def pages(root, report_saying, tmp_path_factory):
    """A real report, one that is hostile in every place, and one of a port with a picture."""
    folder = tmp_path_factory.mktemp("pages")
    doctor = Diagnoser.load(engine="reference")
    facts = read_facts(root / "facts" / "examples" / "slow_steps.json", doctor.base.vocabulary)
    reports = {
        "real": doctor.diagnose(facts),
        "hostile": report_saying("<script>fetch('http://127.0.0.1:9/')</script>"
                                 "<img src=http://127.0.0.1:9/x onerror=alert(1)>\"'`"),
    }  # fmt: skip
    fact = doctor.base.vocabulary.fact
    port = [fact("stage_result", stage=0, status="done"),
            fact("stage_result", stage=2, status="failed")]  # fmt: skip
    port += [fact("component_result", component=f"mlp_{at}", index=at, r_ratio=10.0**at,
                  status="fail" if at else "pass") for at in range(3)]  # fmt: skip
    reports["port"] = doctor.diagnose(port)
    for name, report in reports.items():
        pictures = [Picture("Errors of mlp_1", PNG)] if name == "port" else []
        text = render(redacted(Document(report)), "html", pictures).value
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Runs Chromium on a page; its standard output and what it logged."""

    def browse(page, *flags):
        profile = tmp_path_factory.mktemp("profile")
        done = subprocess.run(
            [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()],
            capture_output=True, text=True, timeout=110, check=False,
            env=os.environ | {"HOME": str(profile)},
        )  # fmt: skip
        return done.stdout, done.stderr

    return browse


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_complaint_and_no_request(browse, pages, tmp_path, name, scheme):
    log = tmp_path / "net.json"
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    shown, said = browse(pages / f"{name}.html", "--dump-dom", f"--log-net-log={log}", *dark)
    assert "</html>" in shown
    assert "CONSOLE" not in said, said
    asked = [u for u in re.findall(r'"url":"([^"]+)"', log.read_text(errors="replace"))
             if u.startswith(("http", "ws", "ftp")) and "127.0.0.1:9" in u]  # fmt: skip
    assert not asked
    assert "<script>" not in shown


def test_the_console_is_heard(browse, tmp_path):
    """That the test above can fail."""
    page = tmp_path / "loud.html"
    page.write_text("<script>console.error('loud'); fetch('http://127.0.0.1:9/x')</script>")
    log = tmp_path / "net.json"
    _, said = browse(page, "--dump-dom", f"--log-net-log={log}")
    assert "CONSOLE" in said
    assert "127.0.0.1:9/x" in log.read_text(errors="replace")


def axe_core():
    """The path of axe.min.js, or None."""
    if named := os.environ.get("AXE_CORE"):
        return Path(named)
    package = find_spec("axe_core_python")
    if package is None or package.origin is None:
        return None
    found = Path(package.origin).parent / "axe.min.js"
    return found if found.is_file() else None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["1400,1200", "390,800"])
def test_axe_finds_nothing(browse, pages, tmp_path, name, scheme, size):
    axe = axe_core()
    if axe is None:
        pytest.skip("axe-core-python is not installed")
    page = CSP.sub("", (pages / f"{name}.html").read_text(encoding="utf-8"))
    script = AXE.format(axe=axe.read_text(encoding="utf-8"))
    copy = tmp_path / "page.html"
    copy.write_text(page.replace("</body>", f"{script}</body>"), encoding="utf-8")
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    shown, said = browse(copy, "--dump-dom", f"--window-size={size}", *dark)
    result = re.search(r'<pre id="axe-result">(.*?)</pre>', shown, re.DOTALL)
    assert result, said
    assert json.loads(unescape(result[1])) == []


def test_it_prints(browse, pages, tmp_path):
    paper = tmp_path / "report.pdf"
    browse(pages / "real.html", f"--print-to-pdf={paper}")
    assert paper.read_bytes().startswith(b"%PDF")

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
import yaml

from modelmedic.engine import Diagnoser
from modelmedic.facts.fact_file import read_facts
from modelmedic.interfaces.cli.main import main
from modelmedic.interfaces.reports.formats import Document, Picture, render
from modelmedic.interfaces.reports.output_guard import redacted

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here"),
]
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run", "--disable-extensions", "--homepage=about:blank",
         "--enable-logging=stderr", "--virtual-time-budget=20000",
         # Nothing leaves this machine, whatever a page, or the browser itself, asks for.
         "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>")  # fmt: skip
NAMES = ["real", "hostile", "port"]
FAILING = 34
SCREEN, SCREENS, PAGES = 800, 6, 6
"""Height of a screen; how many of them, and how many sheets of paper, a report may take."""
OTHERS = ["summary", "site/index", "site/local.perf.hostile"]
EVIL = (
    "<script>fetch('http://127.0.0.1:9/')</script>"
    "<img src=http://127.0.0.1:9/x onerror=alert(1)>\"'`"
)
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
# A window of the browser is 500 pixels wide at least; a frame in it is as narrow as it is set.
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><title>x</title>
<iframe src="page.html" style="border: 0; width: {width}px; height: 1200px"></iframe><script>
addEventListener("message", function (said) {{
  var pre = document.createElement("pre"); pre.id = "said"; pre.textContent = said.data;
  document.body.appendChild(pre); }});
</script>"""
LOOK = """<script>{axe}</script><script>addEventListener("load", function () {{
  var folded = document.body.scrollHeight;
  document.querySelectorAll("details").forEach(function (part) {{ part.open = true; }});
  var seen = {{width: innerWidth, needed: document.documentElement.scrollWidth,
               folded: folded, opened: document.body.scrollHeight,
               dark: matchMedia("(prefers-color-scheme: dark)").matches}};
  var found = self.axe ? axe.run(document, {{resultTypes: ["violations"]}}) : Promise.resolve({{}});
  found.then(function (found) {{
    seen.violations = (found.violations || []).map(function (v) {{
      return [v.id, v.impact, v.nodes.map(function (n) {{ return n.html; }})]; }});
    parent.postMessage(JSON.stringify(seen), "*"); }}); }});
</script>"""


@pytest.fixture(scope="module")
def pages(root, report_saying, tmp_path_factory):
    """A real report with charts, one that is hostile in every place, one of a port in which 34
    components fail, with a picture; a summary of many, and pages of knowledge, both with hostile
    titles."""
    folder = tmp_path_factory.mktemp("pages")
    doctor = Diagnoser.load(engine="reference")
    example = root / "facts" / "examples" / "slow_steps.json"
    facts = list(read_facts(example, doctor.base.vocabulary))
    fact = doctor.base.vocabulary.fact
    facts += [fact("step_timing", step=at, total_s=43.0 + at, data_s=2.0, parts_s=42.0, gap_s=1.0)
              for at in range(20)]  # fmt: skip
    facts.append(fact("training_metric", name="loss", role="train-loss", non_finite=2))
    points = " ".join(f"{at}:{3 - at / 9}" for at in range(18)) + " 18:nan"
    facts.append(fact("metric_series", name="loss", role="train-loss", changed_at=8, points=points))
    facts.append(fact("token_comparison", case="same", match=True, ours=20, theirs=20))
    facts.append(fact("token_comparison", case="other", match=False, ours=20, theirs=21,
                      first_diff=9, our_text=EVIL))  # fmt: skip
    reports = {
        "real": doctor.diagnose(facts),
        "hostile": report_saying(EVIL),
    }
    port = [fact("stage_result", stage=0, status="done"),
            fact("stage_result", stage=2, status="failed")]  # fmt: skip
    port += [fact("component_result", component=f"mlp_{at}", index=at, r_ratio=1.0 + at,
                  status="fail" if at else "pass") for at in range(FAILING + 1)]  # fmt: skip
    reports["port"] = doctor.diagnose(port)
    for name, report in reports.items():
        pictures = [Picture("Errors of mlp_1", PNG)] if name == "port" else []
        text = render(redacted(Document(report)), "html", pictures).value
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    record = {"schema": "modelmedic/facts/1", "id": EVIL,
              "facts": [{"kind": "symptom", "name": "slow-steps"}]}  # fmt: skip
    (folder / "in.jsonl").write_text(json.dumps(record))
    more = ("--kb", overlay(folder / "overlay"))
    diagnose("bulk", folder / "in.jsonl", "-o", folder / "out.jsonl", "--workers", 1,
             "--summary-html", folder / "summary.html", *more)  # fmt: skip
    diagnose("kb", "docs", "-o", folder / "site", "-f", "html", *more)
    return folder


def diagnose(*arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    assert end.value.code in (0, None)


def overlay(folder):
    """Knowledge whose texts are hostile, with a rule that concludes it."""
    folder.mkdir()
    action = {"do": EVIL, "command": EVIL, "verify": EVIL}
    entry = {"id": "local.perf.hostile", "title": EVIL, "summary": EVIL, "severity": "warning",
             "kind": "root-cause", "actions": [action]}  # fmt: skip
    rule = {"id": "local.rule.hostile", "title": EVIL,
            "when": {"fact": "symptom", "where": {"name": "slow-steps"}},
            "conclude": [{"diagnosis": entry["id"], "strength": "strong"}]}  # fmt: skip
    for form, each in (("diagnoses", entry), ("rules", rule)):
        plain = {"schema": f"modelmedic/{form}/1", "domain": "local", form: [each],
                 "sources": [{"ref": "notes"}]}  # fmt: skip
        (folder / f"{form}.yaml").write_text(yaml.safe_dump(plain))
    return folder


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Runs Chromium on a page; its standard output and what it logged."""

    def browse(page, *flags, at=""):
        profile = tmp_path_factory.mktemp("profile")
        done = subprocess.run(
            [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri() + at],
            capture_output=True, text=True, timeout=110, check=False,
            env=os.environ | {"HOME": str(profile)},
        )  # fmt: skip
        return done.stdout, done.stderr

    return browse


def urls_in(log):
    """The URLs asked for in the log of the browser: requests and connections made ahead, but for
    those that the browser makes for itself and for the pages that it brings along."""
    params = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    inner = ("not an origin", "chrome:", "chrome-untrusted:", "chrome-search:", "devtools:")
    own = {p["url"] for p in params if str(p.get("initiator")).startswith(inner)}
    return {p["url"] for p in params if p.get("url") and not p["url"].startswith(inner)} - own


@pytest.fixture(scope="module")
def asked_for(browse, tmp_path_factory):
    """The URLs that a page asked the network for, beyond what the browser does on an empty page."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "page.html").write_text("<!DOCTYPE html><title>x</title>")
    log = folder / "net.json"
    browse(folder / "page.html", "--dump-dom", f"--log-net-log={log}")
    always = urls_in(log)
    return lambda log: urls_in(log) - always


@pytest.mark.parametrize(("name", "scheme"), [*((n, "light") for n in [*NAMES, *OTHERS]),
                                              *((n, "dark") for n in NAMES)])  # fmt: skip
def test_no_complaint_and_no_request(browse, pages, asked_for, tmp_path, name, scheme):
    log = tmp_path / "net.json"
    shown, said = browse(pages / f"{name}.html", "--dump-dom", f"--log-net-log={log}",
                         *dark_if(scheme))  # fmt: skip
    assert "</html>" in shown
    assert "CONSOLE" not in said, said
    assert asked_for(log) == set()
    assert '<img src="http' not in shown and "<script>fetch" not in shown
    assert ("fetch('http://127.0.0.1:9/')" in shown) == (name != "port")
    assert name.startswith("site/index") or "<script" not in shown


def test_the_console_and_requests_are_heard(browse, asked_for, tmp_path):
    """That the test above can fail."""
    page = tmp_path / "loud.html"
    page.write_text("<link rel=preconnect href=http://a.test><img src=http://b.test/x.png>"
                    "<script>console.error('loud'); fetch('http://127.0.0.1:9/x');"
                    "new WebSocket('ws://c.test/')</script>")  # fmt: skip
    log = tmp_path / "net.json"
    _, said = browse(page, "--dump-dom", f"--log-net-log={log}")
    assert "CONSOLE" in said
    assert asked_for(log) == {"http://a.test/", "http://b.test/x.png", "http://127.0.0.1:9/x",
                              "ws://c.test/"}  # fmt: skip


def dark_if(scheme):
    return ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []


def axe_core():
    """The path of axe.min.js, or None."""
    if named := os.environ.get("AXE_CORE"):
        return Path(named)
    package = find_spec("axe_core_python")
    if package is None or package.origin is None:
        return None
    found = Path(package.origin).parent / "axe.min.js"
    return found if found.is_file() else None


@pytest.fixture
def look(browse, tmp_path):
    """Looks at a page in a frame of some width; what is measured in it, and what axe found."""

    def look(page, width, scheme, axe=""):
        text = CSP.sub("", page.read_text(encoding="utf-8"))
        end = text.rindex("</body>")
        copy = text[:end] + LOOK.format(axe=axe) + text[end:]
        (tmp_path / "page.html").write_text(copy, encoding="utf-8")
        if (style := page.with_name("style.css")).exists():
            shutil.copy(style, tmp_path)
        frame = tmp_path / "frame.html"
        frame.write_text(FRAME.format(width=width), encoding="utf-8")
        shown, said = browse(frame, "--dump-dom", "--window-size=1500,1300", *dark_if(scheme))
        result = re.search(r'<pre id="said">(.*?)</pre>', shown, re.DOTALL)
        assert result, said
        seen = json.loads(unescape(result[1]))
        assert (seen["width"], seen["dark"]) == (width, scheme == "dark")
        return seen

    return look


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_a_narrow_screen_shows_all(look, pages, name):
    """With every part open, nothing is wider than the screen."""
    assert look(pages / f"{name}.html", 380, "light")["needed"] <= 380


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 380])
def test_axe_finds_nothing(look, pages, name, scheme, width):
    axe = axe_core()
    if axe is None:
        pytest.skip("axe-core-python is not installed")
    script = axe.read_text(encoding="utf-8")
    assert look(pages / f"{name}.html", width, scheme, script)["violations"] == []


@pytest.mark.parametrize("name", ["real", "port"])
@pytest.mark.parametrize("width", [1280, 380])
def test_folded_it_is_short(look, pages, name, width):
    seen = look(pages / f"{name}.html", width, "light")
    assert seen["folded"] <= SCREENS * SCREEN
    assert seen["opened"] > seen["folded"] + SCREEN, "nothing was folded"


def test_the_link_to_the_evidence_unfolds_it(browse, pages):
    page = pages / "port.html"
    (name,) = set(re.findall(r'class="more" href="(#[^"]+)"', page.read_text()))
    for at, opened in (("", 0), (name, 1)):
        shown, _ = browse(page, "--dump-dom", at=at)
        assert len(re.findall(r'<details class="finding [^>]* open=', shown)) == opened


@pytest.fixture
def sheets(browse, tmp_path):
    """How many sheets of paper a page takes."""

    def sheets(page):
        paper = tmp_path / "report.pdf"
        browse(page, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
        text = paper.read_bytes()
        assert text.startswith(b"%PDF")
        return len(re.findall(rb"/Type\s*/Page\b(?!s)", text))

    return sheets


@pytest.mark.parametrize("name", ["real", "port"])
def test_it_prints_on_few_sheets(sheets, pages, name):
    assert 1 <= sheets(pages / f"{name}.html") <= PAGES


def test_what_is_folded_and_matters_is_printed(sheets, pages, tmp_path):
    """The page with nothing to unfold on paper takes less of it."""
    text = (pages / "port.html").read_text(encoding="utf-8")
    (tmp_path / "folded.html").write_text(
        re.sub(r'paper-open(?=[ "])', "x", text), encoding="utf-8"
    )
    assert sheets(tmp_path / "folded.html") < sheets(pages / "port.html")

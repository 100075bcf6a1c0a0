"""One file of Python -> its sites."""

from pathlib import Path

import pytest
import yaml

from modelmedic.reading.packages.building import sites_of_file
from modelmedic.reading.python.parsing import Unreadable

CASES = yaml.safe_load(Path(__file__).with_name("sites.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_sites(case):
    found = sites_of_file(case["source"].encode(), "pkg/mod.py")
    assert len(found) == len(case["sites"])
    for site, wanted in zip(found, case["sites"], strict=True):
        got = {name: getattr(site, name) for name in wanted}
        plain = {n: list(v) if isinstance(v, tuple) else v for n, v in got.items()}
        assert plain == wanted
        assert (site.module, site.file) == ("pkg.mod", "pkg/mod.py")


BROKEN = {
    "syntax": b"raise X(\n",
    "NUL": b"raise X('\0')\n",
    "unknown encoding": b"# coding: latin-1x\nraise X('a')\n",
    "not UTF-8": b"raise X('\xff\xfe')\n",
    "parentheses": b"raise X(" + b"(" * 5000 + b")" * 5000 + b")\n",
    "signs": b"raise X(" + b"-" * 200_000 + b"1)\n",
    "attributes": b"raise X(a" + b".b" * 100_000 + b")\n",
    "blocks": b"".join(b" " * n + b"if a:\n" for n in range(150)) + b" " * 150 + b"raise X\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read(name):
    with pytest.raises(Unreadable, match=r"syntax|no text|deep"):
        sites_of_file(BROKEN[name], "m.py")


def test_encodings():
    (site,) = sites_of_file("# coding: latin-1\nraise X('größer')\n".encode("latin-1"), "m.py")
    assert site.template == "größer"
    (site,) = sites_of_file(b"\xef\xbb\xbfraise X('a b c')\r\n", "m.py")
    assert (site.template, site.line) == ("a b c", 1)


def test_a_guard_behind_letters_of_several_bytes():
    source = "def f(é):\n    if 'ü' in é and é > 1: raise X('too much é')\n"
    (site,) = sites_of_file(source.encode(), "m.py")
    assert site.guard == "'ü' in é and é > 1"


def test_a_chain_of_many_branches():
    source = "if a == 0:\n    pass\n" + "".join(
        f"elif a == {n}:\n    raise X('number {n} is wrong')\n" for n in range(1, 400)
    )
    assert len(sites_of_file(source.encode(), "m.py")) == 399

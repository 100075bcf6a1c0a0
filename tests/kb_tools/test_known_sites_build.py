"""The index of known messages, from sources to look-ups."""

from __future__ import annotations

from pathlib import Path

import pytest

from modelmedic.authoring.known_sites.build import Gathered, written
from modelmedic.authoring.known_sites.commonness import Commonness
from modelmedic.authoring.known_sites.reading import Template, templates_of
from modelmedic.probes.messages.known_sites import KnownSite, KnownSites

SOURCE = """
def check(pump, valve, flow):
    if flow % valve.width != 0:
        raise ValueError(f"turbine flow {flow} has to fit the valve width {valve.width}")
    if pump is None:
        raise ValueError("please install the package and try again later")
    assert valve.open, f"{pump}"
def open(boiler, valve):
    if boiler < valve:
        raise ValueError("the boiler is not as the valve wants it")
def turn(boiler, valve):
    if boiler is None:
        raise ValueError("the boiler is not as the valve wants it")
    if valve is None:
        raise ValueError("the boiler is not as the valve wants it")
def shut(boiler, valve):
    if boiler > valve:
        raise ValueError("the boiler is not as the valve wants it")
"""
AROUND = """
GRADES = ("fine", "coarse")
class Mill:
    def __init__(self, stone):
        self.stone = stone
        self.grain = None
    def fill(self, sack):
        self.grain = sack
    def grind(self, grade, log):
        if self.grain is None:
            raise ValueError("the mill has not been filled with any grain so far")
        if self.stone is None:
            raise ValueError("this mill came without the stone that it turns with")
        if grade not in GRADES:
            raise ValueError("mills of this sort cannot produce flour of such grade")
        sacks = count(self.grain)
        if sacks > 9:
            log.warning("more sacks than usual wait here before the mill today")
        if sacks > 99:
            log.error("sacks fill the whole yard and nobody gets through any more")
            raise ValueError("the yard of this mill is too full of unopened sacks")
    def turn(self, way, speed):
        if speed == 1:
            return 0
        if way == 0:
            return 0
        if way == "left":
            return 1
        if way == "right":
            return 2
        raise ValueError("millstones only know two ways around and this is neither")
    def lift(self, height, rope):
        if height == 1:
            return 1
        if height == 2:
            return 2
        if rope == 3:
            return 3
        raise ValueError("lifted are sacks by no rope of this kind in our mill")
    def wake(self, what):
        if isinstance(what, str):
            call()
        elif isinstance(what, (list, tuple)):
            calls()
        else:
            raise ValueError("woken are millers by names alone or by lists of their names")
    def sort(self, grain):
        heap = []
        for each in grain:
            heap.append(each)
        if heap:
            raise ValueError("sorted is grain by hand where the mill has a heap of it")
    def name(self, colour):
        if colour == 1:
            a()
        elif colour == 2:
            b()
        elif colour == 3:
            c()
        elif colour == 4:
            d()
        elif colour == 5:
            e()
        else:
            raise ValueError("named are mills by five colours and this is a sixth one")
    def stop(self, kind):
        if kind == 1:
            brake()
        elif kind == 2 or kind == 3:
            lift()
        else:
            raise ValueError("nobody has ever stopped a mill in that peculiar manner")
"""
KERNEL = """
static int pump_start(struct pump *p)
{
    if (!p)
        pr_err("pump %d refuses to start while the turbine spins\\n", p->id);
}
"""
STACK = [
    {"package": "plant", "owner": "nki"},
    {"package": "copy", "owner": "optimum_neuron"},
    {"package": "driver", "owner": "neuron_driver"},
]
FLOW = "turbine flow 7 has to fit the valve width 3"


def _templates(folder: Path, top: str, text: str, language: str = "python") -> list[Template]:
    (folder / top).mkdir()
    (folder / top / ("a.c" if language == "c" else "a.py")).write_text(text, "utf-8")
    root = folder / top if language == "c" else folder
    return list(templates_of(root, top, language, "", ""))


@pytest.fixture
def index(tmp_path: Path) -> KnownSites:
    others = _templates(
        tmp_path, "other", "raise ValueError('please install the package and try again later')"
    )
    words = "def f(x):\n" + "".join(
        f"    raise KeyError('filler number {'abcdefgh'[at % 8]}{at}')\n" for at in range(3000)
    )
    common = Commonness([*others, *_templates(tmp_path, "filler", words)])
    gathered = Gathered(common)
    gathered.add("plant", _templates(tmp_path, "plant", SOURCE))
    gathered.add("copy", _templates(tmp_path, "copy", SOURCE))
    gathered.add("driver", _templates(tmp_path, "driver", KERNEL, "c"))
    file = tmp_path / "index.txt"
    file.write_text(written(STACK, gathered, common), "utf-8")
    return KnownSites(file)


@pytest.fixture
def around(tmp_path: Path) -> dict[str, Template]:
    return {each.pieces[0].split()[0]: each for each in _templates(tmp_path, "mill", AROUND)}


def test_what_stands_around_a_message(around: dict[str, Template]) -> None:
    assert around["mills"].guard == "grade not in ('fine', 'coarse')"
    assert around["millstones"].guard == "way not in (0, 'left', 'right')"
    assert around["woken"].guard == "not isinstance(what, (str, list, tuple))"
    assert (around["sorted"].guard, around["sorted"].made) == ("heap", "")
    assert around["named"].guard == "colour not in (..., 2, 3, 4, 5)"
    assert around["lifted"].guard == "rope != 3"
    assert around["nobody"].guard == "kind not in (1, 2, 3)"
    assert (around["more"].kind, around["more"].made) == ("said", "sacks = count(grain)")
    assert around["sacks"].kind == "log"  # an error follows
    assert around["this"].set_by == ""  # given to the class


def test_who_sets_what_a_test_looks_at(tmp_path: Path) -> None:
    first = next(
        each for each in _templates(tmp_path, "mill", AROUND) if "filled" in each.pieces[0]
    )
    assert (first.guard, first.set_by) == ("grain is None", "fill")


def test_a_message_of_several_belongs_to_the_first(index: KnownSites) -> None:
    assert index.find(f"oh: {FLOW}!", "ValueError") == KnownSite(
        "nki", "check of plant.a", "flow % valve.width != 0", ("plant", "copy")
    )


def test_what_others_say_too_is_left_out(index: KnownSites) -> None:
    assert index.find("please install the package and try again later") is None


COMMON = "please install the package and try again later"


def test_words_that_everybody_has_are_known_by_the_call_alone(index: KnownSites) -> None:
    call = ("plant.a", "check")
    found = index.find(COMMON, "ValueError", [call])
    assert found is not None
    assert (found.owner, found.place, found.guard) == ("nki", "check of plant.a", "pump is None")
    assert index.find(COMMON, "ValueError") is None
    assert index.find(COMMON, "KeyError", [call]) is None
    assert index.find("please wait", "ValueError", [call]) is None
    for other in ("plant.b", "check"), ("plant.a", "recheck"), ("pip.a", "check"):
        assert index.find(COMMON, "ValueError", [other]) is None


def test_of_several_places_the_call_tells_which(index: KnownSites) -> None:
    text = "the boiler is not as the valve wants it"
    found = index.find(text, "ValueError")
    assert found is not None
    assert (found.place, found.guard) == ("plant.a", "")
    wanted = [("open of plant.a", "boiler < valve"), ("shut of plant.a", "boiler > valve"),
              ("plant.a", "")]  # fmt: skip
    for function, told in zip(("open", "shut", "turn"), wanted, strict=True):
        found = index.find(text, "ValueError", [("other.b", "run"), ("plant.a", function)])
        assert found is not None
        assert (found.place, found.guard) == told


def test_a_line_of_the_kernel_is_known(index: KnownSites) -> None:
    found = index.find("[ 3.1] pump 4 refuses to start while the turbine spins")
    assert found is not None
    assert (found.owner, found.place) == ("neuron_driver", "pump_start of a.c")


def test_no_words_of_a_message_are_in_the_file(index: KnownSites, tmp_path: Path) -> None:
    text = (tmp_path / "index.txt").read_text("utf-8")
    assert not any(word in text for word in ("turbine", "refuses", "spins"))

"""An action installs what the installed packages allow, or it says what has to move."""

from __future__ import annotations

import random
import shlex
from itertools import product

import pytest
from packaging.specifiers import SpecifierSet

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.next_step.installable import Installations, some_version
from modelmedic.facts import Fact, Location, Provenance

DEEPSEEK = [
    {"kind": "package", "name": "transformers", "version": "5.6.2"},
    {"kind": "base_model", "name": "deepseek-ai/DeepSeek-V3.1", "family": "deepseek-v3"},
]
COOKBOOKS = {
    "0.5.8": "!=5.4.*,!=5.5.0,!=5.5.1,!=5.5.2,!=5.5.3,<=5.5.4,>=4.57.6",
    "0.6.1": "!=5.3.0,!=5.4.*,!=5.5.0,!=5.5.1,!=5.5.2,!=5.5.3,!=5.6.*,>=4.57.6",
}


def facts(doctor: Diagnoser, items: list[dict[str, str]]) -> list[Fact]:
    read = doctor.base.vocabulary.read
    return [read(item, Location("test"), Provenance("test")) for item in items]


def environment(requirements: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [
        {"kind": "requirement", "package": a, "requires": b, "specifier": s}
        for a, b, s in requirements
    ]


def wanted(command: str) -> dict[str, str]:
    """Specifiers by package of a command; every package that it names is there."""
    words = [w for w in shlex.split(command) if not w.startswith("-")]
    words = words[words.index("install") + 1 :]
    found = {}
    for word in (w.partition("[")[0] + w.partition("]")[2] for w in words):  # without extras
        name = word
        for sign in "<>=!~":
            name = name.partition(sign)[0]
        found[name.lower()] = (
            word[len(name) :].partition("]")[2] if "[" in word else word[len(name) :]
        )
    return found


@pytest.mark.parametrize("version", COOKBOOKS)
def test_the_remedy_fits_the_cookbook(doctor, version) -> None:
    installed = [
        {"kind": "package", "name": "tinker-cookbook", "version": version},
        *environment([("tinker-cookbook", "transformers", COOKBOOKS[version])]),
    ]
    report = doctor.diagnose(facts(doctor, [*DEEPSEEK, *installed]))
    assert report.diagnoses[0].id == "tinker.env.transformers-deepseek-tokenizer"
    every = [action.get("command", "") for action in report.diagnoses[0].actions]
    commands = [command for command in every if "pip install" in command]
    assert commands
    for command in commands:
        named = wanted(command)
        moves = "tinker-cookbook" in named
        assert moves or some_version(named["transformers"], COOKBOOKS[version]), command
    assert SpecifierSet(COOKBOOKS[version]).contains("5.5.4")


def test_what_does_not_fit_says_what_has_to_move(doctor) -> None:
    known = facts(doctor, [
        {"kind": "package", "name": "tinker-cookbook", "version": "0.5.8"},
        *environment([("tinker-cookbook", "transformers", "<=5.5.4,>=4.57.6")]),
    ])  # fmt: skip
    action = {"do": "Install it.", "command": 'pip install "transformers>=5.7.0"'}
    fitted = Installations(known).fitting(action)
    assert fitted["command"] == 'pip install --upgrade "transformers>=5.7.0" tinker-cookbook'
    assert "tinker-cookbook 0.5.8 allows <=5.5.4,>=4.57.6 only" in fitted["do"]


def test_what_fits_in_part_is_narrowed(doctor) -> None:
    known = facts(doctor, environment([("tinker-cookbook", "transformers", "<=5.5.4")]))
    action = {"do": "Install it.", "command": 'pip install "transformers>=5.4.0"'}
    fitted = Installations(known).fitting(action)
    assert fitted == {"do": "Install it.", "command": 'pip install "transformers>=5.4.0,<=5.5.4"'}


@pytest.mark.parametrize(
    "command", ["pip check", "pip install tinker", "pip install -r requirements.txt", "echo 'x"]
)
def test_other_commands_stay(doctor, command) -> None:
    known = facts(doctor, environment([("tinker-cookbook", "transformers", "<=5.5.4")]))
    action = {"do": "Do it.", "command": command}
    assert Installations(known).fitting(action) == action


GRID = [".".join(map(str, v)) for v in product((0, 1, 2, 3, 4, 5, 6), (0, 1, 5, 13, 57), (0, 4, 9))]


def possible(*specifiers: str) -> bool:
    """An oracle of its own: whether a version of the grid, or one that is named, passes all."""
    every = SpecifierSet(",".join(filter(None, specifiers)))
    named = [s.version.removesuffix(".*") for s in every]
    return any(every.contains(v, prereleases=True) for v in [*GRID, *named, "99.0"])


def test_no_action_proposes_what_the_environment_rules_out(doctor) -> None:
    """10,000 environments against the actions of all diagnoses."""
    chance = random.Random(21)
    entries = doctor.base.catalogue["diagnoses"].values()
    actions = [
        action for entry in entries for action in entry["actions"]
        if "pip install" in action.get("command", "") and "==<" not in action["command"]
    ]  # fmt: skip
    assert len(actions) > 150
    packages = sorted({name for action in actions for name in wanted(action["command"])})
    signs = ("<=", "<", ">=", "==", "!=", ">")
    for number in range(10_000):
        action = chance.choice(actions)
        stated = [
            (f"other-{n}", chance.choice([*packages, *wanted(action["command"])]),
             f"{chance.choice(signs)}{chance.choice(GRID)}")
            for n in range(chance.randint(1, 4))
        ]  # fmt: skip
        known = facts(doctor, environment(list({(a, b): (a, b, s) for a, b, s in stated}.values())))
        named = wanted(Installations(known).fitting(action)["command"])
        for other, requires, specifier in stated:
            if other not in named and (proposed := named.get(requires)):
                assert possible(proposed, specifier), (number, action, stated, named)

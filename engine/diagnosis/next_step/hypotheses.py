"""Finds the diagnoses that are still possible and worth a question, and the facts that each needs.

A diagnosis is open if it could account for a symptom that has no cause yet, if a triage that the
facts have entered can still reach it, or if it rests on a fact that no finding has used. Symptoms
with a proven cause need no further question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter

from ....facts import Fact
from ....facts.records import NamedTuple, cached_property
from ...compiler.knowledge_base import KnowledgeBase
from ...inference.rule_index import goal
from ..report import Diagnosis, RuledOut
from ..rule_constants import POSITION, Outlook
from ..why_not import Gap, Way, WhyNot
from .triage import Leaf, Triage

_ID = attrgetter("id")
_STRENGTH = {"decisive": 1.0, "strong": 1.0, "weak": 0.3, "hint": 0.1, "lead": 0.1, "": 0.3}
_SEVERITY = {"blocker": 1.3, "error": 1.2, "warning": 1.1, "info": 1.0}
_LATER = 0.7  # each node of a triage is so much less likely to hold the cause than the one before
_EACH_GAP = 0.5  # each further condition halves the chance that all hold
_RESTS = 2.0  # a way that facts bear out already
_ASIDE = 0.25  # what explains no complaint
_UNPROMPTED = 0.3  # a cause that no fact points to, and that no triage asks for


class Open(NamedTuple):
    """A way to an open diagnosis: the gaps that remain on it, or the leaf of a triage. ``weight``
    is its prior chance, up to a common factor. ``ground`` says why it is open: a ``triage`` reaches
    it, ``facts`` bear it out in part (``aside`` where a cause is known), it would account for a
    ``complaint``, it is concluded and lacks ``evidence``, or it is the first ``check`` of a triage
    whose answer seems known."""

    id: str
    weight: float
    gaps: tuple[Gap, ...] = ()
    leaf: Leaf | None = None
    ground: str = "facts"


class Hypotheses:
    """The open diagnoses of one set of facts and of what was found in them."""

    def __init__(
        self,
        base: KnowledgeBase,
        outlook: Outlook,
        facts: Mapping[str, Sequence[Fact]],
        why_not: WhyNot,
        found: Sequence[Diagnosis],
        ruled_out: Sequence[RuledOut],
        ids: Mapping[Fact, str],
        causes: Mapping[str, Sequence[str]],
        fired: Collection[int],
    ) -> None:
        """``facts`` are those of each kind; ``causes`` names for each diagnosis those that explain
        it; ``fired`` are the rules that lack nothing."""
        self._fired = fired
        self._base = base
        self._summary = outlook.summary
        self._points = outlook.points
        self._symptoms = facts.get("symptom", ())
        self._complaints = (*self._symptoms, *facts.get("error_message", ()))
        self._why_not = why_not
        self._ids = ids
        self._causes = causes
        self.held = frozenset(map(_ID, found))
        self._out = frozenset(map(_ID, ruled_out))
        stands = (*facts.get("tree_node", ()), *facts.get("answer", ()))
        self.triage = Triage(base.catalogue["trees"], stands)
        settled = {d.id for d in found if _settled(d)}
        self._settled = settled
        self._sure = {d.id for d in found if d.confidence != "possible" or d.kind == "symptom"}
        self._found = found
        self._by = {d.id: d.explained_by for d in found}
        self._used = {
            e.fact
            for d in found
            if d.id in settled or d.kind == "benign" or self._accounted(d.id)
            for e in d.evidence
        }
        self.unexplained = {
            d.id
            for d in found
            if d.kind == "symptom" and not self._accounted(d.id) and not self._answered(d)
        }

    def _accounted(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a settled cause explains a diagnosis, directly or through others."""
        return any(
            cause in self._settled or (cause not in seen and self._accounted(cause, seen | {name}))
            for cause in self._by.get(name, ())
        )

    def _answered(self, d: Diagnosis) -> bool:
        """Whether a diagnosis rests only on complaints that are settled."""
        facts = {name: fact for fact, name in self._ids.items()}
        evidence = [facts[e.fact] for e in d.evidence]
        return bool(evidence) and all(
            f.kind == "symptom" and str(f.get("name")) in self.settled_symptoms for f in evidence
        )

    @cached_property
    def settled_symptoms(self) -> set[str]:
        """Complaints with a cause: a settled cause rests on them or belongs to their triage, or the
        triage has found nothing wrong."""
        used = {str(f.get("name")) for f in self._symptoms if self._ids[f] in self._used}
        return used | self.triage.healthy() | self.triage.looking_for(self._settled)

    @cached_property
    def supported(self) -> tuple[tuple[Way, Open], ...]:
        """Ways to diagnoses that facts bear out in part, nearest first, one for each. A tree
        position alone is not support."""
        nearest: dict[str, Way] = {}
        worth: dict[str, int] = {}
        rules, why_not = self._base.program.rules, self._why_not
        supported, resting_on_news = why_not.supported_rules(self._news)
        for number, borne_out in supported.items():
            names, waits, counts = why_not.prospects[number]
            if 2 * borne_out < waits or number in self._fired:
                continue
            least = 1 if number in resting_on_news or counts or self._aimless else 2
            if least == 2 and not self.unexplained:
                continue
            for name in names:
                if name not in worth:
                    worth[name] = self._worth(name)
            wanted = [name for name in names if worth[name] >= least]
            if not wanted:
                continue
            rule = rules[number]
            if not (lacking := why_not.lacking(rule)):
                continue  # before its ways are searched
            for name in wanted:
                known = nearest.get(name)
                if known is not None and len(known.gaps) < lacking:
                    continue
                way = why_not.best_way(rule)
                if (known is None or way.cost() < known.cost()) and self._supports(name, way):
                    nearest[name] = way
        found = [
            (way, self._of(name, way, self._aim(name), self._ground(name)))
            for name, way in nearest.items()
        ]
        found.sort(key=lambda item: (len(item[1].gaps), -self._rank(item[1].id), item[1].id))
        return tuple(found)

    @cached_property
    def all(self) -> tuple[Open, ...]:
        """Every open way. Once every complaint has its cause, only its evidence is worth a look."""
        leaves = tuple(self._leaves())
        open_ = self.unexplained or any(leaf.ground == "triage" for leaf in leaves)
        if not open_ and self._complaint:
            rivals = self._rivals() if self._doubtful else ()
            return (*leaves, *self._confirming(), *rivals)
        return (*leaves, *(item for _, item in self.supported), *self._explaining(self.unexplained))

    @cached_property
    def _complaint(self) -> bool:
        """Whether the facts hold an error message, or a symptom that is not denied."""
        return any(f.get("present") is not False for f in self._complaints)

    def _leaves(self) -> Iterable[Open]:
        """Ways to the leaves that triages can still reach. A triage whose symptom is settled is
        skipped, unless no cause is certain."""
        for position in self.triage.positions():
            settled = position.symptom in self.settled_symptoms
            if settled and not self._doubtful:
                continue
            for leaf in self.triage.leaves(position.node):
                first = leaf.place == 0 and len(leaf.needs) == 1
                if self._adds(leaf.diagnosis) and (first or not settled):
                    weight = _STRENGTH[leaf.strength] * _LATER**leaf.place
                    weight *= _EACH_GAP ** (len(leaf.needs) - 1) * self._rank(leaf.diagnosis)
                    yield Open(
                        leaf.diagnosis, weight, leaf=leaf, ground="check" if settled else "triage"
                    )

    def _rivals(self) -> Iterable[Open]:
        """Ways to other causes that a triage looks for, where its complaint has only a likely fault
        of the user's own."""
        own = {name for name in self._settled if self._summary(name).kind == "user-code"}
        explained = {name for name, causes in self._by.items() if own & set(causes)}
        sought = self.triage.sought()
        for way in self._explaining(explained):
            if way.id in sought:
                yield way._replace(ground="rival")

    def _explaining(self, symptoms: Iterable[str]) -> Iterable[Open]:
        """Ways to causes of symptoms, whether or not any fact bears them out."""
        names = {cause for symptom in symptoms for cause in self._causes.get(symptom, ())}
        for name in sorted(names):
            if not self._open(name):
                continue
            for number in self._base.program.network.concluding.get(_goal(name), ()):
                rule = self._base.program.rules[number]
                if rule.form in ("tree", "error"):
                    continue
                if all(c.strength in ("", "weak", "hint", "lead") for c in rule.conclusions):
                    continue  # a lead would not settle it
                way = self._why_not.best_way(rule)
                if way.gaps and not way.contradicted:
                    weight = _UNPROMPTED * self._aim(name)
                    yield self._of(name, way, weight, "complaint")

    def _confirming(self) -> Iterable[Open]:
        """Further ways to faults of the user's own code, which seldom come alone."""
        for name in sorted(self._settled):
            if self._summary(name).kind != "user-code":
                continue
            for number in self._base.program.network.concluding.get(_goal(name), ()):
                rule = self._base.program.rules[number]
                way = self._why_not.best_way(rule)
                if rule.form == "rule" and way.gaps and not way.contradicted:
                    yield self._of(name, way, _ASIDE, "evidence")

    def _of(self, name: str, way: Way, aim: float, ground: str) -> Open:
        gaps = self._why_not.bottom(way)
        strength = next(
            (c.strength for c in way.rule.conclusions if _name(c.values) == name), ""
        )  # fmt: skip
        resting = any(self._points(fact.kind) for j in way.holds for fact in j.facts)
        weight = aim * self._rank(name) * _STRENGTH[strength] * _EACH_GAP ** (len(gaps) - 1)
        if way.rule.form == "error":
            weight *= _UNPROMPTED  # who saw an error would have shown it
        return Open(name, weight * (_RESTS if resting else 1.0), gaps, ground=ground)

    @cached_property
    def _doubtful(self) -> bool:
        """Whether no cause is certain."""
        return not any(d.id in self._settled and d.confidence == "certain" for d in self._found)

    def _adds(self, name: str) -> bool:
        """Whether a diagnosis is still open: not settled, ruled out or a symptom that holds."""
        held = name in self.held and self._summary(name).kind == "symptom"
        return not held and name not in self._out and name not in self._settled

    def _open(self, name: str) -> bool:
        """Whether concluding a diagnosis would add anything to what is known."""
        known = name in self._sure or name in self._out
        return not known and self._summary(name).kind != "benign"

    def _worth(self, name: str) -> int:
        """The gain of concluding a diagnosis: none (0), some if it rests on new facts (1), an
        explanation in any case (2)."""
        if not self._open(name):
            return 0
        return 2 if self._unexplained_by(name) else 1

    def _unexplained_by(self, name: str) -> set[str]:
        """The unexplained symptoms that a diagnosis would explain."""
        wanted = self.unexplained
        return wanted.intersection(self._summary(name).explains) if wanted else wanted

    def _supports(self, name: str, way: Way) -> bool:
        """Whether the way has real support and nothing against it: at least as many conditions rest
        on facts as are missing, and the diagnosis has something left to explain."""
        resting = [j.facts for j in way.holds if j.facts]
        if way.contradicted or not way.gaps or len(resting) < len(way.gaps):
            return False
        found = {fact.kind for facts in resting for fact in facts}
        if found == {"package"} and name in self._base.catalogue["issues"]:
            return False  # every environment has releases with known issues
        if self._aimless:
            return any(f.kind not in POSITION for facts in resting for f in facts)
        return bool(self._unexplained_by(name)) or not self._news.isdisjoint(chain(*resting))

    @cached_property
    def _news(self) -> set[Fact]:
        """The observations that point somewhere and that no finding has used."""
        news = set()
        for fact, name in self._ids.items():
            if name not in self._used and self._points(fact.kind):
                news.add(fact)
        return news

    @cached_property
    def _aimless(self) -> bool:
        """Whether there is neither a complaint nor a finding; then everything is possible."""
        return not self._complaint and not any(d.kind != "benign" for d in self._found)

    def _ground(self, name: str) -> str:
        if self._aimless:
            return "complaint"
        useful = not self._settled or self._unexplained_by(name)
        return "facts" if useful else "aside"

    def _aim(self, name: str) -> float:
        """The share of unexplained symptoms that a diagnosis explains; ``_ASIDE`` if none."""
        shared = self._unexplained_by(name)
        return len(shared) / len(self.unexplained) if shared else _ASIDE

    def _rank(self, name: str) -> float:
        return _SEVERITY[self._summary(name).severity]


def _settled(d: Diagnosis) -> bool:
    """A cause that is proven well enough to account for what it explains."""
    cause = d.kind not in ("symptom", "benign")
    return cause and d.confidence != "possible" and not d.conflicting


def _name(values: Iterable[tuple[str, object]]) -> str:
    return next((str(value) for name, value in values if name == "name"), "")


def _goal(name: str) -> str:
    return goal("diagnosis", {"name": name})

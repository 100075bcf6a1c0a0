"""durable-rules through its own API: one durable rule for each rule, on its Host.

It runs in a process of its own, for it has walls behind which it hangs or crashes. Hence also
rulesets of 250 rules each, no timer threads, negated facts before all others, and a first fact for
every session that some rule takes (a session in which none ever fired cannot be deleted).
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import json_text
from answers import Answer, Firing, answer
from workload import Premise, Rule

_SHARD = 250  # some sets of 400 rules of this workload hang while they are compiled
_PATIENCE_S = 300


class DurablePeer:
    """The near end: asks the process, which measures itself."""

    name = "durable-rules (own API)"

    def __init__(self, rules: Sequence[Rule]) -> None:
        import durable.engine  # noqa: F401  (that it is there)

        processes = multiprocessing.get_context("spawn")
        self._line, far = processes.Pipe()
        self._process = processes.Process(target=_serve, args=(far, rules), daemon=True)
        self._process.start()
        self._ask("ready")

    def respond(self, data: bytes) -> bytes:
        said: bytes = self._ask(data)
        return said

    def timed(self, sessions: Sequence[bytes]) -> list[tuple[int, int]]:
        samples: list[tuple[int, int]] = self._ask(list(sessions))
        return samples

    def understood(self, said: bytes) -> Answer:
        found: Answer = json.loads(said)
        return found

    def close(self) -> None:
        self._process.terminate()
        self._process.join()

    def _ask(self, question: Any) -> Any:
        self._line.send(question)
        if not self._line.poll(_PATIENCE_S):
            self._process.kill()
            raise TimeoutError(f"{self.name} hangs")
        return self._line.recv()


def _serve(line: Any, rules: Sequence[Rule]) -> None:
    from comparison import timed

    engine = _Engine(rules)
    while True:
        question = line.recv()
        if question == "ready":
            line.send(question)
        elif isinstance(question, bytes):
            line.send(engine.respond(question))
        else:
            line.send(timed(engine, question))


class _Engine:
    name = DurablePeer.name

    def __init__(self, rules: Sequence[Rule]) -> None:
        from durable.engine import Host, MessageNotHandledException

        class QuietHost(Host):
            def _run(self) -> None:
                """No threads of timers: they walk freed states."""

        self.rules = {rule.number: rule for rule in rules}
        self._unhandled = MessageNotHandledException
        self._sids = itertools.count()
        self._fired: dict[Firing, None] = {}
        self._signs: dict[tuple[str, int], None] = {}
        first = [rule for rule in rules if not rule.absent]
        last = [rule for rule in rules if rule.absent]
        definitions = {
            f"{name}{number // _SHARD}": self._defined(part[number : number + _SHARD])
            for name, part in (("first", first), ("last", last))
            for number in range(0, len(part), _SHARD)
        }
        self._strata = [
            [name for name in definitions if name.startswith(stratum)]
            for stratum in ("first", "last")
        ]
        self._host = QuietHost(definitions)

    def respond(self, data: bytes) -> bytes:
        rows = json_text.read(data)
        facts = [
            {"id": f"f{n}", "place": n, "kind": row.kind, "name": row.name, "group": row.group,
             "level": row.level} for n, row in enumerate(rows)
        ]  # fmt: skip
        self._fired.clear()
        self._signs.clear()
        first, last = self._strata
        sid = f"session{next(self._sids)}"
        for ruleset in first:
            self._begin(ruleset, sid)
            self._put(ruleset, sid, facts)
        known = 0
        while known < len(self._signs):
            new = self._sign_facts(known)
            known = len(self._signs)
            for ruleset in first:
                self._put(ruleset, sid, new)
        for ruleset in last:
            self._begin(ruleset, sid)
            if known:
                self._put(ruleset, sid, self._sign_facts(0))
            self._put(ruleset, sid, facts)
        for ruleset in (*first, *last):
            self._host.delete_state(ruleset, sid)
        return json_text.write(answer(self.rules, list(self._fired)))

    def _begin(self, ruleset: str, sid: str) -> None:
        self._host.assert_fact(ruleset, {"sid": sid, "id": "begin", "kind": "begin"})

    def _put(self, ruleset: str, sid: str, facts: Sequence[dict[str, Any]]) -> None:
        try:
            self._host.assert_facts(ruleset, [{"sid": sid, **fact} for fact in facts])
        except self._unhandled:  # some fact is in no rule: then actions wait for the next one
            again = {"sid": sid, "id": f"again{facts[0]['id']}", "kind": "begin"}
            self._host.assert_fact(ruleset, again)

    def _sign_facts(self, start: int) -> list[dict[str, Any]]:
        return [
            {"id": f"{name}-{group}", "kind": "sign", "name": name, "group": group}
            for name, group in itertools.islice(self._signs, start, None)
        ]

    def _defined(self, rules: Sequence[Rule]) -> dict[str, Any]:
        defined: dict[str, Any] = {
            f"r{rule.number}": {"all": list(_patterns(rule)), "run": self._action(rule)}
            for rule in rules
        }
        begin = {"m": {"$and": [{"kind": "begin"}]}}
        return defined | {"begin": {"all": [begin], "run": lambda closure: None}}

    def _action(self, rule: Rule) -> Callable[[Any], None]:
        def run(closure: Any) -> None:
            facts = closure._m
            places = tuple(facts[f"f{n}"]["place"] for n in range(len(rule.premises)))
            group = facts["f0"]["group"]
            self._fired[rule.number, group, places] = None
            if rule.sign:
                self._signs[rule.sign, group] = None

        return run


def _patterns(rule: Rule) -> Iterator[dict[str, Any]]:
    for number, premise in enumerate(rule.premises):
        yield {f"f{number}": {"$and": list(_tests(premise, number))}}
    same_group = {"group": {"f0": "group"}}
    for number, sign in enumerate(rule.signs):
        yield {f"s{number}": {"$and": [{"kind": "sign"}, {"name": sign}, same_group]}}
    if rule.absent:
        # The alias is one whose hash keeps a later fact from withdrawing other rules' activations.
        yield {"absent$not": {"$and": [{"kind": "sign"}, {"name": rule.absent}, same_group]}}


def _tests(premise: Premise, number: int) -> Iterator[dict[str, Any]]:
    yield {"kind": premise.kind}
    yield {"name": premise.name}
    if premise.at_least is not None:
        yield {"$gte": {"level": premise.at_least}}
    if premise.joined and number:
        yield {"group": {"f0": "group"}}

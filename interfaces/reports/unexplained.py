"""Words for errors from which nothing is concluded, and for what would decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...engine.diagnosis.report import Decider, Message, Report, Unexplained
from .layout import counted

OWN = ("tinker", "neuron", "nxd", "nki", "torch_neuronx", "vllm_neuron", "optimum_neuron")
"""How the owners begin that this knowledge is about."""

ADVICE = (
    "Give more of it: the whole traceback and the lines around it (`diagnose decode -`). "
    "A row for it starts with `diagnose kb new error ID`."
)
CONSULT = "A consultation asks for it: diagnose"


def verdict(report: Report) -> str:
    """How many errors are not explained, in one sentence; empty if all are."""
    count = len(report.unexplained)
    return f"{counted(count, 'error')} {'is' if count == 1 else 'are'} not explained." * bool(count)


def place(error: Unexplained) -> str:
    """The places of an error, and their number."""
    often = f"{error.times:,} times" if error.times > 1 else ""
    return ", ".join(filter(None, (error.place, often)))


def origin(error: Unexplained) -> str:
    """The owner of the error; empty if unknown."""
    if not error.owner:
        return ""
    known = error.owner_title or error.owner
    sure = error.owner_confidence == "certain"
    evidence = f" ({error.owner_evidence})" if error.owner_evidence else ""
    no_part = "; it is not an error of Tinker or Neuron" if foreign(error) else ""
    return f"{'' if sure else 'probably '}{known}{evidence}{no_part}."


def foreign(error: Unexplained) -> bool:
    """Whether it surely comes from software that this knowledge is not about."""
    return error.owner_confidence == "certain" and not error.owner.startswith(OWN)


def advice(errors: Iterable[Unexplained]) -> str:
    """The next step for errors without a row, or the place to look if another owner has them."""
    unknown = [error for error in errors if not error.row]
    where = dict.fromkeys(e.owner_next for e in unknown if foreign(e) and e.owner_next)
    if unknown and all(map(foreign, unknown)):
        return " ".join(where) or "Look for it where that software is documented."
    return " ".join((*where, ADVICE)) if unknown else ""


def row_of(error: Unexplained, messages: Iterable[Message]) -> Message | None:
    """The text of a row that recognises an error but cannot decide its cause."""
    return next((m for m in messages if m.row == error.row), None) if error.row else None


def decided(decider: Decider, titles: Mapping[str, str]) -> str:
    """The condition that decides, and what it would mean."""
    causes = ", ".join(titles.get(cause, cause) for cause in decider.causes)
    return f"{decider.condition} (then: {causes})"


def way(decider: Decider) -> tuple[str, str]:
    """How to find out what decides: in words, and the command."""
    step = decider.step
    return (step.text, step.command) if step else (CONSULT, "")

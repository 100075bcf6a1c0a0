"""How people say things: ``modelmedic/lexicon/1``."""

from __future__ import annotations

import base64
import zlib
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ....facts.strict_models import Strict
from .conditions import Id

SCHEMA = "modelmedic/lexicon/1"


class WordsOfConcept(Strict):
    """A concept, and the words for it."""

    words: list[str] = Field(
        min_length=1,
        description="Words and short phrases. Inflections and typos are understood without them; "
        "give irregular forms.",
    )
    kind: Literal["context", "generic", "plain", "subject", "term"] = Field(
        "plain",
        description="How much it means. term: of the field, enough alone even among unknown words. "
        "plain: enough alone. generic: meaningful only with another concept. context: a place. "
        "subject: a term that the text says something about, such as the loss. A negation skips "
        "the last two.",
    )
    clears: bool = Field(False, description="Marks its clause as harmless, like 'fine'.")
    negated_is: str = Field("", description="The concept of its negation: 'not fast' is slow.")


class LexiconTopic(Strict):
    """The words of users for a symptom, or for a cause whose triage starts at that symptom."""

    symptom: str = Field(description="A symptom of the vocabulary.")
    diagnosis: Id | None = Field(None, description="The cause that the phrases name.")
    phrases: list[str] = Field(
        min_length=1,
        description="A text fits a phrase if it mentions all its concepts, in any order.",
    )


_MOST_UNPACKED = 16_000_000


def unpacked(packed: object) -> str:
    """Lines of a sign, a space and its letters, sorted.

    The packed text is compressed with zlib and written in base64. It has a line for each row of
    letters with its signs, separated by tabs; then an empty line; then a line for each place in the
    rows: letters of one symptom lie together, which compresses best.
    """
    unzip = zlib.decompressobj()
    try:
        raw = unzip.decompress(base64.b64decode("".join(str(packed).split())), _MOST_UNPACKED)
        signs, _, columns = raw.decode().partition("\n\n")
        rows = zip(signs.split("\n"), zip(*columns.split("\n"), strict=True), strict=True)
        lines = [f"{sign} {''.join(row)}" for names, row in rows for sign in names.split("\t")]
    except (ValueError, zlib.error):
        raise ValueError("not a text that `make words` has packed") from None
    return "\n".join(sorted(lines)) + "\n"


class LearnedWeights(Strict):
    """The weight of each sign (a word, a pair of words, a piece of a word) for each symptom."""

    of: str = Field(description="The symptoms, and 'nothing'.")
    unit: float = Field(description="The unit of a weight.")
    learned_from: str = Field("", description="The digest of the topics that were learned from.")
    signs: Annotated[str, BeforeValidator(unpacked)] = Field(
        alias="packed",
        description="Packed by `make words`: lines of a sign, how rare it is, and a letter for "
        "each symptom: its place in the alphabet, squared, in units; lower case counts against it.",
    )


class LexiconFile(Strict):
    """``modelmedic/lexicon/1``."""

    schema_: Literal["modelmedic/lexicon/1"] = Field(alias="schema")
    domain: str
    note: str = ""
    negations: list[str] = Field([], description="Words that negate the next concept.")
    affirmed: list[str] = Field([], description="Phrases that only look like a negation.")
    passed_over: list[str] = Field([], description="Words that cancel the rest of the clause.")
    breaks: list[str] = Field([], description="Words that start a new clause.")
    fillers: list[str] = Field([], description="Words without meaning here.")
    foreign: list[str] = Field([], description="Words of other subjects, counted against symptoms.")
    concepts: dict[str, WordsOfConcept] = {}
    topics: list[LexiconTopic] = []
    leads_to: dict[str, str] = Field(
        {},
        description="For a symptom without a tree, the symptom whose triage continues.",
    )
    weights: LearnedWeights | None = Field(
        None, description="Weights of signs for each symptom, learned from phrases by `make words`."
    )


LISTS = ("negations", "affirmed", "passed_over", "breaks", "fillers", "foreign")
"""The fields of a file that are lists of words."""

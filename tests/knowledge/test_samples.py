"""Every row answers its own samples: with its text, and with a cause or with what decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import Built
from modelmedic.engine.diagnosis.report import Message, Report
from modelmedic.interfaces.reports.answers_text import decode_lines

Decode = Callable[[str], Report]


@pytest.fixture(scope="module")
def answered(built: Built, decode: Decode) -> list[tuple[Any, str, Report]]:
    """Each row with each of its samples, and what decoding the sample says."""
    rows = (item.entry for item in built.source.of("error"))
    return [(r, s, decode(s)) for r in rows if r.status != "deprecated" for s in r.samples]


def _own(row: Any, report: Report) -> list[Message]:
    return [message for message in report.messages if message.row == row.id]


def _bare(row: Any, title: str) -> str:
    """The title without whose it would be, which is said first of words that many use."""
    common = row.emitter.wording == "common"
    return re.sub(r"^If it comes from [^:]+: ", "", title) if common else title


@pytest.mark.deep
def test_every_sample_is_answered_by_the_text_of_its_row(
    answered: list[tuple[Any, str, Report]],
) -> None:
    assert len(answered) >= 532
    silent = [(row.id, sample) for row, sample, report in answered if not _own(row, report)]
    assert silent == []
    for row, sample, report in answered:
        (said,) = {(m.meaning, m.fix, m.retry) for m in _own(row, report)}
        assert said == (row.meaning, row.fix, row.retry), row.id
        titles = {m.title for m in _own(row, report)}
        assert {_bare(row, title) for title in titles} == {row.title}, row.id
        shown = [line.text for line in decode_lines(report)]
        assert {*titles, row.meaning, row.fix} - {""} <= {*shown}, (row.id, sample)
        assert not any("no row of the error tables" in text for text in shown)


def test_a_row_that_needs_more_names_the_one_fact_that_decides(
    answered: list[tuple[Any, str, Report]], doctor: Diagnoser
) -> None:
    undecided = [(row, m) for row, _, report in answered for m in _own(row, report) if not m.causes]
    assert undecided, "rows whose causes all need another fact"
    for row, message in undecided:
        assert message.decides is not None, row.id
        assert message.decides.condition
        assert {*message.decides.causes} <= {cause.diagnosis for cause in row.causes}
        step = message.decides.step
        if step is not None and step.type == "probe":
            assert step.id in doctor.base.vocabulary.probes
            assert step.id != "messages", "this probe has just said what it knows"
    asked = sum(message.decides.step is not None for _, message in undecided if message.decides)
    assert asked >= 0.7 * len(undecided)


def test_the_fact_that_decides_leads_to_a_cause(doctor: Diagnoser, decode: Decode) -> None:
    text = "OSError: Can't load tokenizer for 'deepseek-ai/DeepSeek-V3'."
    (message,) = decode(text).messages
    assert message.decides and message.decides.step
    assert (message.decides.step.type, message.decides.step.id) == ("probe", "environment")
    facts = [fact for _, fact, derived in decode(text).facts if not derived]
    package = doctor.base.vocabulary.fact("package", name="transformers", version="5.3.1")
    found = doctor.diagnose([*facts, package])
    assert {d.id for d in found.diagnoses} & {*message.decides.causes}
    assert [m.decides for m in found.messages] == [None]
    other = doctor.base.vocabulary.fact("package", name="transformers", version="5.4.0")
    refuted = doctor.diagnose([*facts, other])
    assert refuted.status == "unknown"


def test_a_row_whose_causes_are_all_contradicted_does_not_speak(doctor: Diagnoser) -> None:
    fact = doctor.base.vocabulary.fact
    error = fact("error_message", exception="OutOfMemoryError",
                 text="CUDA out of memory. Tried to allocate 1.50 GiB.")  # fmt: skip
    (known,) = doctor.diagnose([error]).messages
    assert known.decides
    report = doctor.diagnose([error, fact("merge", method="cookbook", strategy="shard")])
    assert not [m for m in report.messages if m.row == known.row and not m.causes]

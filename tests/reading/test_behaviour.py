"""Figures that are known by how they behave among those beside them, in any form."""

from __future__ import annotations

import json

import pytest

from modelmedic.facts.statements import Statement
from modelmedic.reading.statements.reader import read, read_statements
from modelmedic.reading.text.notebooks import cells_of

from .learn_statements import declared

ROWS = {"q_proj": 1.01, "gate_up": 1.03, "scan_kernel": 4.75, "out_mix": 0.99}
PARTS = [*ROWS.items()]


@pytest.fixture(scope="module")
def statements() -> tuple[Statement, ...]:
    return declared()


def markdown(rows: list[tuple[str, float]]) -> str:
    return "| part | 3 May |\n|---|---|\n" + "".join(f"| {n} | {v} |\n" for n, v in rows)


FORMS = {
    "table below a head with a figure": f"ratio of errors, at most 1.5\n\n{markdown(PARTS)}",
    "objects in lines": '{"tolerated": 1.5, "of": "ratio"}\n'
    + "".join(json.dumps({"name": n, "x": v}) + "\n" for n, v in PARTS),
    "nested object": json.dumps({"cap": {"limit": 1.5}, "ratios": ROWS}, indent=1),
    "yaml": "limit: 1.5\nratio:\n" + "".join(f"  {n}: {v}\n" for n, v in PARTS),
    "log": "ratios, limit 1.5\n\n" + "".join(f"[cpu]  {n} ..... {v}\n" for n, v in PARTS),
    "csv": "limit 1.5\n\npart,ratio\n" + "".join(f"{n},{v}\n" for n, v in PARTS),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_the_ratio_of_each_part_in_every_form(text, statements):
    said = {s.subject: s for s in read_statements(text, statements) if s.statement == "r-ratio"}
    assert {name: s.value for name, s in said.items()} == ROWS
    assert {s.limit for s in said.values()} == {1.5}


def test_a_table_of_a_page_in_a_notebook(statements):
    cells = "".join(f"  <tr>\n    <th>{n}</th>\n    <td>{v}</td>\n  </tr>\n" for n, v in PARTS)
    page = f"<table><thead>\n<tr><th></th><th>rel</th></tr></thead>\n<tbody>{cells}</tbody></table>"
    output = {"output_type": "execute_result", "data": {"text/html": page, "text/plain": "<D>"}}
    cell = {"cell_type": "code", "source": "ratio", "outputs": [output]}
    (read_cell,) = cells_of(json.dumps({"cells": [cell]}))
    said = read_statements("\n".join(read_cell.lines), statements)
    assert {s.subject: s.value for s in said} == ROWS


@pytest.mark.parametrize(
    "text",
    [
        "KL < 0.02 is what I want",
        "We take a KL of at most 0.02 for granted.",
        '{"accept": {"kl": 0.02}}',
        "[check] 16/48\n[check] 32/48\n[check] 48/48 tokens match",
        "model: small\naverages: {r: 75.84, p: 69.54}\nhours: 3.7\n",
        "accept up to **2.0** for ratios",
        "non-finite values: 0 of 384768\nsame argmax yes\ntoken 612.4 ms",
        "all ratios, limit 1.5\nsum 12.7\nmean 1.9\ntotal 3.4\n",
    ],
)
def test_limits_counters_and_totals_are_not_measured(text, statements):
    assert read_statements(text, statements) == []


def test_a_change_is_told_by_what_came_after(statements):
    text = "ratios, limit 1.4\n\n| part | was | is |\n|---|---|---|\n" + "".join(
        f"| {name} | {before} | {value} |\n"
        for (name, value), before in zip(PARTS, (3.1, 1.02, 1.04, 1.01), strict=True)
    )
    said = {s.subject: s.value for s in read_statements(text, statements)}
    assert said == ROWS


@pytest.mark.parametrize(
    ("row", "expected"),
    [("| kv_scale | 24 | - |", "module-missing"), ("| experts | 64 | 60 |", "module-differs")],
)
def test_a_module_that_one_side_lacks_or_has_otherwise(row, expected, statements):
    same = "".join(f"| block_{n} | {n} | {n} |  |\n" for n in range(2, 7))
    head = "| module | reference | port | why |\n|---|---|---|---|\n"
    said = read_statements(f"{head}{same}{row}  |\n", statements)
    assert [s.statement for s in said] == [expected]
    assert read_statements(f"{head}{same}{row} fused into one |\n", statements) == []
    assert read_statements(f"{head}{same}{row}  |\n| qkv | - | 24 |  |\n", statements) == []


def test_errors_of_two_sides_without_a_name(statements):
    head = "distance to the truth, relative L2\n\n| part | HF | ours |\n|---|---|---|\n"
    rows = "".join(f"| {name} | 2.0e-3 | {v * 2e-3:.3e} |\n" for name, v in PARTS)
    said = {s.subject: s.value for s in read_statements(head + rows, statements)}
    assert said == {name: pytest.approx(v, rel=1e-3) for name, v in PARTS}


@pytest.mark.parametrize(
    "text",
    [
        "The ratios are: the norm 1.02, and 3.9 for the gate.\nThe head has 1.01, the mlp 1.0.\n",
        "ratio\n"
        + "".join(json.dumps({"name": n, "x": 1.02, "y": [1.1, 3.9]}) + "\n" for n in ROWS),
    ],
)
def test_figures_beside_those_that_are_read_stay_unread(text, statements):
    """The ones that are read may be the sound ones."""
    assert read(text, statements).unsure


def test_a_task_of_a_table_of_tasks(statements):
    text = "task,hf,neuron\ngsm8k,71.2,71.4\nour own exam,64.0,51.1\n"
    said = {s.subject: (s.value, s.limit) for s in read_statements(text, statements)}
    assert said["our own exam"] == (0.511, 0.64)


def test_scores_of_two_sides(statements):
    text = "task,n,hf,neuron\ngsm8k,1319,71.2,58.4\nmmlu,14042,64.0,64.1\nboolq,3270,80.2,80.4\n"
    said = {s.subject: (s.value, s.limit) for s in read_statements(text, statements)}
    assert said["gsm8k"] == (0.584, 0.712)
    assert len(said) == len(text.split()) - 1


def test_tokens_alike_are_summed(statements):
    text = "prompt | same tokens | of\na | 64 | 64\nb | 60 | 64\nc | 62 | 64\n"
    (said,) = read_statements(text, statements)
    assert said.statement == "token-match-rate"
    assert said.value == pytest.approx(186 / 192, abs=1e-5)


def test_a_row_for_all_parts_is_no_part(statements):
    text = "ratios, limit 1.5\n\n" + markdown([*PARTS, ("average", 1.95), ("sum", 7.78)])
    assert {s.subject for s in read_statements(text, statements)} == set(ROWS)


def test_code_of_a_cell_is_no_record(statements):
    text = "ratios of all parts\n" + "".join(f"{n} {v}\n" for n, v in PARTS)
    assert {s.subject for s in read(text, statements).said} == set(ROWS)
    assert read(text, statements, code=range(2, 6)).said == ()

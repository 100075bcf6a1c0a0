"""A finding for some rows of the batch, or behind padding, is not a setting of the model."""

import pytest

from modelmedic.probes.replay.emission import rival_of, shown
from modelmedic.probes.replay.formula.formulas import FORMULAS

from .test_in_parts import firm, tried
from .test_read_off import one, read
from .test_trials import ALL, ATTENTION, PARTS, PROMPT

np = pytest.importorskip("numpy")
QUERY, KEY = np.arange(ALL)[:, None], np.arange(ALL)[None]
OWN = QUERY == KEY
UNEVEN = KEY > QUERY // 2 * 2 - 5
"""A window that no number of positions describes, so that it has to be read off."""
KINDS = ("mask-of-window", "mask-of-cache", "mask-of-chunks", "mask-of-rows", "mask-of-keys")
DECODED = slice(PROMPT, None)


def seen(*rows, spec=ATTENTION):
    """The keys that each row of the batch sees, of those that it should."""
    right = QUERY >= KEY
    right = right & (QUERY - spec["window"] < KEY) if spec["window"] else right
    return np.stack([right & row for row in rows])


def kinds(*rows, window=None, over=slice(None)):
    """The findings of the finders of masks on a module whose queries see only these keys."""
    spec = ATTENTION | {"window": window}
    change = {"mask_found": seen(*rows, spec=spec)}
    told = {kind: read(kind, "attention", spec, PARTS, change=change, rows=over) for kind in KINDS}
    return {kind: one(found) for kind, found in told.items() if found}


@pytest.mark.parametrize("window", [None, 9])
def test_a_window_holds_for_all_rows_of_the_batch(window):
    assert list(kinds(UNEVEN, UNEVEN, window=window)) == ["mask-of-window"]
    told = kinds(True, UNEVEN, window=window)
    assert list(told) == ["mask-of-keys"]
    assert "in row 1 of the batch only" in told["mask-of-keys"]


@pytest.mark.parametrize("window", [None, 9])
@pytest.mark.parametrize("padded", [
    [(KEY >= 3) | OWN] * 2, [True, (KEY >= 3) | OWN], [(KEY >= 2) | OWN, (KEY >= 5) | OWN],
    [(KEY >= 4) | (QUERY < 4)] * 2,
])  # fmt: skip
def test_keys_that_no_query_sees_are_padding_and_no_window(padded, window):
    assert list(kinds(*padded, window=window)) == ["mask-of-keys"]


def test_chunks_that_lose_keys_may_have_lost_them_in_the_cache():
    start = QUERY // 8 * 8
    without_block = (start <= KEY) | (start > KEY + 4)
    assert list(kinds(without_block, without_block)) == ["mask-of-chunks", "mask-of-keys"]
    assert "mask-of-chunks" not in kinds(without_block, True)


def test_a_cache_has_one_layout_for_all_rows():
    late = (KEY >= 3) | (QUERY < PROMPT)
    assert list(kinds(late, late, over=DECODED)) == ["mask-of-cache"]
    told = kinds(True, late, over=DECODED)
    assert list(told) == ["mask-of-keys"]
    assert "in row 1 of the batch only" in told["mask-of-keys"]


def test_padding_of_one_row_of_the_batch_is_a_matter_of_the_mask():
    def wrong(_right, x):
        spec = ATTENTION | {"mask_found": seen(True, (KEY >= 3) | OWN)}
        return FORMULAS["attention"](spec, PARTS, {"x": x})

    cause, says = firm(tried("attention", ATTENTION, PARTS, wrong))
    assert cause == "wrong-masking"
    assert "in row 1 of the batch only" in says


HEAD = np.random.default_rng(4).normal(size=(96, 32)).astype(np.float32)
"""The weight of an output head, or of a router."""


def of_linear(weight, is_a):
    return tried("linear", {"width": 32, is_a: True}, {"own.weight": HEAD},
                 lambda _right, x: x @ weight.T)  # fmt: skip


def behind_padding(shards):
    pad = np.zeros((6, 32), np.float32)
    parts = [part for shard in np.split(HEAD, shards) for part in (shard, pad)]
    return np.concatenate(parts)[:96]


@pytest.mark.parametrize(("shards", "words"), [(2, "6, from 48 on"), (4, "18, from 24, 54, 84 on")])
def test_rows_behind_padding_were_not_given_to_other_experts(shards, words):
    cause, says = firm(of_linear(behind_padding(shards), "is_router"))
    assert cause == "weight-layout-mismatch"
    assert words in says


def test_rows_of_a_head_behind_padding_have_two_names_and_neither_is_firm():
    found = of_linear(behind_padding(2), "is_head")
    best = next(shown(found))
    rival = rival_of(best, found.trials, found.r_ratio)
    assert rival is not None
    assert rival.r_ratio < 1.1 * best.r_ratio < 1.8
    causes = {each.hypothesis.cause for each in (best, rival)}
    assert causes == {"weight-layout-mismatch", "embedding-rows-wrong"}
    assert "6, from 48 on" in best.says


@pytest.mark.parametrize("lost", [0, 6])
def test_rows_of_other_tokens_are_told_as_such_whether_some_are_lost_or_not(lost):
    weight = HEAD[np.random.default_rng(6).permutation(96)]
    weight[40 : 40 + lost] = 0
    assert firm(of_linear(weight, "is_head"))[0] == "embedding-rows-wrong"

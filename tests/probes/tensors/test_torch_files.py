"""Captures that torch.save wrote: the same facts as of safetensors, and nothing is executed."""

import pickle
import zipfile
from collections import OrderedDict

import pytest

from modelmedic.probes.tensors.probe import gather_tensors

torch = pytest.importorskip("torch")
save_file = pytest.importorskip("safetensors.torch").save_file

pytestmark = pytest.mark.heavy
ROLES = ("ref_fp32", "ref_bf16", "target")
KEY = "captured_tensors_cte_step_0_module_"


def runs(kind=None):
    """role -> name -> tensor, of three modules, one of which is wrong in the target."""
    torch.manual_seed(0)
    found: dict[str, dict[str, object]] = {role: {} for role in ROLES}
    for at, name in enumerate(("layers.0.mlp", "layers.0.self_attn", "layers.1.mlp")):
        exact = torch.randn(1, 6, 16)
        key = f"{KEY}{name}_output"
        found["ref_fp32"][key] = exact
        found["ref_bf16"][key] = exact.bfloat16().to(kind or torch.float32)
        found["target"][key] = exact.bfloat16().float() * (2 if at == 1 else 1)
    return found


def facts(root, vocabulary):
    outcome = gather_tensors(root, vocabulary)
    return [(fact.kind, dict(fact.values)) for fact in outcome.facts], outcome.problems


def codes(outcome):
    return [problem.code for problem in outcome.problems]


def one_file(root, role, tensors):
    torch.save(tensors, root / f"{role}.pt")


def ordered_file(root, role, tensors):
    found = OrderedDict(tensors)
    vars(found)["_metadata"] = {"version": 1}  # as a state dictionary has it
    torch.save(found, root / f"{role}.pt")


def parameters(root, role, tensors):
    """Beside what is not a tensor."""
    found = {name: torch.nn.Parameter(each) for name, each in tensors.items()}
    torch.save({**found, "step": 0, "note": None, "size": torch.Size([1])}, root / f"{role}.pth")


def file_each(root, role, tensors):
    (root / role).mkdir()
    for name, each in tensors.items():
        torch.save(each, root / role / f"{name}.pt")


def later_protocol(root, role, tensors):
    torch.save(tensors, root / f"{role}.pt", pickle_protocol=4)


def views(root, role, tensors):
    """Parts of one storage."""
    whole = torch.stack(list(tensors.values()))
    torch.save(dict(zip(tensors, whole, strict=True)), root / f"{role}.pt")


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "write", [one_file, ordered_file, parameters, file_each, later_protocol, views]
)
def test_they_give_the_facts_of_safetensors(tmp_path, vocabulary, write, kind):
    for form in ("torch", "safetensors"):
        (tmp_path / form).mkdir()
    for role, tensors in runs(kind).items():
        write(tmp_path / "torch", role, tensors)
        save_file(tensors, tmp_path / "safetensors" / f"{role}.safetensors")
    found, problems = facts(tmp_path / "torch", vocabulary)
    assert not problems
    assert len(found) >= 3
    assert found == facts(tmp_path / "safetensors", vocabulary)[0]


def test_places_of_a_tuple_are_numbered(tmp_path, vocabulary):
    for role, tensors in runs().items():
        (tmp_path / role).mkdir()
        torch.save(tuple(tensors.values()), tmp_path / role / f"{KEY}layers.0.mlp_output.pt")
    outcome = gather_tensors(tmp_path, vocabulary)
    assert codes(outcome) == []
    assert len([f for f in outcome.facts if f.kind == "component_result"]) >= 1


def test_another_form_of_the_same_name_is_taken_first(tmp_path, vocabulary):
    for role, tensors in runs().items():
        (tmp_path / role).mkdir()
        save_file(tensors, tmp_path / role / "captures.safetensors")
        torch.save(
            {name: each * 5 for name, each in tensors.items()}, tmp_path / role / "captures.pt"
        )
    assert not gather_tensors(tmp_path, vocabulary).problems


class Call:
    """Pickled, it is a call."""

    def __init__(self, called, *arguments):
        self.made = called, arguments

    def __reduce__(self):
        return self.made


def harmful(mark):
    """Objects that may be pickled to run code, hidden where tensors are expected."""
    import os

    call, tensor = Call(os.mkdir, str(mark)), torch.ones(2, 2)
    return {
        "alone": call,
        "beside tensors": {"mlp": tensor, "x": call},
        "in a list": [tensor, [call]],
        "evaluated": {"mlp": tensor, "x": Call(eval, f"__import__('os').mkdir({str(mark)!r})")},
        "by another name": Call(os.system, f"mkdir {mark}"),
        "as a module of torch": Call(torch.hub.load, "x", "y"),
        "as state": torch.nn.Linear(2, 2),
    }


@pytest.mark.parametrize("name", harmful(""))
@pytest.mark.parametrize("form", ["archive", "legacy", "plain"])
def test_nothing_is_executed(tmp_path, vocabulary, name, form):
    mark = tmp_path / "executed"
    value = harmful(mark)[name]
    for role, tensors in runs().items():
        (tmp_path / role).mkdir()
        torch.save(tensors, tmp_path / role / "captures.pt")
    with (tmp_path / "target" / "more.pt").open("wb") as file:
        if form == "plain":
            pickle.dump(value, file)
        else:
            torch.save(value, file, _use_new_zipfile_serialization=form == "archive")
    found, problems = facts(tmp_path, vocabulary)
    assert not mark.exists()
    assert [p.code for p in problems] == ["MM512"]
    assert "more.pt" in problems[0].message
    assert "weights_only=True" in problems[0].hint
    assert len([kind for kind, _ in found if kind == "component_result"]) == 3


def test_the_call_would_have_worked(tmp_path):
    mark = tmp_path / "executed"
    torch.save(harmful(mark)["beside tensors"], tmp_path / "x.pt")
    torch.load(tmp_path / "x.pt", weights_only=False)
    assert mark.is_dir()


def rewritten(path, change):
    """The same archive with other members; ``change`` gets and gives name -> bytes."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def cut_numbers(members):
    return {n: c[:-8] if n.endswith("data/0") else c for n, c in members.items()}


def no_numbers(members):
    return {n: c for n, c in members.items() if "/data/" not in n}


def cut_pickle(members):
    return {n: c[: len(c) // 2] if n.endswith("data.pkl") else c for n, c in members.items()}


def other_order(members):
    return {n: b"big" if n.endswith("byteorder") else c for n, c in members.items()}


def long_pickle(members):
    return {n: b"\x80\x02" + b"N0" * 1_000_000 + b"." if n.endswith("data.pkl") else c
            for n, c in members.items()}  # fmt: skip


@pytest.mark.parametrize(("change", "code"), [
    (cut_numbers, "MM511"), (no_numbers, "MM511"), (cut_pickle, "MM511"), (other_order, "MM511"),
    (long_pickle, "MM512")])  # fmt: skip
def test_a_damaged_file_costs_itself(tmp_path, vocabulary, change, code):
    for role, tensors in runs().items():
        (tmp_path / role).mkdir()
        torch.save(tensors, tmp_path / role / "captures.pt")
        torch.save(torch.ones(4, 4), tmp_path / role / "more.pt")
    rewritten(tmp_path / "target" / "more.pt", change)
    found, problems = facts(tmp_path, vocabulary)
    assert problems[0].code.startswith(code)
    assert "more.pt" in problems[0].message
    assert len([kind for kind, _ in found if kind == "component_result"]) == 3


@pytest.mark.parametrize(("levels", "width"), [(60, 2), (3, 3_000)])
def test_containers_that_grow_when_they_are_unfolded(tmp_path, vocabulary, levels, width):
    value: list[object] = [1]
    for _ in range(levels):
        value = [value] * width
    for role, tensors in runs().items():
        torch.save({**tensors, "more": value}, tmp_path / f"{role}.pt")
    outcome = gather_tensors(tmp_path, vocabulary)
    assert codes(outcome)[:3] == ["MM512"] * 3
    assert outcome.facts == ()


STRANGE = ((torch.ones(3, 4).T, ".contiguous()"), (torch.ones(3, 4, dtype=torch.int64), "float32"))


@pytest.mark.parametrize(("tensor", "said"), STRANGE)
def test_a_tensor_that_cannot_be_compared_says_why(tmp_path, vocabulary, tensor, said):
    for role, tensors in runs().items():
        torch.save({**tensors, "more": tensor}, tmp_path / f"{role}.pt")
    outcome = gather_tensors(tmp_path, vocabulary)
    assert codes(outcome) == ["MM513"] * 3
    assert all(said in problem.hint for problem in outcome.problems)

"""Words of a verdict that need a meaning: what stands for something of the reader's in a command,
with what to put in its place, and short names, with the value of a figure that is normal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....facts.records import lazy
from ..layout import Line

REPLACE = "Replace: "
"""Stands before what to put in for the words of a command."""
_MEANINGS = {
    "BASE_MODEL": "the name of your base model",
    "BASE": "the folder of the base model",
    "MERGED": "that of the merged one",
    "ADAPTER": "that of the adapter",
    "OTHER_ADAPTER": "that of another adapter",
    "BASE_FOLDER": "the folder of the base model",
    "CONTAINER_NAME": "the name of your container",
    "EXP_DIR": "your port check's folder (with results/)",
    "SCRIPTS_DIR": "the folder of run_stage0.py",
    "SOURCE_MODEL_PATH": "the reference's folder",
    "TARGET_INNER_CLASS": "the port's inner model class",
    "TARGET_CONFIG_CLASS": "its config class",
    "TARGET_CAUSAL_CLASS": "its ...ForCausalLM class",
    "VENV": "the folder of your virtual environment",
    "FILE": "the file to read",
    "FOLDER": "the folder to read",
    "LOG": "the file with the output of your job",
    "LOGFILE": "the file with the output of your job",
    "NAME": "its name",
    "OPTION": "the option",
    "RENDERER": "the name of the renderer",
    "TARGET_MODELING_FILE": "the port's modeling file",
    "COMPILED_MODEL_PATH": "the folder of the compiled model",
    "TOKENIZER": "the folder or name of the tokenizer",
    "MODEL": "your model, by its id or folder",
    "MODEL_FOLDER": "the folder of your model",
    "LOG_PATH": "log_path of your run",
    "CHECKPOINT": "the path of a checkpoint (checkpoints.jsonl lists them)",
    "CAPTURES": "the folder of your captured tensors",
    "PORT_CAPTURES": "those of the port",
    "REF_CAPTURES": "those of the reference",
    "COMPONENT": "the component",
    "DESCRIBED": "the output of kubectl describe",
    "PATCH": "the path of that patch",
    "train.jsonl": "your data",
    "PID": "the process id of your job",
    "IMAGE": "your container image",
    "CONTAINER": "your container",
    "NODE": "your node",
    "CLUSTER_NAME": "the name of your cluster",
    "INSTANCE_ARN": "an ARN that the command before printed",
    "PORT": "the port number",
    "TASK": "your task",
    "OUTPUT": "a new folder",
    "API_KEY": "your key from the console (it begins with tml-)",
    "TOKEN": "your token",
    "PROGRAM": "the command that prints your credential",
    "RUN_ID": "the id of your training run (`tinker run list`)",
    "SESSION_ID": "the id in the line 'ServiceClient initialized for session' of your log",
    "PROJECT_ID": "the id of your project",
    "DATA_DIR": "the data folder that the command was given",
    "NEW_REPO": "user/name of a repository that is new",
    "COMMAND": "the command that you called",
    "SUBCOMMAND": "the word after it",
    "DETAIL": "the text behind 'detail'",
    "ERROR_TEXT": "the error that is quoted",
    "DATASET": "the name of the data set",
    "RECIPE": "the module of your recipe",
    "HOST": "the host of the database",
    "VERSION": "the version that has the name",
    "INSTANCE_ID": "the id of the instance",
    "VLLM_NEURON": "the folder of your clone of vllm-neuron",
    "LOGITS_FILE": "the file of the raw logits",
    "NEFF_FILE": "the file of the compiled model (model.neff)",
    "STAGE_LOG": "the file with the output of Stage 2",
    "SERVER_LOG": "the file with the output of the server",
    "RIGHT_ANSWER": "a text that is right",
    "WRONG_ANSWER": "one that is wrong",
    "./adapter": "the folder of your adapter",
    "./merged": "the folder of your merged model",
    "./model": "the folder of your merged model",
    "train.py": "your script",
    "job.log": "the output of your job",
    "server.log": "the output of your server",
}
_WORD = lazy(
    r"(?<![\w${/.-])(?:(?:\./[a-z]{2,20}|[a-z]{2,20}\.(?:py|log|jsonl))(?![\w=/.-])"
    r"|[A-Z][A-Z_]{1,30}(?![\w=.-]))"
    r"|\$\{?[A-Z][A-Z_]{1,30}\b(?!:-)"
)
_IN_TEXT = lazy(r"\$[A-Z][A-Z_]{1,30}\b|(?<![\w$/{])[A-Z]{2,20}(?:_[A-Z]{2,20}){1,3}\b")


_IN_PATHS = lazy(r"patch_COMPONENT\b")
_COMPONENT = lazy(r"(?<![\w$])(?:the )?COMPONENT\b")


def in_words(text: str) -> str:
    """The action or check, if no fact names the component."""
    if "COMPONENT" not in text:
        return text
    return _COMPONENT.sub("the component", _IN_PATHS.sub("patch_<component>", text))


def known_words(command: str) -> frozenset[str]:
    """The words of a command that stand for something of the reader's."""
    words = (found.strip("${") for found in _WORD.findall(command))
    return frozenset(word for word in words if word in _MEANINGS)


def replacements(command: str, told: str) -> str:
    """The values to fill in for each placeholder of the command, and for each variable in it or in
    ``told``; those already explained are left out."""
    shown = dict.fromkeys((*_WORD.findall(command), *_IN_TEXT.findall(told)))
    found = {
        word.strip("${"): "$" * word.startswith("$") + word.strip("${")
        for word in shown
        if word.strip("${") in _MEANINGS
    }
    return "; ".join(
        f"{word} by {_MEANINGS[name]}"
        for name, word in found.items()
        if not re.search(rf"(?<![\w${{/]){re.escape(name)}(?::| is\b| \()", told)
    )


MOST = 2
_TERMS = (
    (
        "R",
        r"R(?:-ratio)?(?: p95)?",
        ("BF16 rounding", "rounding alone"),
        "R (R-ratio) is the error of the port over that of BF16 rounding alone; about 1 is "
        "normal, 1.2 and more fails.",
    ),
    (
        "KL",
        r"KL(?: divergence)?(?: p95)?",
        ("probabilit", "normal", "calibrated", "0.01", "is high"),
        "KL is how far two distributions of the next token are apart; 0 is equal.",
    ),
    (
        "TP",
        r"TP \d{1,3}|TP degree",
        ("tensor parallel", "tensor-parallel"),
        "TP n is tensor parallelism over n ranks.",
    ),
    ("HBM", r"HBM", ("memory",), "HBM is the memory of the device."),
    (
        "GIL",
        r"GIL",
        ("interpreter lock",),
        "GIL is the lock that lets one Python thread run at a time.",
    ),
    ("ECC", r"ECC", ("memory",), "ECC is the error correction of the memory."),
    ("p95", r"p95", ("percentile", "95"), "p95 is the value that 95 % of the tokens stay below."),
)
"""For each term its values, its form, texts that explain it, and its meaning."""


def glossary_lines(told: str) -> Iterator[Line]:
    """A line with what a text uses and does not explain; the first two."""
    texts = [
        text
        for held, term, said, text in _TERMS
        if held in told
        and not any(each in told for each in said)
        and re.search(rf"(?<![\w$/.-]){term}(?![\w/-])", told)
    ]
    if texts:
        yield Line(" ".join(texts[:MOST]), style="dim", mark="Terms: ")

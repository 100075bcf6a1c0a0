"""The commands of the stages of a port check, for steps that end with running one again."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.lazy_pattern import lazy

_OF_MODEL = (
    "--model-path $SOURCE_MODEL_PATH --compiled-model-path $COMPILED_MODEL_PATH "
    "--model-class $TARGET_MODELING_FILE:$TARGET_CAUSAL_CLASS "
    "--config-class $TARGET_MODELING_FILE:$TARGET_CONFIG_CLASS --num-tokens 32 "
)
COMMANDS = {
    "2": "PYTHONPATH=$EXP_DIR/patches:$PYTHONPATH NXD_CPU_MODE=1 python run_stage2.py "
    "--tests-dir $EXP_DIR/tests --tau-r 1.2 --output $EXP_DIR/results/stage2.json",
    "3": "python run_stage3.py --stage2-output $EXP_DIR/results/stage2.json --tau-r 1.2 "
    "--output $EXP_DIR/results/stage3.json",
    "5": "env -u NXD_CPU_MODE python run_teacher_forced_comparison.py "
    f"{_OF_MODEL}--output $EXP_DIR/results/teacher_forced.json",
}
"""As the knowledge has them, too; those of others are too long for a second command."""
MOST = 2
"""A step that names more stages tells of where they run."""
_SCRIPTS = {"5": "run_teacher_forced_comparison"}
_RUNS = lazy(
    r"\b(?:[Rr]un|[Rr]edo|[Rr]epeat|[Gg]o (?:back )?to) Stages? (\d(?:(?:,| and|, then) \d)*)"
)
_NUMBER = lazy(r"\d")


def stage_runs(told: str, command: str) -> Iterator[tuple[str, str]]:
    """The stages that are to be run and whose command does not stand there, each with it."""
    named = dict.fromkeys(n for found in _RUNS.findall(told) for n in _NUMBER.findall(found))
    for number in named if len(named) <= MOST else ():
        if number in COMMANDS and _SCRIPTS.get(number, f"run_stage{number}") not in command:
            yield number, COMMANDS[number]

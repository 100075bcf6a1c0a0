"""The commands of the stages of a port check, for steps that end with running one again."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.records import lazy

_OF_MODEL = (
    "--model-path $SOURCE_MODEL_PATH --compiled-model-path $COMPILED_MODEL_PATH "
    "--model-class $TARGET_MODELING_FILE:$TARGET_CAUSAL_CLASS "
    "--config-class $TARGET_MODELING_FILE:$TARGET_CONFIG_CLASS --num-tokens 32 "
)
_END_TO_END = (
    f"env -u NXD_CPU_MODE python $SCRIPTS_DIR/run_teacher_forced_comparison.py {_OF_MODEL}"
    "--output $EXP_DIR/results/teacher_forced.json"
)
COMMANDS = {
    "0": "PYTHONPATH=$SCRIPTS_DIR NXD_CPU_MODE=1 python $SCRIPTS_DIR/run_stage0.py "
    "--source-model-path $SOURCE_MODEL_PATH --target-model-path $SOURCE_MODEL_PATH "
    "--target-module-file $TARGET_MODELING_FILE --target-inner-class $TARGET_INNER_CLASS "
    "--target-config-class $TARGET_CONFIG_CLASS --output-dir $EXP_DIR/model_tree",
    "1": f"env -u NXD_CPU_MODE python $SCRIPTS_DIR/run_stage1.py {_OF_MODEL}"
    "--output $EXP_DIR/results/stage1.json",
    "2": "PYTHONPATH=$EXP_DIR/patches:$PYTHONPATH NXD_CPU_MODE=1 python $SCRIPTS_DIR/run_stage2.py "
    "--tests-dir $EXP_DIR/tests --tau-r 1.2 --output $EXP_DIR/results/stage2.json",
    "3": "python $SCRIPTS_DIR/run_stage3.py --stage2-output $EXP_DIR/results/stage2.json "
    "--tau-r 1.2 --output $EXP_DIR/results/stage3.json",
    "5": _END_TO_END,
    "6": _END_TO_END,
    "7": "env -u NXD_CPU_MODE python $SCRIPTS_DIR/run_stage7.py "
    "--bench-config $EXP_DIR/bench_config.yaml --output-dir $EXP_DIR/results/stage7 "
    "--tolerance 0.02",
}
"""The same as in the knowledge. Stage 4 is manual work."""
MOST = 2
"""A step that names more stages describes where they run."""
_SCRIPTS = dict.fromkeys("56", "run_teacher_forced_comparison")
_RUNS = lazy(
    r"\b(?:[Rr]un|[Rr]edo|[Rr]epeat|[Gg]o (?:back )?to) Stages? (\d(?:(?:,| and|, then) \d)*)"
)
_NUMBER = lazy(r"\d")


def stage_runs(told: str, command: str) -> Iterator[tuple[str, str]]:
    """The stages to run whose command is not shown yet, each with its command."""
    named = dict.fromkeys(n for found in _RUNS.findall(told) for n in _NUMBER.findall(found))
    for number in named if len(named) <= MOST else ():
        if number in COMMANDS and _SCRIPTS.get(number, f"run_stage{number}") not in command:
            yield number, COMMANDS[number]

"""Experiment folders put together from ``parts/``, as the cases say."""

import os
import shutil
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
HOUR = 3_600


def build(root, case):
    """The folder of a case. ``copied`` folders have no times that mean anything."""
    for name in case.get("folders", ()):
        (root / name).mkdir(parents=True)
    for number, part in enumerate(case.get("parts", ())):
        for path in sorted((HERE / "parts" / part).rglob("*")):
            target = root / path.relative_to(HERE / "parts" / part)
            if path.is_dir():
                target.mkdir(exist_ok=True, parents=True)
                continue
            name = (
                target.name.removesuffix(".txt") if target.name.endswith(".py.txt") else target.name
            )
            target = target.with_name(name)
            shutil.copyfile(path, target)
            time = 1_700_000_000 + number * (0 if case.get("copied") else HOUR)
            os.utime(target, (time, time))
    for name in case.get("without", ()):
        (root / name).unlink()


@pytest.fixture
def folder_of(tmp_path):
    """The folder of a case, given as its content or as its name."""

    def make(case):
        if isinstance(case, str):
            case = yaml.safe_load((HERE / "cases" / f"{case}.yaml").read_text("utf-8"))
        root = tmp_path / "exp"
        root.mkdir()
        build(root, case)
        return root

    return make

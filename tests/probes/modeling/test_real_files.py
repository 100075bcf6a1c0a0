"""Real public modeling files: those of the installed transformers. None of them is a port."""

import ast
import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from modelmedic.probes.modeling.divergence import find_divergences
from modelmedic.probes.modeling.kernels import find_kernels
from modelmedic.probes.modeling.port_code import is_port
from modelmedic.probes.modeling.probe import all_findings
from modelmedic.reading.python.sources import Code, parse, read_source

pytestmark = [pytest.mark.heavy, pytest.mark.slow, pytest.mark.timeout(600)]
# Patterns that say nothing bad.
NEUTRAL = {"functional-activation"}
# Of a few hundred plain files so many may show a pattern; two norms, for example, do lack the cast.
MAX_FALSE_ALARMS = 15
# One in so many is read by `make test-heavy`, all by `make test-deep`.
SHARE = 3


def files():
    spec = importlib.util.find_spec("transformers")
    if spec is None or not spec.submodule_search_locations:
        return []
    return sorted(Path(spec.submodule_search_locations[0]).glob("models/*/modeling_*.py"))


def known_names(path):
    """Everything that a file defines or imports, read independently of the probe."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def test_they_are_read_without_error_invented_name_or_false_alarm(request):
    paths = files()
    if not paths:
        pytest.skip("transformers is not installed")
    if not request.config.getoption("deep"):
        paths = paths[::SHARE]
    alarms: Counter[str] = Counter()
    for path in paths:
        source, problems = read_source(path)
        assert source is not None and not problems, path
        tree, problems, whole = parse(source)
        assert whole and not problems, path
        code = Code(source, tree, whole)
        assert not is_port(code), path
        divergences = find_divergences(code)
        names = known_names(path)
        for each in (*divergences, *find_kernels(code, divergences)):
            for name in filter(None, (each.cpu_class, each.device_class)):
                assert name.partition(".")[0] in names, (path, name)
            alarms["divergence"] += 1
        found = {finding.pattern for finding in all_findings(code)} - NEUTRAL
        alarms.update(found)
    assert len(paths) > 100
    assert alarms.total() <= MAX_FALSE_ALARMS, alarms

"""The reproduction of an issue agrees with what the issue says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from modelmedic.engine.compiler.source.issues import Issue
from modelmedic.engine.inference.versions import version_key

FOLDER = Path(__file__).parents[1] / "reproducers"
LISTED: list[dict[str, Any]] = yaml.safe_load((FOLDER / "reproducers.yaml").read_text("utf-8"))[
    "issues"
]


@pytest.fixture(scope="module")
def issues(built) -> dict[str, Issue]:
    found = [item.entry for item in built.source.of("diagnosis")]
    return {entry.id: entry for entry in found if isinstance(entry, Issue)}


def has_it(issue: Issue, version: str) -> bool:
    wanted = version_key(version)
    assert wanted is not None, version

    def within(introduced: str, fixed: str | None, last: str | None) -> bool:
        begin, end, final = (version_key(v or "0") for v in (introduced, fixed, last))
        assert begin is not None and end is not None and final is not None
        return begin <= wanted and not (fixed and wanted >= end) and not (last and wanted > final)

    return any(within(e.introduced, e.fixed, e.last_affected) for e in issue.affected)


def test_at_least_sixty_issues_were_reproduced(issues) -> None:
    listed = {found["issue"] for found in LISTED}
    assert listed == {name for name, issue in issues.items() if issue.confirmed == "reproduced"}
    assert len(listed) >= 60


@pytest.mark.parametrize("found", LISTED, ids=lambda found: found["issue"])
def test_the_releases_that_were_run_are_those_of_the_issue(issues, found) -> None:
    issue = issues[found["issue"]]
    assert (FOLDER / found["script"][0]).is_file()
    assert found["package"] == issue.package
    assert found["bad"] and found["good"]
    assert [v for v in found["bad"] if not has_it(issue, str(v))] == []
    assert [v for v in found["good"] if has_it(issue, str(v))] == []


def test_every_script_belongs_to_an_issue() -> None:
    used = {found["script"][0] for found in LISTED}
    scripts = {p.relative_to(FOLDER).as_posix() for p in FOLDER.glob("*/*.py")
               if "def shows(" in p.read_text("utf-8")}  # fmt: skip
    assert scripts == used

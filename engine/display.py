"""How a report shows itself in a notebook, and to rich.

The engine renders nothing. It asks for a renderer by its name when a report is to be shown, and
does without where there is none.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .diagnosis.report import Report

RENDERER = "modelmedic.interfaces.reports.notebook"
"""A module with a function ``shown(report, form)``; a form is a MIME type, or ``rich``."""
FORMS = ("text/plain", "text/html", "text/markdown")


def shown(report: Report, form: str) -> Any:
    """The report in a form; None if nothing can render it."""
    try:
        renderer: Any = import_module(RENDERER)
    except ModuleNotFoundError as error:
        if not RENDERER.startswith(str(error.name)):
            raise
        return None
    return renderer.shown(report, form)


def bundle(report: Report) -> dict[str, str]:
    """The report in all forms of a notebook."""
    found = {form: shown(report, form) for form in FORMS}
    return {form: text for form, text in found.items() if text is not None}

"""HTML pages made from templates: sandboxed, every text visible and escaped."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .safe_text import safe

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


@cache
def template(path: Path, *filters: Callable[..., Any]) -> Template:
    """The template in a file, with filters named like their functions."""
    from jinja2 import FileSystemLoader
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(path.parent),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({function.__name__: function for function in filters})
    return environment.get_template(path.name)


def _visible(value: Any) -> Any:
    """Make a text of a template visible before it is escaped; our own markup stays unchanged."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else safe(value)


def markup(text: str) -> Markup:
    """Trusted markup: its makers have escaped what came from outside."""
    from markupsafe import Markup

    return Markup(text)


def page_style() -> Markup:
    """The style sheet of reports and summaries."""
    sheets = (Path(__file__).with_name(f"{name}.css") for name in ("colours", "page", "verdict"))
    return markup("".join(sheet.read_text(encoding="utf-8") for sheet in sheets))

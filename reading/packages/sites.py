"""A site: the statement that raises an exception, writes a log line, warns, asserts or exits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..python.parts import Parts, template_text

KINDS = ("raise", "log", "assert", "warn", "exit", "print")


@dataclass(frozen=True, slots=True)
class Site:
    """One site, as its source shows it.

    ``file`` is relative to the folder of packages, with slashes; ``function`` is the qualified name
    within ``module``, "" at module level. ``line`` and ``last_line`` are those of the statement.
    ``exception`` is the class as it is written (``errors.BadInput``), also that of an assertion or
    a warning; ``bases`` are the ancestors of a class that the package defines, nearest first.
    ``guards`` are the tests that held, innermost first; ``parameters`` those of the function.
    """

    package: str
    version: str
    module: str
    function: str
    file: str
    line: int
    last_line: int
    kind: str
    level: str = ""
    exception: str = ""
    parts: Parts = ("",)
    guards: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        """The message with ``{name}`` for each placeholder."""
        return template_text(self.parts)

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The expressions that are filled in, as the source writes them."""
        return self.parts[1::2]

    @property
    def guard(self) -> str:
        """The innermost test that held, or ""."""
        return self.guards[0] if self.guards else ""

    @property
    def exception_name(self) -> str:
        """The class without its module."""
        return self.exception.rpartition(".")[2]

    @property
    def literal_length(self) -> int:
        """How many characters of the message are constant."""
        return sum(len(part) for part in self.parts[::2])

    def with_parts(self, parts: Parts) -> Site:
        """The site with another template."""
        return replace(self, parts=parts)

"""Changes that pages, chats, terminals and people make to a whole text before it is pasted."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable

Distortion = Callable[[str], str]
DISTORTIONS: dict[str, Distortion] = {}
CUTS: set[str] = set()
"""Those that take away the basis of the answer: it may be missing, but not be another one."""
_FRAME = re.compile(r'  File "([^"]+)", line (\d+), in (.+)')
_CELL = re.compile(r"File (\S+):(\d+), in (.+)")
_NUMBERED = re.compile(r"\A(-+> ?|\s+)(\d+)( .*)?\Z")
_STAMPED = re.compile(r"\d{4}-\S{3,5}-\d\d[ T]")
TALK = "Hello all, I get this since I updated, what can I do about it?"
_EDITOR = "https://edit.vscode-cdn.net/home/kim"


def distortion(function: Distortion) -> Distortion:
    DISTORTIONS[function.__name__] = function
    return function


def cut(function: Distortion) -> Distortion:
    CUTS.add(function.__name__)
    return distortion(function)


def _each(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) for line in text.split("\n"))


def _numbered(text: str, mark: Callable[[int], str]) -> str:
    return "\n".join(mark(at) + line for at, line in enumerate(text.split("\n")))


def _is_code(lines: list[str], at: int) -> bool:
    """Whether a line is one of source below a frame."""
    return at > 0 and _FRAME.search(lines[at - 1]) is not None and lines[at].startswith("    ")


def _code(text: str, change: Callable[[str], str]) -> str:
    lines = text.split("\n")
    return "\n".join(change(line) if _is_code(lines, at) else line
                     for at, line in enumerate(lines))  # fmt: skip


@distortion
def indentation_stripped(text: str) -> str:
    return _each(text, str.lstrip)


@distortion
def indentation_of_code_stripped(text: str) -> str:
    return _code(text, str.lstrip)


@distortion
def indented_by_four(text: str) -> str:
    return _each(text, lambda line: f"    {line}" if line else line)


@distortion
def indented_by_tab(text: str) -> str:
    return _each(text, lambda line: f"\t{line}" if line else line)


@distortion
def indented_except_first(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first}\n{indented_by_four(rest)}"


@distortion
def tabs_for_blanks(text: str) -> str:
    return _each(text, lambda line: re.sub(r"\A(?:  )+", lambda m: "\t" * (len(m[0]) // 2), line))


@distortion
def runs_of_blanks_as_one(text: str) -> str:
    return _each(text, lambda line: re.sub(" +", " ", line))


@distortion
def empty_lines_between(text: str) -> str:
    return text.replace("\n", "\n\n")


@distortion
def stamped_by_container(text: str) -> str:
    return _numbered(text, lambda n: f"2025-01-02T03:04:{n % 60:02d}.{n:09d}Z ")


@distortion
def stamped_by_clock(text: str) -> str:
    return _numbered(text, lambda n: f"2025-01-02 03:04:{n % 60:02d} ")


@distortion
def logged_line_by_line(text: str) -> str:
    return _numbered(text, lambda n: f"2025-01-02 03:04:{n % 60:02d},{n:03d} - job - ERROR - ")


@distortion
def ranks(text: str) -> str:
    return _numbered(text, lambda n: "[rank3]: ")


@distortion
def task_numbers(text: str) -> str:
    return _numbered(text, lambda n: "0: ")


@distortion
def pods(text: str) -> str:
    return _numbered(text, lambda n: "[pod/llm-0/server] ")


@distortion
def pods_of_stern(text: str) -> str:
    return _numbered(text, lambda n: "llm-7c9f6d5b8-x2x4z server ")


@distortion
def ray_workers(text: str) -> str:
    return _numbered(text, lambda n: "(RayWorkerWrapper pid=4711, ip=10.0.0.7) ")


@distortion
def compose(text: str) -> str:
    return _numbered(text, lambda n: "server-1  | ")


@distortion
def quoted(text: str) -> str:
    return _numbered(text, lambda n: "> ")


@distortion
def quoted_tightly(text: str) -> str:
    return _numbered(text, lambda n: ">")


@distortion
def quoted_twice(text: str) -> str:
    return _numbered(text, lambda n: "> > ")


@distortion
def bars(text: str) -> str:
    return _numbered(text, lambda n: "| ")


@distortion
def line_numbers_of_a_page(text: str) -> str:
    return _numbered(text, lambda n: f"{n + 118:4d} ")


@distortion
def line_numbers_with_tab(text: str) -> str:
    return _numbered(text, lambda n: f"{n + 1}\t")


@distortion
def wrapped_80(text: str) -> str:
    return "\n".join(line[at : at + 80] for line in text.split("\n")
                     for at in range(0, max(len(line), 1), 80))  # fmt: skip


@distortion
def wrapped_80_between_words(text: str) -> str:
    return _each(text, lambda line: textwrap.fill(
        line, 80, break_long_words=False, break_on_hyphens=False, drop_whitespace=True)
        if len(line) > 80 else line)  # fmt: skip


@distortion
def code_over_lines(text: str) -> str:
    """Put the content of braces on a line of its own, as some pages do."""
    return _code(text, lambda line: re.sub(r"\s*([({]\w*[)}]?)\s*", r"\n\1\n", line, count=3))


@distortion
def code_at_line_start(text: str) -> str:
    return _code(text, lambda line: line.strip().replace("(", "(\n"))


@distortion
def code_left_out(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(line for at, line in enumerate(lines) if not _is_code(lines, at))


@distortion
def carets(text: str) -> str:
    return _code(text, lambda line: f"{line}\n    {'^' * max(len(line) - 4, 1)}")


@distortion
def carets_and_waves_at_line_start(text: str) -> str:
    return _code(text, lambda line: f"{line}\n{'~' * 9}{'^' * 12}")


@distortion
def linked_files(text: str) -> str:
    text = _each(text, lambda line: _FRAME.sub(
        rf'  File "[\1]({_EDITOR}\1)", line [\2]({_EDITOR}\1:\2), in \3', line))  # fmt: skip
    return _each(text, lambda line: _CELL.sub(
        rf"File [\1:\2]({_EDITOR}/\1:\2), in \3", line))  # fmt: skip


@distortion
def linked_numbers(text: str) -> str:
    """Link the numbers of the lines of a notebook's cells, as an editor does."""
    return _each(text, lambda line: _NUMBERED.sub(
        rf"\1[\2](vscode-notebook-cell:{_EDITOR}/x.ipynb#X1:\2)\3", line))  # fmt: skip


@distortion
def autolinked(text: str) -> str:
    return _each(text, lambda line: re.sub(r"https?://[^\s,)]+", r"<\g<0>>", line))


@distortion
def html_entities(text: str) -> str:
    return html.escape(text)


@distortion
def html_entities_twice(text: str) -> str:
    return html.escape(html.escape(text))


@distortion
def html_numeric_entities(text: str) -> str:
    return text.translate({ord(c): f"&#{ord(c)};" for c in "\"'<>&"})


@distortion
def html_block(text: str) -> str:
    return f'<pre class="code"><code>{html.escape(text)}</code></pre>'


@distortion
def html_breaks(text: str) -> str:
    return html.escape(text).replace("\n", "<br/>\n")


@distortion
def html_spans(text: str) -> str:
    text = html.escape(text, quote=False)
    return _each(text, lambda line: re.sub(r"[A-Za-z]*Error\b|\d{2,}\b|in\b",
                                           r'<span class="k">\g<0></span>', line))  # fmt: skip


@distortion
def html_links(text: str) -> str:
    return re.sub(r'(?<=File ")[^"]+', r'<a href="file://\g<0>">\g<0></a>', text)


@distortion
def backticks(text: str) -> str:
    return f"`{text}`"


@distortion
def backticks_around_lines(text: str) -> str:
    return _each(text, lambda line: f"`{line}`" if line.strip() else line)


@distortion
def fenced(text: str) -> str:
    return f"{TALK}\n```\n{text}\n```\nThanks!"


@distortion
def fenced_with_language(text: str) -> str:
    return f"### Logs\n\n```python-traceback\n{text}\n```\n\n### Versions\n\n- Python 3.10"


@distortion
def fence_on_the_line(text: str) -> str:
    return f"```{text}```"


@distortion
def fenced_in_list(text: str) -> str:
    inside = _each(f"```\n{text}\n```", lambda line: f"   {line}")
    return f"1. run it\n\n{inside}\n2. see the error"


@distortion
def details(text: str) -> str:
    return f"<details>\n<summary>Log</summary>\n\n```\n{text}\n```\n\n</details>"


@distortion
def smart_quotes(text: str) -> str:
    text = re.sub(r'"([^"\n]*)"', "“\\1”", text)
    return re.sub(r"'([^'\n]*)'", "‘\\1’", text)


@distortion
def smart_ellipsis_and_dashes(text: str) -> str:
    return text.replace("...", "…").replace("---", "—").replace("--", "–")


@distortion
def escaped_markdown(text: str) -> str:
    return re.sub(r"([_*\[\]<>#])", r"\\\1", text)


@distortion
def emphasis_eaten(text: str) -> str:
    """Drop the underscores of `__init__`, as a page does that did not fence it."""
    return re.sub(r"__(\w+?)__", r"\1", text)


@distortion
def non_breaking_spaces(text: str) -> str:
    return _each(text, lambda line: re.sub(r"\A +|  +", lambda m: "\xa0" * len(m[0]), line))


@distortion
def windows_line_ends(text: str) -> str:
    return text.replace("\n", "\r\n")


@distortion
def colours(text: str) -> str:
    return _each(text, lambda line: f"\x1b[0;31m{line}\x1b[0m")


@distortion
def colours_without_escape(text: str) -> str:
    return _each(text, lambda line: f"[0;31m{line}[0m")


@distortion
def escaped_line_ends(text: str) -> str:
    return text.replace("\n", "\\n")


@distortion
def within_json(text: str) -> str:
    import json

    return json.dumps({"status": "failed", "error": text})

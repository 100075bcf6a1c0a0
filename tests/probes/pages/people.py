"""Changes that people make to a text: parts that they leave out, shorten or put around it."""

from __future__ import annotations

import re

from .distortions import TALK, cut, distortion

_LONG = 6
_HEALTHY = (
    "2025-03-01 09:00:00,100 INFO worker: loading weights from /models/llama\n"
    "2025-03-01 09:00:09,100 INFO worker: loaded 291 tensors in 9.0 s"
)


@distortion
def header_cut(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if "Traceback (most recent" not in line)


@distortion
def first_lines_cut(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[min(3, max(len(lines) - 3, 0)) :])


@distortion
def first_half_cut(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[len(lines) // 2 :]) if len(lines) >= _LONG else text


@distortion
def begun_within_a_line(text: str) -> str:
    first, line_end, rest = text.partition("\n")
    return first[len(first) // 2 :] + line_end + rest if text.count("\n") >= _LONG else text


@cut
def last_line_cut(text: str) -> str:
    return text.rpartition("\n")[0] or text


@cut
def last_line_cut_within(text: str) -> str:
    above, line_end, last = text.rpartition("\n")
    return above + line_end + last[: len(last) * 2 // 3]


@cut
def second_half_cut(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[: len(lines) // 2]) if len(lines) >= _LONG else text


@distortion
def shortened_paths(text: str) -> str:
    return re.sub(r"[~/][\w./~-]*/(?:site-packages|kim)/", ".../", text)


@distortion
def masked_paths(text: str) -> str:
    return re.sub(r"[~/][\w./~-]*/(?=site-packages/|kim/)", "/<redacted>/", text)


@distortion
def windows_paths(text: str) -> str:
    return re.sub(r'(?<=File ")(/[^"]*)', lambda m: "C:" + m[0].replace("/", "\\"), text)


@distortion
def talk_around(text: str) -> str:
    return f"{TALK}\n\n{text}\n\nAny help is welcome."


@distortion
def talk_right_above(text: str) -> str:
    return f"{TALK} Here is the error:\n{text}"


@distortion
def healthy_log_above(text: str) -> str:
    return f"{_HEALTHY}\n{text}"


@distortion
def healthy_log_below(text: str) -> str:
    return f"{text}\n{_HEALTHY}"


@distortion
def twice(text: str) -> str:
    return f"{text}\n{text}"


@distortion
def command_above(text: str) -> str:
    return f"(venv) kim@trn1:~/port$ python run.py --tp 8\n{text}\n(venv) kim@trn1:~/port$ "


@distortion
def class_at_the_end_wrapped(text: str) -> str:
    """The class of the last line alone on its line, as narrow columns show it."""
    return re.sub(r"(?m)^([A-Z][\w.]*(?:Error|Exception)): (?=.*\Z)", r"\1:\n", text)

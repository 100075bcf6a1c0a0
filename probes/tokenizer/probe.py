"""Tokenizer folders -> their settings, and their differences from the folder of their base
model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress, interrupted
from ..outcome import Collector, Outcome
from ..weights.recognition import role_of_weights
from .files import TokenizerFolder, read_folder
from .recognition import CONFIG

SOURCE = "probe:tokenizer"
MAX_FOLDERS = 50


def gather_tokenizer(
    path: Path | str, vocabulary: Vocabulary, *, base: Path | str | None = None,
    progress: Progress = UNWATCHED,
) -> Outcome:  # fmt: skip
    """The ``tokenizer_files`` fact of a folder and, with the folder of its ``base`` model,
    ``tokenizer_comparison`` for each aspect that both sides have.

    Problems: MM440 cannot be read, MM441 a file is not JSON, MM453 there is no tokenizer, MM442
    folders were left out, MM407 interrupted. Never raises over an input.
    """
    collector = Collector(vocabulary, SOURCE)
    folders = _read([Path(path), *([Path(base)] if base else [])], collector, progress)
    if folders:
        _add(collector, folders[0])
    if len(folders) == 2:
        _compare(collector, folders[0], folders[1])
    return collector.outcome()


def gather_found(
    paths: Sequence[Path], vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The facts of folders that were found. One is compared with another if that is plainly its
    base model: by the name that an adapter gives, or as the merged model beside both."""
    collector = Collector(vocabulary, SOURCE)
    if len(paths) > MAX_FOLDERS:
        text = f"{len(paths)} folders with a tokenizer; the first {MAX_FOLDERS} are read"
        collector.problem("MM442", text, Location(str(paths[MAX_FOLDERS])))
    folders = _read(paths[:MAX_FOLDERS], collector, progress)
    for folder in folders:
        _add(collector, folder)
    for folder, base in _related(folders):
        _compare(collector, folder, base)
    return collector.outcome()


def _read(paths: Sequence[Path], collector: Collector, progress: Progress) -> list[TokenizerFolder]:
    folders: list[TokenizerFolder] = []
    with progress.part("tokenizers", len(paths), "folders", ends_early=True) as step:
        for path in paths:
            folder = read_folder(path)
            collector.extend(folder.problems)
            if not (folder.config or folder.vocabulary or folder.problems):
                hint = f"name a folder with {CONFIG}"
                collector.problem("MM453", "there is no tokenizer here", Location(str(path)), hint)
                return []
            folders.append(folder)
            if not step(1) and path != paths[-1]:
                collector.extend(
                    [interrupted("further tokenizers were not read", Location(str(path)))]
                )
                break
    return folders


def _add(collector: Collector, folder: TokenizerFolder) -> None:
    place = str(folder.path)
    collector.add(
        "tokenizer_files", str(folder.path / CONFIG), place=place, model=folder.model or None,
        tokenizer_class=folder.tokenizer_class or None,
        chat_template=bool(folder.template.strip()) if folder.template is not None else None,
        family=folder.family or None, eos=folder.eos or None,
        tokens=folder.vocabulary.tokens if folder.vocabulary else None,
    )  # fmt: skip


def _related(
    folders: Sequence[TokenizerFolder],
) -> Iterator[tuple[TokenizerFolder, TokenizerFolder]]:
    """Folders with that of their base model."""
    for folder in folders:
        if folder.is_adapter and folder.model:
            last = folder.model.rstrip("/").rpartition("/")[2]
            for base in folders:
                named = {base.path.name, base.model, base.model.rpartition("/")[2]}
                if not base.is_adapter and (last in named or folder.model in named):
                    yield folder, base
                    break
    models = [f for f in folders if not f.is_adapter and role_of_weights(f.path) == "model"]
    bases = [f for f in models if "base" in f.path.name.lower()]
    if len(bases) == 1 and bases[0].architecture:
        for folder in models:
            alike = folder.architecture == bases[0].architecture
            if folder is not bases[0] and alike and folder.path.parent == bases[0].path.parent:
                yield folder, bases[0]


def _compare(collector: Collector, folder: TokenizerFolder, base: TokenizerFolder) -> None:
    where = str(folder.path / CONFIG)
    place, other = str(folder.path), str(base.path)
    if folder.vocabulary and base.vocabulary:
        same = folder.vocabulary == base.vocabulary
        counts = (f"{folder.vocabulary.tokens:,} tokens, and {base.vocabulary.tokens:,} in the "
                  "base model")  # fmt: skip
        collector.add("tokenizer_comparison", where, place=place, aspect="vocabulary", same=same,
                      base=other, detail=None if same else counts)  # fmt: skip
    if folder.template is not None and base.template is not None:
        ours, theirs = folder.template.strip(), base.template.strip()
        collector.add("tokenizer_comparison", where, place=place, aspect="chat-template",
                      same=ours == theirs, lost=bool(theirs and not ours), base=other)  # fmt: skip
    if folder.eos and base.eos:
        same = folder.eos == base.eos
        ends = f"{folder.eos}, and {base.eos} in the base model"
        collector.add("tokenizer_comparison", where, place=place, aspect="eos", same=same,
                      base=other, detail=None if same else ends)  # fmt: skip

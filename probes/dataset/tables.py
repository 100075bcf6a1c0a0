"""Rows of tables: Parquet files, Arrow files, and folders that HuggingFace datasets has saved.

Needs pyarrow. Rows are read in batches of bounded memory; nothing of them is run or unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...facts.problems import Location, ModelMedicError, Problem
from ...facts.regular_files import open_regular

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_STATE = ("state.json", "dataset_info.json")
_SUFFIXES = (".parquet", ".arrow")
_BATCH = 64
MAX_FILES = 2_000
MAX_DEPTH = 3


def is_table(head: bytes, name: str) -> bool:
    """Whether ``head`` is the beginning of a table. A stream has no name of its own in it."""
    stream = head.startswith(ARROW_STREAM) and name.endswith(".arrow")
    return head.startswith((PARQUET, ARROW_FILE)) or stream


def is_table_folder(folder: Path) -> bool:
    """Whether HuggingFace datasets has saved this folder (``save_to_disk``), with or without
    splits."""
    return any(os.path.isfile(folder / name) for name in (*_STATE, "dataset_dict.json")) and bool(
        table_files(folder)
    )


def table_files(folder: Path) -> list[Path]:
    """The files with the rows of a folder, in the order of their names."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        deep = len(Path(place).relative_to(folder).parts) >= MAX_DEPTH
        folders[:] = [] if deep else sorted(folders)
        found += [Path(place, n) for n in sorted(names)
                  if n.endswith(_SUFFIXES) and not n.startswith(("cache-", "tmp"))]  # fmt: skip
        if len(found) > MAX_FILES:
            break
    return [path for path in found if not path.is_symlink()][:MAX_FILES]


def rows_of(path: Path) -> Iterator[Any]:
    """The rows of a table as plain values. Raises MM440 if it cannot be read, and
    ``ImportError`` without pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_regular(path) as file:
            head = file.read(8)
            file.seek(0)
            if head.startswith(PARQUET):
                source = pq.ParquetFile(file, thrift_string_size_limit=50_000_000)
                for batch in source.iter_batches(batch_size=_BATCH):
                    yield from batch.to_pylist()
                return
            if head.startswith(ARROW_FILE):
                reader = pa.ipc.open_file(file)
                batches = (reader.get_batch(n) for n in range(reader.num_record_batches))
            else:
                batches = iter(pa.ipc.open_stream(file))
            for batch in batches:
                for start in range(0, batch.num_rows, _BATCH):
                    yield from batch.slice(start, _BATCH).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0][:200]
        where = Location(str(path))
        raise ModelMedicError(Problem("MM440", f"cannot read the table: {reason}", where,
                                      "check that it is complete")) from None  # fmt: skip

"""Instance types: chips, cores of a chip as they are seen by default, and memory of a chip in GiB.

From the hardware pages of the AWS Neuron documentation (inf1-arch, inf2-arch, trn1-arch, trn2-arch,
logical NeuronCores). Trn2 shows 4 logical cores of a chip by default (2 physical ones each).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = re.compile(r"(?:inf[12]|trn[12][nu]?)\.[0-9]{0,2}xlarge")


class Instance(NamedTuple):
    """The hardware of an instance type."""

    chips: int
    cores: int
    chip_gib: int

    @property
    def core_gib(self) -> float:
        """Memory of one core, in GiB."""
        return self.chip_gib / self.cores


INSTANCES = {
    "inf1.xlarge": Instance(1, 4, 8), "inf1.2xlarge": Instance(1, 4, 8),
    "inf1.6xlarge": Instance(4, 4, 8), "inf1.24xlarge": Instance(16, 4, 8),
    "inf2.xlarge": Instance(1, 2, 32), "inf2.8xlarge": Instance(1, 2, 32),
    "inf2.24xlarge": Instance(6, 2, 32), "inf2.48xlarge": Instance(12, 2, 32),
    "trn1.2xlarge": Instance(1, 2, 32), "trn1.32xlarge": Instance(16, 2, 32),
    "trn1n.32xlarge": Instance(16, 2, 32), "trn2.3xlarge": Instance(1, 4, 96),
    "trn2.48xlarge": Instance(16, 4, 96), "trn2u.48xlarge": Instance(16, 4, 96),
}  # fmt: skip


def instance_of(text: str, logical: int | None = None) -> tuple[str, Instance] | None:
    """The instance type that a text names. ``logical`` is the number of physical cores that form a
    logical one if that is set (Trn2: 1 or 2)."""
    found = _NAME.search(text.lower())
    known = INSTANCES.get(found[0]) if found else None
    if found is None or known is None:
        return None
    if found[0].startswith("trn2") and logical in (1, 2):
        known = known._replace(cores=8 // logical)
    return found[0], known

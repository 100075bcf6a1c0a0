"""The finders, by the names that ``find`` of a hypothesis has."""

from __future__ import annotations

from .cache_scales import CACHE_FINDERS
from .embedding_fresh import EMBEDDING_FRESH
from .embedding_rows import EMBEDDING_FINDERS
from .experts import EXPERT_FINDERS
from .functions_read import FUNCTION_FINDERS
from .given import Finder
from .key_counts import COUNT_FINDERS
from .mask_kinds import MASK_FINDERS
from .other_weights import OTHER_WEIGHTS
from .part_inputs import PART_INPUTS
from .parts import PARTS
from .rotary_table import TABLE_FINDERS
from .routing_read import ROUTING_FINDERS
from .row_orders import ROW_FINDERS
from .vectors import VECTOR_FINDERS

FINDERS: dict[str, Finder] = {
    **PARTS,
    **ROW_FINDERS,
    **EMBEDDING_FINDERS,
    **EMBEDDING_FRESH,
    **OTHER_WEIGHTS,
    **PART_INPUTS,
    **MASK_FINDERS,
    **TABLE_FINDERS,
    **EXPERT_FINDERS,
    **VECTOR_FINDERS,
    **FUNCTION_FINDERS,
    **ROUTING_FINDERS,
    **COUNT_FINDERS,
    **CACHE_FINDERS,
}

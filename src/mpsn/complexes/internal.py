"""What the other rooms of the library build on. Not stable: any release may change these names."""

from mpsn.complexes._batching import cut_table, take
from mpsn.complexes._building import as_incidences, close_tables, close_under_faces, named_complex
from mpsn.complexes._collating import join_rows
from mpsn.complexes._mapped import is_packed
from mpsn.complexes._maps import image
from mpsn.complexes._packed import labels_by_complex, open_or_load
from mpsn.complexes._pairs import Kind, Pairs, pairs_of
from mpsn.complexes._parts import closure, restrict
from mpsn.complexes._sampling import nearby
from mpsn.complexes._saving import encode_labels, from_parts, to_parts

__all__ = [
    "Kind",
    "Pairs",
    "as_incidences",
    "close_tables",
    "close_under_faces",
    "closure",
    "cut_table",
    "encode_labels",
    "from_parts",
    "image",
    "is_packed",
    "join_rows",
    "labels_by_complex",
    "named_complex",
    "nearby",
    "open_or_load",
    "pairs_of",
    "restrict",
    "take",
    "to_parts",
]

"""What statistical packages know about a column besides its values: labels, formats, missing codes.

It is kept as metadata of the Arrow field. The labels say what the questionnaire says. Which code
a null had (refused, not asked) is kept separately, with a hash of the column, and counts only as
long as the column is the one that was read: a null of another column has no code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LABELS = b"discreet.labels"
_CODES = b"discreet.null codes"
Code = float | str
# What is released of a cell that tells nothing; in Stata, missing values are letters.
STAR, _LETTER = "*", "a"
# Whose numbers have labels.
CODED = ("sav", "dta")


@dataclass(frozen=True)
class Labels:
    """What is known about a column besides its values: what it and they mean, in words.

    Examples
    --------
    >>> sex = with_labels(pa.field("sex", pa.int64()), Labels("Sex", {1: "male", 2: "female"}))
    >>> labels_of(sex).values
    {1: 'male', 2: 'female'}
    """

    label: str | None = None
    values: Mapping[Any, str] = field(default_factory=dict)
    # Codes that stand for a missing value: each a value, or a pair, the ends of a range.
    missing: tuple[Any, ...] = ()
    # As the program has them.
    format: str | None = None
    measure: str | None = None
    # Whose format and codes these are: "sav" (SPSS), "dta" (Stata) or "sas".
    program: str | None = None
    # Of text that was codes: the number of each in the files of SPSS and Stata, where numbers have
    # labels.
    codes: Mapping[str, int] = field(default_factory=dict)


def labels_of(field: pa.Field) -> Labels:
    """Return what is known about a field; empty labels if nothing is."""
    text = (field.metadata or {}).get(_LABELS)
    if text is None:
        return Labels()
    try:
        content = json.loads(text)
        content["values"] = dict(content.get("values", []))
        missing = content.get("missing", [])
        content["missing"] = tuple(tuple(m) if isinstance(m, list) else m for m in missing)
        return Labels(**content)
    except (ValueError, TypeError, AttributeError):
        # Another program's, in a file that came from elsewhere.
        return Labels()


def with_labels(field: pa.Field, labels: Labels) -> pa.Field:
    """Return a field with these labels, and without null codes."""
    content = {key: value for key, value in asdict(labels).items() if value not in (None, {}, ())}
    if "values" in content:
        content["values"] = list(content["values"].items())
    if not content:
        return field.remove_metadata()
    return field.with_metadata({_LABELS: json.dumps(content, ensure_ascii=False).encode()})


def public_field(field: pa.Field) -> pa.Field:
    """Return a field with its labels and none of its other metadata."""
    return _with_only(field, _LABELS)


def own_field(field: pa.Field) -> pa.Field:
    """Return a field with its labels and the codes of its nulls, and no other metadata."""
    return _with_only(field, _LABELS, _CODES)


def _with_only(field: pa.Field, *keys: bytes) -> pa.Field:
    kept = {key: value for key, value in (field.metadata or {}).items() if key in keys}
    return field.with_metadata(kept) if kept else field.remove_metadata()


def with_null_codes(field: pa.Field, column: pa.ChunkedArray, codes: pa.Array | None) -> pa.Field:
    """Remember which code each null of the field's column had; codes are by row, null for none."""
    field = public_field(field)
    if codes is None:
        return field
    codes = codes.filter(column.is_null().combine_chunks())
    known = codes.dictionary_encode()
    if not len(known.dictionary):
        return field
    places = pc.fill_null(known.indices, -1).to_numpy().astype(np.int32)
    content = {
        "codes": known.dictionary.to_pylist(),
        "places": base64.b64encode(zlib.compress(places.tobytes())).decode(),
        "column": _digest(column),
    }
    metadata = {**(field.metadata or {}), _CODES: json.dumps(content).encode()}
    return field.with_metadata(metadata)


def null_codes(field: pa.Field, column: pa.ChunkedArray) -> pa.Array | None:
    """Return the codes of a column's nulls by row; None if it has none.

    Also None if the column is not the one that the codes were kept for.
    """
    text = (field.metadata or {}).get(_CODES)
    if text is None:
        return None
    content = json.loads(text)
    if content["column"] != _digest(column):
        return None
    places = np.frombuffer(zlib.decompress(base64.b64decode(content["places"])), np.int32)
    rows = np.full(len(column), -1, dtype=np.int32)
    rows[column.is_null().to_numpy()] = places
    return pa.array(content["codes"]).take(pa.array(rows, mask=rows < 0))


def _digest(column: pa.ChunkedArray) -> str:
    """Hash a column's cells in their order."""
    present = column.drop_null().combine_chunks()
    if pa.types.is_dictionary(present.type):
        present = present.dictionary_decode()
    digest = hashlib.sha256(str(column.type).encode())
    digest.update(np.packbits(column.is_null().to_numpy()).tobytes())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("x", present.type)])) as stream:
        # Joined with nothing, so that the buffers hold these cells and no others.
        whole = pa.concat_arrays([present, present.slice(0, 0)])
        stream.write_batch(pa.record_batch([whole], names=["x"]))
    digest.update(sink.getvalue())
    return digest.hexdigest()


def replaced(field: pa.Field, before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.Field:
    """Return the field of a column that was normalised: its labels, and codes where nulls were."""
    codes = null_codes(field, before)
    return with_null_codes(field.with_type(after.type), after, codes)


def take_rows(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Take some rows of a table; nulls keep their codes."""
    taken = table.take(pa.array(rows))
    fields = []
    for own in table.schema:
        codes = null_codes(own, table[own.name])
        codes = codes if codes is None else codes.take(pa.array(rows))
        fields.append(with_null_codes(own, taken[own.name], codes))
    return pa.Table.from_arrays(taken.columns, schema=pa.schema(fields))


def released_labels(
    original: pa.Table,
    protected: pa.Table,
    seen: Collection[str],
    left_out: np.ndarray,
    unchanged: Collection[str] = (),
) -> pa.Table:
    """Label a protected table like the original, as far as labels may be shared and still apply.

    The rows are in the same order; those left out are blank. The nulls of columns that a step
    treats or reads (`seen`) have no codes, which would split records that a promise counts as one
    class.

    A value or missing-value code that no released record holds has no label, because a list
    of labels may have been made from the records. A treated column of numbers keeps its value
    labels only if all its values still have one, or if they are what they were (`unchanged`); in a
    text column, a code means what it meant before. The display format of a text column, and of one
    that a step treats or reads, is left out: its width is that of the longest original value.
    """
    fields = []
    for own in protected.schema:
        source, column = original.schema.field(own.name), protected[own.name]
        labels = labels_of(source)
        if labels == Labels():
            fields.append(own.remove_metadata())
            continue
        text = is_text(own.type)
        if own.type != source.type:
            codes_of = _codes_of(column) if text and labels.values else {}
            meant = _by_text(labels.values) if text else {}
            labels = Labels(labels.label, meant, measure=labels.measure, codes=codes_of)
        elif own.name in seen:
            labels = replace(labels, missing=(), format=None)
        elif text:
            labels = replace(labels, format=None)
        codes = _without(source, original, left_out) if labels.missing else None
        used = set() if codes is None else set(codes.unique().to_pylist()) - {None}
        missing = tuple(one for one in labels.missing if any(_means(one, c) for c in used))
        if labels.values:
            used |= set(column.unique().to_pylist()) - {None}
        same = own.name not in seen or own.name in unchanged
        applies = text or same or used <= set(labels.values)
        values = {v: text for v, text in labels.values.items() if applies and v in used}
        named = with_labels(own, replace(labels, values=values, missing=missing))
        fields.append(with_null_codes(named, column, codes))
    return pa.Table.from_arrays(protected.columns, schema=pa.schema(fields))


def _codes_of(column: pa.ChunkedArray) -> dict[str, int]:
    """Give numbers to the text that codes became: codes stay what they are, groups come after.

    They begin at 101, or after the next power of ten. A star is the last.

    Examples
    --------
    >>> _codes_of(pa.chunked_array([["2", "*", "1", "south", None]]))
    {'1': 1, '2': 2, 'south': 101, '*': 102}
    """
    values = set(column.unique().to_pylist()) - {None}
    codes = {text: int(text) for text in values if re.fullmatch(r"0|-?[1-9]\d{0,8}", text)}
    groups = sorted(values - set(codes), key=lambda text: (text == STAR, text))
    first = 10 ** max(2, len(str(max(codes.values(), default=0)))) + 1
    known = dict(sorted(codes.items(), key=lambda one: one[1]))
    return known | {text: first + i for i, text in enumerate(groups)}


def coded(own: pa.Field, column: pa.ChunkedArray, program: str) -> tuple[pa.Field, pa.ChunkedArray]:
    """Return text that was codes as numbers with labels, as SPSS ("sav") and Stata ("dta") do.

    A star is a missing value with a code of its own. Other columns are returned as they are.
    """
    labels = labels_of(own)
    if not labels.codes:
        return own, column
    text = pa.array(list(labels.codes), column.type)
    place = pc.index_in(column, value_set=text)
    star = pc.fill_null(pc.equal(column, STAR), False)
    number = pa.array(list(labels.codes.values()), pa.int64())
    numbers = pc.if_else(star, None, pa.chunked_array([number.take(place.combine_chunks())]))
    values: dict[Any, str] = {n: labels.values.get(t, t) for t, n in labels.codes.items()}
    nulls: pa.Array | None = None
    missing: tuple[Any, ...] = ()
    if STAR in labels.codes:
        code: Any = float(labels.codes[STAR]) if program == "sav" else _LETTER
        del values[labels.codes[STAR]]
        values[code], missing = STAR, (code,)
        nulls = pc.if_else(star, pa.scalar(code), None).combine_chunks()
    named = replace(labels, values=values, missing=missing, program=program, codes={})
    made = with_labels(pa.field(own.name, numbers.type), named)
    return with_null_codes(made, numbers, nulls), numbers


def uncoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return numbers of an SPSS or Stata file as the text that they stand for, by a schema."""
    for i, own in enumerate(table.schema):
        codes = labels_of(schema.field(own.name)).codes if own.name in schema.names else {}
        if codes and not is_text(own.type):
            texts = {number: text for text, number in codes.items()}
            table = table.set_column(i, own.name, _as_text(own, table[own.name], texts))
    return table


def with_stars(table: pa.Table) -> pa.Table:
    """Return a released table, of which no schema is at hand, with its missing codes as stars.

    A column with such a code is text then, so that a star is neither a number nor a null.
    """
    for i, own in enumerate(table.schema):
        if STAR in (labels_of(own).values.get(code) for code in labels_of(own).missing):
            table = table.set_column(i, own.name, _as_text(own, table[own.name], {}))
    return table


def _as_text(own: pa.Field, column: pa.ChunkedArray, texts: Mapping[Any, str]) -> pa.ChunkedArray:
    """Return numbers as text, some of them as given, and the missing code of a star as one."""
    values, codes = labels_of(own).values, null_codes(own, column)
    encoded = column.combine_chunks().dictionary_encode()
    plain = encoded.dictionary.cast(pa.string()).to_pylist()
    numbers = encoded.dictionary.to_pylist()
    named = [texts.get(number, text) for number, text in zip(numbers, plain, strict=True)]
    found = pa.chunked_array([pa.array(named, pa.string()).take(encoded.indices)])
    if codes is None:
        return found
    stars = pa.array([code for code in codes.unique().to_pylist() if values.get(code) == STAR])
    return pc.if_else(pc.is_in(codes, value_set=stars.cast(codes.type)), STAR, found)


def carried(table: pa.Table, format: str) -> pa.Table:
    """Leave out missing-value codes, and their labels, that a format does not have."""
    fields = []
    for own in table.schema:
        labels = labels_of(own)
        if labels.codes and format not in CODED:
            labels = replace(labels, codes={})
            own = with_labels(own, labels)
        if labels.missing and labels.program != format:
            kept = {
                value: label
                for value, label in labels.values.items()
                if not any(_means(one, value) for one in labels.missing)
            }
            own = with_labels(own, replace(labels, values=kept, missing=()))
        fields.append(own)
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def _means(missing: Any, value: Any) -> bool:
    """Tell whether a value is a missing-value code: the code itself, or within its range."""
    low, high = missing if isinstance(missing, tuple) else (missing, missing)
    return isinstance(low, str) == isinstance(value, str) and bool(low <= value <= high)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds text, or categories of text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _by_text(values: Mapping[Any, str]) -> dict[str, str]:
    """Return value labels by the values' text, as generalization writes them."""
    whole = {v: int(v) if isinstance(v, float) and v.is_integer() else v for v in values}
    return {str(whole[value]): label for value, label in values.items()}


def _without(field: pa.Field, table: pa.Table, rows: np.ndarray) -> pa.Array | None:
    """Return the codes of a column's nulls, except in some rows."""
    codes = null_codes(field, table[field.name])
    if codes is None or not len(rows):
        return codes
    gone = np.zeros(len(codes), dtype=bool)
    gone[rows] = True
    return pc.if_else(pa.array(gone), pa.scalar(None, codes.type), codes)

"""The C header of records that processes share, so that other programs can join.

The header has a struct for each record, which is the whole frame as it is in its window, and
functions that open, read, wait for, claim and write one. It follows `linkwright.windows.records`:
a sequence that is odd while a frame is written, a checksum, and the digest of the declaration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from linkwright.windows import Record
from linkwright.windows.records import HEAD, MAGIC, MULTIPLIER, VERSION

_TYPES = {
    "f64": "double", "f32": "float",
    "i64": "int64_t", "i32": "int32_t", "i16": "int16_t", "i8": "int8_t",
    "u64": "uint64_t", "u32": "uint32_t", "u16": "uint16_t", "u8": "uint8_t",
}  # fmt: skip


def c_name(text: str) -> str:
    """Return a text as a name of C's.

    >>> c_name("joint_state.th"), c_name("2nd")
    ('joint_state_th', '_2nd')
    """
    found = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{found}" if found[:1].isdigit() else found


def c_header(
    title: str,
    records: Mapping[str, Record],
    names: Mapping[str, tuple[str, ...]] | None = None,
) -> str:
    """Return a header for C: the layout of records, and functions that read and write them.

    >>> from linkwright.windows import Field
    >>> text = c_header("arm", {"motor": Record("motor", Field("th", "rad", shape=(2,)))})
    >>> "double th[2];" in text
    True
    """
    guard = f"LINKWRIGHT_{c_name(title).upper()}_H"
    text = files("linkwright.lab").joinpath("window.h").read_text(encoding="utf-8")
    for word, value in (
        ("multiplier", f"{MULTIPLIER:016x}"),
        ("magic", f"{MAGIC:08x}"),
        ("version", str(VERSION)),
        ("head", str(HEAD)),
        ("guard", guard),
        ("title", title.replace("*/", "* /")),
    ):
        text = text.replace(f"@{word}@", value)
    parts = [text]
    for stem, listed in (names or {}).items():
        prefix = c_name(stem).upper()
        entries = ", ".join(f"{prefix}_{c_name(name)} = {i}" for i, name in enumerate(listed))
        parts.append(f"\nenum {{ {entries}, {prefix}_COUNT = {len(listed)} }};\n")
    parts += [_struct(name, record) for name, record in records.items()]
    return "".join([*parts, "\n#endif\n"])


def _struct(name: str, record: Record) -> str:
    """Return the struct of a record, and what opens its window."""
    stem = f"lw_{c_name(name)}"
    lines = [f"\n/* The window `{name}`. */", f"#define {stem.upper()}_FILE {_quoted(name)}"]
    lines += [f"#define {stem.upper()}_SCHEMA UINT64_C(0x{record.schema:016x})"]
    lines += ["typedef struct {", "    lw_head head;"]
    for i, field in enumerate(record.fields):
        sides = "".join(f"[{n}]" for n in field.shape)
        text = f"    {_TYPES[field.type]} {c_name(field.name)}{sides};"
        lines.append(f"{text:<48} /* {field.unit} */".replace("*/ */", "*/"))
        rest = -field.bytes % 8
        if rest:
            lines.append(f"    uint8_t pad_{i}[{rest}];")
    lines += [f"}} {stem};", f"_Static_assert(sizeof({stem}) == {record.size}, {_quoted(name)});"]
    lines += [
        f"static inline int {stem}_open(lw_window *w, const char *path, int writes) {{",
        f"    return lw_open(w, path, {stem.upper()}_SCHEMA, sizeof({stem}), writes);",
        "}\n",
    ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

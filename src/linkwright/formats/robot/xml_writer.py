"""XML written: a tree of elements as an indented text."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.formats.robot.xml import XmlElement

_CONTROL = dict.fromkeys(range(32))


def number_text(value: float) -> str:
    """Return the shortest text from which the same number is read.

    >>> number_text(1.0), number_text(-0.0), number_text(0.1), number_text(1e-7)
    ('1', '0', '0.1', '1e-07')
    """
    text = repr(float(value) + 0.0)
    return text.removesuffix(".0")


def numbers_text(values: Sequence[float]) -> str:
    """Return numbers with blanks between.

    >>> numbers_text((1.0, 0.5))
    '1 0.5'
    """
    return " ".join(number_text(value) for value in values)


def xml_text(root: XmlElement) -> str:
    """Return an element as a text, two blanks for each level.

    >>> print(xml_text(XmlElement("a", {"x": "<1>"}, (XmlElement("b"),))), end="")
    <?xml version="1.0"?>
    <a x="&lt;1&gt;">
      <b/>
    </a>
    """
    from xml.sax.saxutils import quoteattr  # which imports much that readers do not need

    lines = ['<?xml version="1.0"?>']
    stack: list[tuple[int, XmlElement | str]] = [(0, root)]
    while stack:
        depth, item = stack.pop()
        blanks = "  " * depth
        if isinstance(item, str):
            lines.append(f"{blanks}</{item}>")
            continue
        attributes = "".join(
            f" {name}={quoteattr(value.translate(_CONTROL))}"
            for name, value in item.attributes.items()
        )
        if not item.children:
            lines.append(f"{blanks}<{item.tag}{attributes}/>")
            continue
        lines.append(f"{blanks}<{item.tag}{attributes}>")
        stack.append((depth, item.tag))
        stack.extend((depth + 1, child) for child in reversed(item.children))
    return "\n".join(lines) + "\n"

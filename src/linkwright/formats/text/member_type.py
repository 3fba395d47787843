"""The type of a `[[member]]`, whose keys follow from its `kind`.

The kinds (`linkwright.formats.text.members`) are looked up when a member is read, so that a model
without members loads none of them.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import core_schema


def _member(value: Any) -> Any:
    from linkwright.formats.text.members import member_of

    return member_of(value)


class MemberType:
    """The type of a member, whose kinds are looked up when one is read."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_member)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        from linkwright.formats.text.members import member_records

        kinds: list[Any] = [kind.__pydantic_core_schema__ for kind in member_records().values()]
        found: dict[str, Any] = handler(core_schema.union_schema(kinds))
        return found

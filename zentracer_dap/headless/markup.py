"""HTML from functions: text is escaped unless it is markup already."""

from __future__ import annotations

from html import escape


class Markup(str):
    """A piece of HTML."""

    __slots__ = ()


def tag(name: str, *content: str, **attributes: str) -> Markup:
    """An element; a trailing ``_`` of an attribute's name is dropped (``class_``)."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{join(*content)}</{name}>")


def join(*content: str) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(c if isinstance(c, Markup) else escape(c) for c in content))


EMPTY = Markup()

"""Text from logs, made harmless for a terminal.

Escape sequences are removed, other controls dropped, and `\\r` and `\\b` folded as a terminal would show them.
"""

import re

TAB_WIDTH = 8

# CSI; strings (OSC, DCS, SOS, PM, APC) up to BEL or ST; other escapes (ECMA-48). The second form is the C1 code.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\n\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-Z\\-~]"
)
_BACKSPACES = re.compile("(\b+)")
# Controls (C0, C1), zero-width and bidirectional marks, interlinear and language tags. Tabs are expanded before.
_DROPPED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
_BREAKS = re.compile(r"[\u2028\u2029]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def strip_escapes(text: str) -> str:
    """`text` without terminal escape sequences; an unterminated one loses only its introducer when cleaned."""
    if "\x1b" not in text and text.isprintable():
        return text
    return _ESCAPE.sub("", text)


def segments(line: str) -> list[str]:
    """The states a line went through, oldest first, blank ones left out: a `\\r` starts over, `\\b` steps back."""
    states: list[str] = []
    for part in line.split("\r"):
        if "\b" not in part:
            states.append(part)
            continue
        shown = ""
        for piece in _BACKSPACES.split(part):
            if piece.startswith("\b"):
                states.append(shown)
                shown = shown[: -len(piece)]
            else:
                shown += piece
                if piece:
                    states.append(shown)
    return [state for state in states if state.strip()]


def clean_line(line: str) -> str:
    """One line as a terminal would leave it: no control characters, tabs expanded, a bar folded to its last state."""
    if line.isprintable():
        return line
    text = strip_escapes(line)
    if "\r" in text or "\b" in text:
        text = (segments(text) or [""])[-1]
    text = _BREAKS.sub(" ", text.replace("\n", " ").expandtabs(TAB_WIDTH))
    return _SURROGATES.sub("\ufffd", _DROPPED.sub("", text))


def shown_part(raw: bytes, limit: int) -> bytes:
    """At most `limit` bytes of a line worth showing: its head, or what follows the last `\\r`s where it is a bar."""
    if len(raw) <= limit:
        return raw
    tail = raw.rstrip(b"\r")[-limit:]
    first = tail.find(b"\r")
    return tail[first + 1 :] if first >= 0 else raw[:limit]

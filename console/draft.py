"""The wizard's draft, as the last console left it."""

from __future__ import annotations

import json
from typing import Any

from jobs import history


def read_draft() -> dict[str, Any] | None:
    """The kept draft, or None when there is none or it cannot be read."""
    try:
        draft = json.loads(history.load_draft() or "null")
        values = {str(path): str(text) for path, text in draft["values"].items()}
        kept: dict[str, Any] = {"values": values, "step": int(draft["step"])}
        for name in ("edited", "folder", "sent"):
            kept[name] = None if draft.get(name) is None else str(draft[name])
        kept["edited_from"] = {str(path): str(text) for path, text in (draft.get("edited_from") or {}).items()}
        return kept
    except (ValueError, TypeError, KeyError, AttributeError, OSError):
        return None

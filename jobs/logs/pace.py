"""How fast steps go by, by the time at which they were seen."""

from collections import deque


class Pace:
    """Steps by the time they were seen, for an ETA by our own clock."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque(maxlen=64)

    def add(self, when: float, step: int) -> None:
        """`step` was seen at `when` (seconds); going back in steps starts over."""
        if self._seen and step < self._seen[-1][1]:
            self._seen.clear()
        if self._seen and when <= self._seen[-1][0]:
            self._seen[-1] = (self._seen[-1][0], step)
        else:
            self._seen.append((when, step))

    def rate(self) -> float | None:
        """Steps per second between the oldest and the newest step kept; None until two were seen apart."""
        (then, first), (now, last) = (self._seen[0], self._seen[-1]) if self._seen else ((0, 0), (0, 0))
        return (last - first) / (now - then) if now > then and last > first else None

    def eta(self, step: int | None, total: int | None) -> float | None:
        """Seconds until `total`."""
        rate = self.rate()
        return (total - step) / rate if rate and total and step is not None and step <= total else None

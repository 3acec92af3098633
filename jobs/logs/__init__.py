"""Job logs: where they are, following them, and what they say about progress."""

"""Columns of each table: what a cell shows, how it sorts, which go first when space is short."""

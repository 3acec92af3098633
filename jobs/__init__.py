"""Everything about Slurm and jobs; no user interface."""

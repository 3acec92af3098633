"""A PyTorch DDP trainer for Slurm and torchrun, on torch and the standard library alone: copy it and make it yours."""

import warnings

# torch warns once per rank when numpy is absent; nothing here uses numpy.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

"""The folder runs in any PyTorch image: Python 3.8 syntax, and no import but torch, the standard library and itself."""

import ast
import sys
from pathlib import Path

import pytest
from launches import ROOT

MODULES = sorted((ROOT / "payload").glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_module_is_python_3_8_and_imports_only_torch_and_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported <= {"torch", "payload"} | sys.stdlib_module_names

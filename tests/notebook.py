# SPDX-License-Identifier: MIT
"""Notebooks, run by a kernel of their own."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest


def outputs_of(directory: Path, *cells: str) -> list[list[Any]]:
    """What each cell shows. Other kernels may run at the same time: they share no ports, which may
    be taken by the time that they are used, and no history."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    config = pytest.importorskip("traitlets.config")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with tempfile.TemporaryDirectory() as sockets:  # whose paths have to be short
        kernel = {"transport": "ipc", "ip": f"{sockets}/kernel"}
        nbclient.NotebookClient(
            notebook,
            timeout=180,
            startup_timeout=180,
            kernel_name="python3",
            config=config.Config(KernelManager=kernel),
        ).execute(env={**os.environ, "IPYTHONDIR": str(directory / "ipython")})
    return [cell.outputs for cell in notebook.cells]

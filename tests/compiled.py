# SPDX-License-Identifier: MIT
"""Native code that tests compile for themselves."""

import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

EXTENSION_FLAGS = ("-O1", "-fno-optimize-sibling-calls", f"-I{sysconfig.get_path('include')}")


def compile_library(
    directory: Path, name: str, source: str, *flags: str, language: str = "c", suffix: str = ".so"
) -> Path:
    """A shared object from source text, beside which it is kept."""
    variable, usual = {"c": ("CC", "cc"), "cc": ("CXX", "c++")}[language]
    file, target = directory / f"{name}.{language}", directory / f"{name}{suffix}"
    file.write_text(source)
    command = [*shlex.split(os.environ.get(variable, usual)), "-shared", "-fPIC"]
    subprocess.run(
        [*command, *(flags or ("-O1",)), file.name, "-o", target], cwd=directory, check=True
    )
    return target


def compile_extension(
    directory: Path, name: str, source: str, *flags: str, language: str = "c"
) -> Path:
    """A module that programs in that directory can import."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    flags = (*EXTENSION_FLAGS, *flags)
    return compile_library(directory, name, source, *flags, language=language, suffix=suffix)

# SPDX-License-Identifier: MIT
"""Building where something is missing, and installing for one user."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import dwell

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.any_python


def test_what_a_user_has_installed_is_what_dash_m_runs(tmp_path: Path, dwell_program: str) -> None:
    library = tmp_path / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    shutil.copytree(Path(dwell.__file__).parent, library / "dwell")
    (tmp_path / "bin").mkdir()
    shutil.copy(dwell_program, tmp_path / "bin")
    done = subprocess.run(
        [sys._base_executable, "-m", "dwell", "--version"],  # type: ignore[attr-defined]
        env=os.environ | {"PYTHONUSERBASE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"dwell {dwell.__version__}\n", done.stderr


def complaint(folder: Path, *options: str, **environment: str) -> str:
    """The error of a build that cannot be set up."""
    meson = Path(sysconfig.get_path("scripts")) / "meson"
    done = subprocess.run(
        [meson, "setup", folder / "build", ROOT, *options],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0, done.stdout
    (error,) = re.findall(r"ERROR: Problem encountered: (.*)", done.stdout)
    return error


def test_missing_libraries_are_named_as_packages(tmp_path: Path) -> None:
    nothing = str(tmp_path / "nothing")
    error = complaint(tmp_path, PKG_CONFIG_LIBDIR=nothing, PKG_CONFIG_PATH=nothing)
    assert re.fullmatch(
        r'dwell needs .* "apt-get install libzstd-dev( zlib1g-dev)? libdw-dev"', error
    )


def test_missing_compiler_is_named(tmp_path: Path) -> None:
    assert 'install a C compiler first, with Debian "apt-get install' in complaint(
        tmp_path, CC=str(tmp_path / "no-compiler")
    )


def test_missing_headers_of_python_are_named(tmp_path: Path) -> None:
    """They are there, but neither pkg-config nor the compiler sees them."""
    hidden = "import sysconfig\nsysconfig.get_config_vars().pop('LIBPC', None)\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    compiler = tmp_path / "cc"
    compiler.write_text(
        "#!/bin/sh\nfor word; do\n"
        "  case $word in *.c) ! grep -q 'Python[.]h' \"$word\" || exit 1 ;; esac\ndone\n"
        'exec cc "$@"\n'
    )
    compiler.chmod(0o755)
    error = complaint(tmp_path, PYTHONPATH=str(tmp_path), CC=str(compiler))
    assert re.search(r'the headers of .* are missing; .* "apt-get install python3\.\d+-dev"', error)

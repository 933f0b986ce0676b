# SPDX-License-Identifier: MIT
"""`python -m dwell` is the `dwell` program of the same installation."""

import os
import sys
import sysconfig


def program() -> str:
    """What a user has installed for themselves (pip install --user) is in folders of its own."""
    folder = os.path.dirname(os.path.dirname(__file__))
    user, default = sysconfig.get_preferred_scheme("user"), sysconfig.get_default_scheme()
    scheme = user if sysconfig.get_path("platlib", user) == folder else default
    return os.path.join(sysconfig.get_path("scripts", scheme), "dwell")


def main() -> None:
    path = program()
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        arguments[1:1] = ["--python", sys.executable]
    try:
        os.execv(path, [path, *arguments])
    except OSError as error:
        sys.exit(f"dwell: {path}: {error.strerror}")


main()

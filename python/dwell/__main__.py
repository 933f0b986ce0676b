# SPDX-License-Identifier: MIT
"""`python -m dwell` is the `dwell` program of the same environment."""

import os
import sys
import sysconfig


def main() -> None:
    program = os.path.join(sysconfig.get_path("scripts"), "dwell")
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        arguments[1:1] = ["--python", sys.executable]
    try:
        os.execv(program, [program, *arguments])
    except OSError as error:
        sys.exit(f"dwell: {program}: {error.strerror}")


main()

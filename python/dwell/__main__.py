# SPDX-License-Identifier: MIT
"""`python -m dwell` is the `dwell` program of the same environment."""

import os
import sys
import sysconfig


def main() -> None:
    program = os.path.join(sysconfig.get_path("scripts"), "dwell")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"dwell: {program}: {error.strerror}")


main()

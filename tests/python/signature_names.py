# SPDX-License-Identifier: MIT
"""What a profile with signatures calls functions."""

from pathlib import Path

from dwell.profiler import Profile


def counts_of(profile):
    """Calls by name, of the functions in this directory."""
    profile.create_stats()
    return {
        name: numbers[1]
        for (file, _, name), numbers in profile.stats.items()
        if Path(file).parent == Path(__file__).parent
    }


def names(function, *args, **kwargs):
    """What is called by function(*args, **kwargs), but for `call` itself."""
    profile = Profile(builtins=False)

    def call():
        function(*args, **kwargs)

    profile.runcall(call)
    found = set(counts_of(profile)) - {"call()"}
    return found.pop() if len(found) == 1 else found


def one(x):
    pass

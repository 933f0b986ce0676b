# SPDX-License-Identifier: MIT
"""Memory: what a program allocates, where, and what of it stays."""

_HOMES = {
    "LimitExceeded": "_limit",
    "leaks": "_leaks",
    "limit": "_limit",
    "mark": "_track",
    "memory_usage": "_usage",
    "profile": "_profile",
    "show_results": "_profile",
    "track": "_track",
}

__all__ = [*_HOMES]


def __getattr__(name):
    from importlib import import_module

    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name)
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})

# SPDX-License-Identifier: MIT
"""One run on many processes: each writes a file to a folder of the run, which are then merged.

The folder has a name that nobody can guess and is for its owner alone. On a host that shares no
disk with the client there is another one of that name.
"""

import glob
import itertools
import os
import secrets
import shutil
import tempfile
import threading
import warnings
from typing import Any, TypedDict

from .. import _core, _process, _sampling
from ._merging import merge_files
from ._recording import Options, Recording, host_name


class Request(TypedDict):
    """What a process that takes part must know, in words that can be pickled."""

    directory: str | None  # None: where the host has its temporary files
    name: str  # of the folder in it
    options: bytes  # pickled on their own: a process that cannot read them is only not recorded
    task_keys: int


class Run:
    """The run as the process sees it that asked for it."""

    def __init__(self, out: str | os.PathLike[str], directory: str | None, options: Options):
        import cloudpickle

        Recording("", **options)  # says what is wrong with them here and now
        self.out = os.path.abspath(os.fspath(out))
        self.problems: dict[str, str] = {}  # who does not record, and why
        options = {**options, "lines": list(options.get("lines", ()))}
        self.request = Request(
            directory=None if directory is None else os.path.abspath(directory),
            name=f"dwell-{secrets.token_hex(8)}",
            options=cloudpickle.dumps(options),
            task_keys=10_000,
        )
        self.folder = folder_of(self.request)

    def begin(self, and_here: bool) -> None:
        """and_here: this process is recorded too."""
        os.makedirs(self.folder, mode=0o700)
        if and_here:
            try:
                join(self.request)
            except BaseException:
                self.abandon()
                raise

    def abandon(self) -> None:
        leave(self.request)
        shutil.rmtree(self.folder, ignore_errors=True)

    def warn(self, count: int) -> None:
        """Once, of all that do not record."""
        if self.problems:
            who, why = next(iter(self.problems.items()))
            message = f"dwell records {count - len(self.problems)} of {count} workers; {who}: {why}"
            warnings.warn(message, stacklevel=4)

    def files(self) -> list[str]:
        return sorted(glob.glob(f"{glob.escape(self.folder)}/*.dwell"))

    def finish(self) -> None:
        """Merges what is in the folder. On trouble the files stay there."""
        leave(self.request)
        files = self.files()
        if not files:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise RuntimeError("no worker recorded anything")
        try:
            merge_files(files, self.out)
        except OSError as error:
            raise OSError(f"{error}; the recordings are in {self.folder}") from error
        shutil.rmtree(self.folder, ignore_errors=True)


def folder_of(request: Request) -> str:
    return os.path.join(request["directory"] or tempfile.gettempdir(), request["name"])


class _Member:
    """This process in a run, however many workers it has."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.count = 0


_members: dict[str, _Member] = {}
_lock = threading.Lock()
_numbers = itertools.count()


def join(request: Request, name: str | None = None, **labels: str) -> None:
    """Records this process; the labels are those of all of it."""
    import cloudpickle

    folder = folder_of(request)
    with _lock:
        if folder not in _members:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            _sampling._prepare()
            if name is not None:
                _core.describe("program", name)
                _core.describe("name", name)
            _process.process_label(**labels)
            options: Any = cloudpickle.loads(request["options"])
            recording = Recording(_file(folder), **options)
            recording.start()
            _members[folder] = _Member(recording)
        _members[folder].count += 1


def leave(request: Request) -> None:
    """Whoever never joined may leave too."""
    with _lock:
        member = _members.get(folder_of(request))
        if member is None:
            return
        member.count -= 1
        if not member.count:
            del _members[folder_of(request)]
            member.recording.stop()


def _file(folder: str) -> str:
    return f"{folder}/{host_name()}.{os.getpid()}.{next(_numbers)}.dwell"

"""A file is replaced as a whole: whatever happens, the old one is there or the new one."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from types import ModuleType

from adiabat.errors import BusyError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # there, a file that somebody has open cannot be removed
    fcntl = None

#: Ends the name of a file that is not whole yet.
UNFINISHED = ".unfinished"


def overwrite(path: Path, content: bytes, check: Callable[[Path], None]) -> None:
    """Put content into a file that is checked before it takes the old one's place.

    A link is followed, and the permissions of an old file are kept. What writers that were killed
    have left beside it is removed: rows may be in there that are to be forgotten.

    Parameters
    ----------
    path : Path
        The file.
    content : bytes
        What is to be in it.
    check : callable
        Gets the path of the new file and raises where it is not as it should be.
    """
    target = path.resolve()
    remove_unfinished(target)
    with unfinished(target) as (file, draft):
        if target.exists():  # before there is anything to read
            _belong_alike(draft, target)
        _write_all(file, content)
        os.fsync(file.fileno())
        check(draft)
        if fcntl is None:  # there, an open file cannot be moved
            file.close()
        draft.replace(target)
    sync_folder(target.parent)


def _belong_alike(draft: Path, target: Path) -> None:
    """Give a file the permissions, and if we may the owner, of the one that it will replace."""
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "not to be written", str(target))
    old, new = target.stat(), draft.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with suppress(PermissionError):
            os.chown(draft, old.st_uid, old.st_gid)
    draft.chmod(stat.S_IMODE(old.st_mode))


def _write_all(file: FileIO, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


@contextmanager
def unfinished(target: Path) -> Iterator[tuple[FileIO, Path]]:
    """A new file beside the target, locked; it is gone afterwards under this name."""
    file, draft = _begun(target)
    try:
        yield file, draft
    finally:
        draft.unlink(missing_ok=True)
        file.close()


def _begun(target: Path) -> tuple[FileIO, Path]:
    while True:
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}{UNFINISHED}")
        file = FileIO(draft, "x+")
        if lock(file) and draft.exists():  # nobody took it for one that was left behind
            return file, draft
        file.close()
        draft.unlink(missing_ok=True)


def remove_unfinished(target: Path) -> None:
    """Remove what killed writers of a file have left: living ones hold a lock on theirs."""
    prefix = f".{target.name}."
    for entry in target.parent.iterdir():
        if entry.name.startswith(prefix) and entry.name.endswith(UNFINISHED):
            with suppress(FileNotFoundError, PermissionError), FileIO(entry, "r+") as file:
                if lock(file):
                    entry.unlink()


def lock(file: FileIO) -> bool:
    """Lock an open file until it is closed, if nobody else has; the end of a process is enough."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Have the system write down which files a folder has."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Keep other processes that ask for it from changing a file; readers may go on.

    Raises
    ------
    BusyError
        Where another process is changing it.
    """
    with FileIO(path, "r") as file:
        # whoever waited for its turn would have the file that was replaced in the meantime
        if not lock(file) or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            raise BusyError(
                f"{path}: another process is changing this file; wanted one writer at a time"
            )
        yield

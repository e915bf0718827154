"""Files of a plan as a program, pickled by cloudpickle, and their digests.

plan.pickle is for `Study.plan` and `Study.replay`; its digest is in the manifest. `treesim.sweep` never
loads it. Its workers load a file that the call has written from its own plan, under a unique name, and
whose digest they receive over the connection. A worker that does not find this file sees another folder
than the call.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ArgumentError, reason_of
from ..system.files import cannot_write, write_whole
from ..system.input_files import LARGEST_DETAILS, read_input
from .manifest import Manifest
from .plan import Plan
from .store import ASIDE

PLAN = f"{ASIDE}/plan.pickle"
OF_A_CALL = "call.{}.pickle"  # in ASIDE
PATIENCE = 5.0  # seconds until a file written by another machine must be visible: network file systems are late


def packed(plan: Plan) -> bytes:
    """Return a pickled plan; raises ArgumentError naming an object that cannot be pickled."""
    import cloudpickle

    try:
        return cloudpickle.dumps(plan)
    except Exception as error:
        raise ArgumentError(f"the sweep cannot be sent to other processes: {reason_of(error)}") from error


def program_digest(content: bytes) -> str:
    """Return the digest of a program."""
    return hashlib.sha256(content).hexdigest()


@contextmanager
def written_for_workers(folder: Path, content: bytes) -> Iterator[str]:
    """Write the program of this call into a store for its workers, and yield the file's name.

    The file is removed at the end of the block. Files of killed calls are removed as well: the caller has
    locked the store.
    """
    aside = folder / ASIDE
    for path in aside.glob(OF_A_CALL.format("*")):
        with suppress(OSError):
            path.unlink()
    aside.mkdir(exist_ok=True)
    path = aside / OF_A_CALL.format(secrets.token_hex(8))
    write_whole(path, lambda stream: stream.write(content))
    try:
        yield f"{ASIDE}/{path.name}"
    finally:
        path.unlink(missing_ok=True)


def read_program(path: Path, digest: str) -> bytes:
    """Return the program of a call, in one of its workers.

    Raises OSError if it does not appear within PATIENCE seconds, ValueError if it has another digest.
    """
    until = time.monotonic() + PATIENCE
    while not path.is_file() and time.monotonic() < until:
        with suppress(OSError):
            list(path.parent.iterdir())  # makes a network file system refresh
        time.sleep(0.1)
    content = read_input(path, LARGEST_DETAILS)
    if program_digest(content) != digest:
        raise ValueError(f"{path} does not have the call's digest")
    return content


def read_plan(folder: Path, manifest: Manifest) -> Plan:
    """Return the plan in a store. It is a program: open no store that you do not trust.

    Raises ArgumentError if there is none, or if its digest is not in the manifest.
    """
    try:
        content = read_input(folder / PLAN, LARGEST_DETAILS)
    except OSError as error:
        raise ArgumentError(f"{folder / PLAN} is missing: {reason_of(error)}: {REMEDY}") from None
    if program_digest(content) not in manifest.programs:
        raise ArgumentError(_foreign(folder))
    return pickle.loads(content)  # type: ignore[no-any-return]


REMEDY = "the same call of treesim.sweep writes it again, and results stay as they are"


def check_program(folder: Path, manifest: Manifest) -> None:
    """Raise ArgumentError if the digest of a store's program is not in the manifest; the program is not loaded.

    A store without a program is valid: its results can be read, and the sweep continued.
    """
    with suppress(FileNotFoundError):
        content = read_input(folder / PLAN, LARGEST_DETAILS)
        if manifest.programs and program_digest(content) not in manifest.programs:
            raise ArgumentError(_foreign(folder))


def _foreign(folder: Path) -> str:
    return (
        f"{folder / PLAN} is damaged, or another sweep's: its digest is not in the manifest; nothing of it was run. "
        f"Remove this file: {REMEDY}"
    )


def keep_program(folder: Path, manifest: Manifest, content: bytes) -> None:
    """Write the program into a store that has none, or whose manifest has no digest of it.

    The digest is written first, so that a process killed in between leaves a store without a program.
    """
    if manifest.programs and (folder / PLAN).exists():
        return
    try:
        (folder / PLAN).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(folder / PLAN, error) from error
    manifest.add({"program": program_digest(content)})
    write_whole(folder / PLAN, lambda stream: stream.write(content))

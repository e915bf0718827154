"""The files that hold a plan as a program, by cloudpickle, and their digests.

plan.pickle is for `Study.plan` and `Study.replay`. Its digest is in the manifest. A call of `treesim.sweep` never loads
it: its workers load a file that the call has written from its own plan, under a name that no other call has, and whose
digest they get over the connection. A worker that does not find this file sees another folder than the call does.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from ..system.files import cannot_write, write_whole
from .store import ASIDE

if TYPE_CHECKING:
    from .manifest import Manifest
    from .plan import Plan

PLAN = f"{ASIDE}/plan.pickle"
OF_A_CALL = "call.{}.pickle"  # in ASIDE
PATIENCE = 5.0  # seconds after which a file that another machine wrote is to be seen: network file systems are late


def packed(plan: Plan) -> bytes:
    """Return a plan as a program; raises ArgumentError naming what cannot be sent to another process."""
    import cloudpickle

    try:
        return cloudpickle.dumps(plan)
    except Exception as error:
        raise ArgumentError(f"the sweep cannot be sent to other processes: {error}") from error


def program_digest(content: bytes) -> str:
    """Return the digest of a program."""
    return hashlib.sha256(content).hexdigest()


@contextmanager
def written_for_workers(folder: Path, content: bytes) -> Iterator[str]:
    """Write the program of this call into a store for its workers, and yield the file's name; it goes with the block.
    Those of calls that were killed go as well: the caller holds the store's lock."""
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
    """Return the program of a call, as its workers read it; raises OSError where there is none after PATIENCE seconds,
    ValueError where it has another digest."""
    until = time.monotonic() + PATIENCE
    while not path.is_file() and time.monotonic() < until:
        with suppress(OSError):
            list(path.parent.iterdir())  # a network file system looks again
        time.sleep(0.1)
    content = path.read_bytes()
    if program_digest(content) != digest:
        raise ValueError(f"{path} has another digest than the call told")
    return content


def read_plan(folder: Path, manifest: Manifest) -> Plan:
    """Return the plan that a store holds. It is a program: read no store of somebody whom you do not trust.

    Raises ArgumentError where there is none, and where it is not the one that the manifest tells of.
    """
    try:
        content = (folder / PLAN).read_bytes()
    except OSError as error:
        raise ArgumentError(f"{folder / PLAN} is missing: {error.strerror or error}: {REMEDY}") from None
    if program_digest(content) not in manifest.programs:
        raise ArgumentError(_foreign(folder))
    return pickle.loads(content)  # type: ignore[no-any-return]


REMEDY = "the same call of treesim.sweep writes it again, and results stay as they are"


def check_program(folder: Path, manifest: Manifest) -> None:
    """Raise ArgumentError where a store's program is not the one that the manifest tells of; none is loaded. A store
    without it is sound: its results can be read, and gone on with."""
    with suppress(FileNotFoundError):
        content = (folder / PLAN).read_bytes()
        if manifest.programs and program_digest(content) not in manifest.programs:
            raise ArgumentError(_foreign(folder))


def _foreign(folder: Path) -> str:
    return (
        f"{folder / PLAN} is damaged, or another sweep's: its digest is not in the manifest; nothing of it was run. "
        f"Remove this file: {REMEDY}"
    )


def keep_program(folder: Path, manifest: Manifest, content: bytes) -> None:
    """Write the program into a store that has none, or of whose nothing is known. Its digest is in the manifest first,
    so that a kill in between leaves a store without a program."""
    if manifest.programs and (folder / PLAN).exists():
        return
    try:
        (folder / PLAN).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(folder / PLAN, error) from error
    manifest.add({"program": program_digest(content)})
    write_whole(folder / PLAN, lambda stream: stream.write(content))

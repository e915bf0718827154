"""Process in which robots are simulated on a plane; started by `contact_survey`."""

from __future__ import annotations

import sys
from typing import NamedTuple

from treesim.system.subprocesses import serve
from treesim.types import Base

from .contact_runs import ContactRun, ContactSettings, contact_runs


class ContactJob(NamedTuple):
    """A robot on a base, and the settings of its simulation."""

    name: str
    base: Base
    settings: ContactSettings


def answer(job: ContactJob) -> list[ContactRun]:
    """Return the rows of a job; any error becomes the reason in a row."""
    try:
        return contact_runs(*job)
    except Exception as error:
        return [ContactRun(job.name, job.base, "", "", 0.0, why=f"{type(error).__name__}: {error}")]


if __name__ == "__main__":
    serve(sys.argv[1], answer)

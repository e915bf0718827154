"""Findings as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), which code scanning services read."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from ..urdf.findings import CODES, Finding
from .advice import ADVICE, TIER_OF
from .diagnosis import Diagnosis
from .places import uri_of

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif_log(diagnoses: Iterable[Diagnosis]) -> dict[str, Any]:
    """Return one SARIF log of one run for all diagnoses; its rules are the codes that were found.

    Example:
        >>> from treesim.doctor.sarif import sarif_log
        >>> log = sarif_log([treesim.check("<robot name='r'><link/></robot>")])
        >>> [(result["ruleId"], result["level"]) for result in log["runs"][0]["results"]]
        [('U201', 'error'), ('U207', 'error')]
    """
    found = [one for diagnosis in diagnoses for one in diagnosis.findings]
    codes = sorted({one.code for one in found})
    rules = [_rule(code) for code in codes]
    driver = {"name": "treesim check", "semanticVersion": version("treesim"), "rules": rules}
    results = [_result(one, codes.index(one.code)) for one in found]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(code: str) -> dict[str, Any]:
    kind, advice = CODES[code], ADVICE[code]
    return {
        "id": code,
        "shortDescription": {"text": kind.summary},
        "fullDescription": {"text": advice.reasons},
        "help": {"text": advice.fix},
        "defaultConfiguration": {"level": LEVELS[kind.severity]},
        "properties": {"tags": [TIER_OF[code]]},
    }


def _result(found: Finding, rule: int) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri_of(found.file)},
            "region": {"startLine": found.line or 1},
        }
    }
    if found.element:
        location["logicalLocations"] = [{"fullyQualifiedName": found.element, "kind": "element"}]
    hint = f" ({found.hint})" if found.hint else ""
    return {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": LEVELS[found.severity],
        "message": {"text": f"{found.message}{hint}"},
        "locations": [location],
    }

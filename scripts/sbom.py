"""The bill of materials: every package that a locked installation holds, as CycloneDX 1.6 in JSON.

    python scripts/sbom.py locked.txt > build/sbom.json

It is the same for the same locked file and the same version of this project: it holds no time and no random number.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import locked

ROOT = Path(__file__).parents[1]


def bill(packages: dict[str, tuple[str, str]], *, version: str) -> dict[str, Any]:
    """Return the bill of a locked installation of one version of this project."""
    components = [_component(name, *packages[name]) for name in sorted(packages)]
    named = "\n".join(f"{each['purl']} {each['hashes'][0]['content']}" for each in components)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, f'fedgroup {version} {named}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": "fedgroup", "name": "fedgroup", "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": "fedgroup", "dependsOn": [each["bom-ref"] for each in components]}],
    }  # fmt: skip


def _component(name: str, version: str, digest: str) -> dict[str, Any]:
    found = {
        "type": "library", "bom-ref": f"pkg:pypi/{name}@{version}", "name": name, "version": version,
        "purl": f"pkg:pypi/{name}@{version}", "hashes": [{"alg": "SHA-256", "content": digest}],
    }  # fmt: skip
    licence = _licence(name)
    return found | ({"licenses": [{"license": {"name": licence}}]} if licence else {})


def _licence(name: str) -> str | None:
    """Return what an installed package says of its licence, in its first line; None where it says nothing."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    told = about.get("License-Expression") or about.get("License") or ""
    classified = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or () if line.startswith("License")]
    return next(iter([*told.strip().splitlines()[:1], *classified]), None)


def version_here() -> str:
    """Return the version of this project, as its source says."""
    text = (ROOT / "src/fedgroup/__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', text, flags=re.M)
    return str(found)


if __name__ == "__main__":
    print(json.dumps(bill(locked.read(Path(sys.argv[1])), version=version_here()), indent=1))

"""Private counts over many owners' location records.

    import fedgroup as fg
    federation = fg.Federation(records, fg.Box(0, 0, 20_000, 20_000), budget=10)
    answer = federation.count(fg.Circle(10_000, 10_000, 500), epsilon=0.3)

Every public name is here; each is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedgroup.data.files import read as read
    from fedgroup.data.plans import Plan as Plan
    from fedgroup.data.synthetic import synthesize as synthesize
    from fedgroup.errors import BudgetExhausted as BudgetExhausted
    from fedgroup.errors import ComparisonsExhausted as ComparisonsExhausted
    from fedgroup.errors import FedgroupError as FedgroupError
    from fedgroup.errors import InvalidInput as InvalidInput
    from fedgroup.errors import InvalidQuery as InvalidQuery
    from fedgroup.errors import LedgerUnavailable as LedgerUnavailable
    from fedgroup.errors import ProtocolViolation as ProtocolViolation
    from fedgroup.errors import ServiceUnavailable as ServiceUnavailable
    from fedgroup.errors import SiloUnavailable as SiloUnavailable
    from fedgroup.errors import TooFewHeard as TooFewHeard
    from fedgroup.errors import TooFewHere as TooFewHere
    from fedgroup.errors import WrongLog as WrongLog
    from fedgroup.federation import Federation as Federation
    from fedgroup.maps.files import load_map as load_map
    from fedgroup.maps.private_map import PrivateMap as PrivateMap
    from fedgroup.maps.published import PublishedMap as PublishedMap
    from fedgroup.owner.records import Records as Records
    from fedgroup.privacy.noise import FloatingPointLaplace as FloatingPointLaplace
    from fedgroup.privacy.noise import SecureNoise as SecureNoise
    from fedgroup.privacy.noise import SeededNoise as SeededNoise
    from fedgroup.questions.answers import Answer as Answer
    from fedgroup.service.client import aconnect as aconnect
    from fedgroup.service.client import connect as connect
    from fedgroup.space import Box as Box
    from fedgroup.space import Circle as Circle
    from fedgroup.space import Grid as Grid
    from fedgroup.space import MultiPolygon as MultiPolygon
    from fedgroup.space import Polygon as Polygon
    from fedgroup.space import Rectangle as Rectangle
    from fedgroup.space.blocks import Blocks as Blocks
    from fedgroup.space.places import Districts as Districts
    from fedgroup.space.places import Hexagons as Hexagons
    from fedgroup.storage.sqlite import SQLiteLedger as SQLiteLedger
    from fedgroup.user.workload import Work as Work
    from fedgroup.user.workload import expect_work as expect_work

__version__ = "0.1.0"

_HOME = {
    "Answer": "fedgroup.questions.answers",
    "Blocks": "fedgroup.space.blocks",
    "Box": "fedgroup.space",
    "BudgetExhausted": "fedgroup.errors",
    "Circle": "fedgroup.space",
    "ComparisonsExhausted": "fedgroup.errors",
    "Districts": "fedgroup.space.places",
    "Federation": "fedgroup.federation",
    "FedgroupError": "fedgroup.errors",
    "FloatingPointLaplace": "fedgroup.privacy.noise",
    "Grid": "fedgroup.space",
    "Hexagons": "fedgroup.space.places",
    "InvalidInput": "fedgroup.errors",
    "InvalidQuery": "fedgroup.errors",
    "LedgerUnavailable": "fedgroup.errors",
    "MultiPolygon": "fedgroup.space",
    "Plan": "fedgroup.data.plans",
    "Polygon": "fedgroup.space",
    "PrivateMap": "fedgroup.maps.private_map",
    "PublishedMap": "fedgroup.maps.published",
    "ProtocolViolation": "fedgroup.errors",
    "Records": "fedgroup.owner.records",
    "Rectangle": "fedgroup.space",
    "SQLiteLedger": "fedgroup.storage.sqlite",
    "SecureNoise": "fedgroup.privacy.noise",
    "SeededNoise": "fedgroup.privacy.noise",
    "ServiceUnavailable": "fedgroup.errors",
    "SiloUnavailable": "fedgroup.errors",
    "TooFewHeard": "fedgroup.errors",
    "TooFewHere": "fedgroup.errors",
    "Work": "fedgroup.user.workload",
    "WrongLog": "fedgroup.errors",
    "aconnect": "fedgroup.service.client",
    "connect": "fedgroup.service.client",
    "expect_work": "fedgroup.user.workload",
    "load_map": "fedgroup.maps.files",
    "read": "fedgroup.data.files",
    "synthesize": "fedgroup.data.synthetic",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fedgroup' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

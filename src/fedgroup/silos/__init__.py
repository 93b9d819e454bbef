"""Silos: one owner's live database, asked in place. Exact values of a silo go to the owner's room and nowhere else."""

from fedgroup.silos.opening import open_silo
from fedgroup.silos.silo import Silo

__all__ = ["Silo", "open_silo"]

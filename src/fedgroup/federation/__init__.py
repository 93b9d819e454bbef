"""The three roles joined in one process: for the library, the command line, experiments and the demo."""

from fedgroup.federation.joined import Federation

__all__ = ["Federation"]

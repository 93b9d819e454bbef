"""Experiments: the demo, and how well owners are grouped. Everything here is evaluation, never private."""

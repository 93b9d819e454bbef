"""The laboratory: the paper's experiments beside ours (`experiments`), and speed against a reference (`bench`).

Everything here may see exact values or play several parties at once; nothing that serves imports it.
"""

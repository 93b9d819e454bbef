"""What only someone who may see all records can compute: true values, the exact graph, the quality of groups.

Never imported by roles, storage or anything that serves: the import walls in pyproject.toml say so.
"""

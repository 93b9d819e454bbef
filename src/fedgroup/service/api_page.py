"""The API on one page for people, made of its OpenAPI document; it loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

_HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fedgroup</title>
<style>body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code{background:#eee;padding:0 .3em}td{padding:.1rem .8rem .1rem 0;vertical-align:top}</style>
<h1>fedgroup</h1>
<p>Send <code>Authorization: Bearer TOKEN</code>. For programs: <a href="openapi.json">openapi.json</a>.
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    """Show what can be asked here."""
    text = "\n".join([_HEAD, *_sections(request.app.openapi())])
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})


def _sections(document: Mapping[str, Any]) -> Iterator[str]:
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            yield f"<h2><code>{escape(verb.upper())} {escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('description', ''))}"
            yield from _table("send", _fields(operation, document))
            yield from _table("replies", {s: r["description"] for s, r in sorted(operation["responses"].items())})


def _fields(operation: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, str]:
    """Return what can be sent, by name: headers, parts of the path, members of the body."""
    sent = {each["name"]: each.get("description", "") for each in operation.get("parameters", ())}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = body.get("$ref", "").rpartition("/")[2]
    members = document["components"]["schemas"].get(name, {}).get("properties", {})
    return sent | {member: schema.get("description", "") for member, schema in members.items()}


def _table(title: str, rows: Mapping[str, str]) -> Iterator[str]:
    if rows:
        yield f"<h3>{title}</h3><table>"
        yield from (f"<tr><td><code>{escape(name)}</code><td>{escape(text)}" for name, text in rows.items())
        yield "</table>"

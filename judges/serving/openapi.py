"""The server's description in OpenAPI's form, from the endpoints and their models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from assay.judges.serving.context import Endpoint

_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "code": {"type": "integer"},
                "index": {"type": "integer", "description": "The row that is at fault."},
            },
        }
    },
}
_STATUSES = {
    "400": "Not JSON",
    "401": "No token, or a wrong one",
    "404": "Nothing of that name",
    "413": "Too large",
    "422": "A row that cannot be used",
    "429": "The queue is full; see Retry-After",
    "503": "Our side could not score; see Retry-After",
    "504": "Not in time",
}


def add_endpoints(schema: dict[str, Any], endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """`schema` with the POST endpoints and the models of their bodies."""
    bodies = list({endpoint.body: None for endpoint in endpoints})
    names, definitions = models_json_schema(
        [(body, "validation") for body in bodies], ref_template="#/components/schemas/{model}"
    )
    components = schema.setdefault("components", {})
    components.setdefault("schemas", {}).update(definitions.get("$defs", {}))
    components["schemas"]["Error"] = _ERROR
    components.setdefault("securitySchemes", {})["token"] = {"type": "http", "scheme": "bearer"}
    failure = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for endpoint in endpoints:
        body = {"schema": names[(endpoint.body, "validation")]}
        operation: dict[str, Any] = {
            "summary": endpoint.summary,
            "tags": [endpoint.tag],
            "security": [{"token": []}, {}],
            "requestBody": {"required": True, "content": {"application/json": body}},
            "responses": {
                "200": {"description": "Answered", "content": {"application/json": {"schema": {}}}},
                **{
                    status: {"description": text, "content": failure}
                    for status, text in _STATUSES.items()
                },
            },
        }
        if "{name}" in endpoint.path:
            operation["parameters"] = [
                {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
            ]
        schema.setdefault("paths", {}).setdefault(endpoint.path, {})["post"] = operation
    return schema

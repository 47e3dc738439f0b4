"""The ASGI app: a FastAPI application behind the gate."""

from __future__ import annotations

import asyncio
import hashlib
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from assay._version import __version__
from assay.judges.serving import fusion, native, nemo_gym, openrlhf, vllm
from assay.judges.serving.config import ServeConfig
from assay.judges.serving.context import Context, Endpoint
from assay.judges.serving.errors import ApiError
from assay.judges.serving.gate import Gate
from assay.judges.serving.openapi import add_endpoints
from assay.judges.serving.wire import (
    ClientLeft,
    JsonResponse,
    as_api_error,
    error_response,
    parsed,
    read_body,
    while_connected,
)


def create_app(config: ServeConfig) -> FastAPI:
    """The app of a configuration; `app.state.context` holds what it serves.

    Raises:
        ConfigError: An object cannot be loaded, or a token is wanted and there is none.
    """
    context = Context.open(config)
    endpoints = _endpoints(context)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(context.warm_up())
        try:
            yield
        finally:
            warming.cancel()
            context.close()

    app = FastAPI(
        title="assay",
        version=__version__,
        description="Rewards and judges over HTTP.",
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.context = context
    # Plain routes: FastAPI's own reading of bodies costs more than a cheap reward does.
    app.router.routes.extend(
        Route(endpoint.path, _responder(context, endpoint), methods=["POST"])
        for endpoint in endpoints
    )
    _add_views(app, context)
    app.add_exception_handler(HTTPException, _no_route)
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = add_endpoints(describe(), endpoints)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    known = {endpoint.path for endpoint in endpoints}

    def path_of(scope: Scope) -> str:
        path: str = scope.get("assay.path", "") or scope["path"]
        return path if path in known or path in _VIEWS else "other"

    app.add_middleware(
        Gate,
        server=config.server,
        tokens=context.tokens,
        metrics=context.metrics,
        path_of=path_of,
    )
    return app


async def _no_route(request: Request, error: Exception) -> Response:
    """404 and 405 in the form of all other errors."""
    assert isinstance(error, HTTPException)
    path, status = request.url.path, error.status_code
    text = f"{path} is not answered here; GET /openapi.json tells what is"
    if status == 405:
        text = f"{path} does not take {request.method}"
    answer = error_response(ApiError(status, "not_found", text))
    answer.headers.update(error.headers or {})
    return answer


def _endpoints(context: Context) -> list[Endpoint]:
    config = context.config
    found = native.endpoints(context)
    if config.openrlhf is not None:
        found += openrlhf.endpoints(context, config.openrlhf)
    if config.vllm is not None:
        found += vllm.endpoints(context, config.vllm)
    if config.nemo_gym is not None:
        found += nemo_gym.endpoints(context, config.nemo_gym)
    return found + fusion.endpoints(context)


def _responder(context: Context, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    server = context.config.server
    limit = int(server.max_body_mb * 2**20)

    async def respond(request: Request) -> Response:
        request.scope["assay.path"] = endpoint.path
        start = time.monotonic()
        try:
            try:
                async with asyncio.timeout(server.timeout_s):
                    body = await read_body(request, limit)
            except TimeoutError:
                raise ApiError(408, "timeout", "the body came too slowly") from None
            work = endpoint.handle(request.path_params, parsed(endpoint.body, body))
            left_s = server.timeout_s - (time.monotonic() - start)
            done = await while_connected(request.receive, work, left_s, server.timeout_s)
            return JsonResponse(done)
        except ClientLeft:
            return Response(status_code=499)
        except Exception as error:
            return error_response(as_api_error(error, endpoint.path))

    return respond


_VIEWS = frozenset(
    {"/", "/health", "/ready", "/metrics", "/docs", "/openapi.json"}
    | {"/v1", "/v1/rewards", "/v1/judges", "/v1/models", "/v1/rewards/{name}"}
)


def _add_views(app: FastAPI, context: Context) -> None:
    """What is read with GET."""

    @app.get("/health", tags=["server"])
    async def health() -> dict[str, str]:
        """The process lives."""
        return {"status": "ok", "version": __version__}

    @app.get("/ready", tags=["server"])
    async def ready() -> Response:
        """Requests may be sent here; 503 and why not, otherwise."""
        problems = context.problems()
        body = {"ready": not problems, "problems": problems}
        return JsonResponse(body, 503 if problems else 200)

    @app.get("/metrics", tags=["server"])
    async def metrics() -> Response:
        """Counters for Prometheus."""
        text = await asyncio.to_thread(context.metrics.text)
        return PlainTextResponse(text, media_type=context.metrics.content_type)

    @app.get("/v1", tags=["server"])
    async def everything() -> Response:
        """What is served."""
        return JsonResponse(
            {
                "rewards": [service.about() for service in context.rewards.values()],
                "judges": [service.about() for service in context.judges.values()],
                "complexity": [service.about() for service in context.complexity.values()],
                "code": list(context.config.code.endpoints),
            }
        )

    @app.get("/v1/rewards", tags=["rewards"])
    async def rewards() -> Response:
        """The rewards: columns, scope, range and fingerprint of each."""
        return JsonResponse([service.about() for service in context.rewards.values()])

    @app.get("/v1/rewards/{name}", tags=["rewards"])
    async def reward(name: str, request: Request) -> Response:
        """One reward."""
        request.scope["assay.path"] = "/v1/rewards/{name}"
        try:
            return JsonResponse(context.reward(name).about())
        except ApiError as error:
            return error_response(error)

    @app.get("/v1/judges", tags=["judges"])
    async def judges() -> Response:
        """The judges, what each does, and fingerprints."""
        return JsonResponse([service.about() for service in context.judges.values()])

    if context.config.vllm is not None:
        names = context.config.vllm.rewards

        @app.get("/v1/models", tags=["vLLM"])
        async def models() -> Response:
            """The names that requests may give as `model`."""
            data = [{"id": name, "object": "model", "owned_by": "assay"} for name in names]
            return JsonResponse({"object": "list", "data": data})

    if context.config.server.page:
        page = files("assay.judges.serving").joinpath("page.html").read_text("utf-8")
        script = page.partition("<script>")[2].partition("</script>")[0]
        digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()

        @app.get("/", include_in_schema=False)
        async def look() -> Response:
            return HTMLResponse(
                page,
                headers={
                    "content-security-policy": f"default-src 'none'; script-src 'sha256-{digest}'; "
                    "style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
                    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                    "x-content-type-options": "nosniff",
                    "referrer-policy": "no-referrer",
                },
            )

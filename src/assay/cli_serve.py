"""`assay serve`: rewards and judges over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay.errors import ConfigError


def serve(
    config: Annotated[Path, typer.Argument(help="What is served, as TOML.", metavar="CONFIG")],
    host: Annotated[
        str | None, typer.Option(help="Address to listen on, instead of the file's.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port, instead of the file's; 0: a free one."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="uvicorn: one process. ray: Ray Serve.", metavar="ENGINE")
    ] = "uvicorn",
    check: Annotated[
        bool, typer.Option("--check", help="Load everything, say what is served, and end.")
    ] = False,
) -> None:
    """Serve rewards and judges over HTTP.

    CONFIG names them, e.g. [rewards.code] object = "examples/code_reward.py:reward"; the rest is
    told in docs/serving.md. The page at / shows verdicts, /docs the endpoints, /metrics counters.
    SIGTERM finishes the requests under way.
    """
    if engine not in ("uvicorn", "ray"):
        raise ConfigError(f"--engine must be one of {{'uvicorn', 'ray'}}, got {engine!r}")
    from assay.judges.serving.config import ServeConfig

    settings = ServeConfig.from_toml(config)
    given = {"host": host, "port": port}
    changed = {key: value for key, value in given.items() if value is not None}
    settings = replace(settings, server=replace(settings.server, **changed))  # type: ignore[arg-type]
    if check:
        _check(settings)
    elif engine == "ray":
        from assay.judges.serving.ray_serve import serve_on_ray

        raise typer.Exit(serve_on_ray(settings))
    else:
        from assay.judges.serving.server import serve as run

        raise typer.Exit(run(settings))


def _check(settings: object) -> None:
    from assay.judges.serving.app import create_app
    from assay.judges.serving.config import ServeConfig

    assert isinstance(settings, ServeConfig)
    app = create_app(settings)
    for path in sorted(app.openapi()["paths"]):
        print(path)
    app.state.context.close()

"""The same app on Ray Serve, for more than one machine: `assay serve CONFIG --engine ray`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

from assay.judges.serving.config import ServeConfig


def application(config: ServeConfig) -> Any:
    """The app as a Ray Serve application, for `serve.run`.

    Each replica is a process that holds everything the configuration names; batches are made inside
    a replica. What the file names must be importable on every machine.

    Raises:
        ConfigError: A token is wanted and the environment holds none.
        ImportError: The extra is missing.
    """
    serve, ray = _ray_serve(), config.ray
    tokens = " ".join(sorted(config.server.tokens()))

    def build() -> Any:
        """The app in its replica."""
        if tokens:
            os.environ[config.server.token_env] = tokens
        from assay.judges.serving.app import create_app

        return create_app(config)

    scale: dict[str, Any] = {"num_replicas": ray.replicas}
    if ray.max_replicas > ray.replicas:
        limits = {"min_replicas": ray.replicas, "max_replicas": ray.max_replicas}
        scale = {"autoscaling_config": limits}
    deployment = serve.deployment(
        serve.ingress(build)(),
        name="assay",
        ray_actor_options={"num_cpus": ray.num_cpus, "num_gpus": ray.num_gpus},
        max_ongoing_requests=ray.max_ongoing_requests,
        graceful_shutdown_timeout_s=config.server.drain_timeout_s,
        **scale,
    )
    return deployment.bind()


def serve_on_ray(config: ServeConfig) -> int:
    """Deploy, wait for SIGTERM or SIGINT, shut down; the exit code.

    Raises:
        ImportError: The extra is missing.
    """
    serve = _ray_serve()
    import ray

    app = application(config)
    ray.init(address=config.ray.address, log_to_driver=False, ignore_reinit_error=True)
    stop = threading.Event()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: stop.set())
    serve.start(http_options={"host": config.server.host, "port": config.server.port})
    try:
        serve.run(app, name="assay", route_prefix="/")
        where = f"http://{config.server.host}:{config.server.port}"
        print(f"assay: serving on {where} (Ray Serve); stop with Ctrl-C", file=sys.stderr)
        stop.wait()
    finally:
        serve.shutdown()
    return 0


def _ray_serve() -> Any:
    try:
        from ray import serve
    except ImportError as error:
        raise ImportError(
            f"--engine ray needs {error.name}: pip install 'assay[serve,ray]'"
        ) from error
    return serve

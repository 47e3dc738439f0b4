"""The image of the docker backend: Debian with Python, the compilers and nothing else.

python -m assay.sandbox.images                       # from Debian's image, by `docker build`
python -m assay.sandbox.images --debootstrap         # from packages, as root, without a registry
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.errors import SandboxError

DEFAULT_TAG = "assay-sandbox:1"
PACKAGES = (
    "python3",
    "gcc",
    "g++",
    "libc6-dev",
    "nodejs",
    "default-jdk-headless",
    "golang-go",
    "rustc",
)
_LEFT_OUT = (
    "./var/cache/apt",
    "./var/lib/apt/lists",
    "./usr/share/doc",
    "./usr/share/man",
    "./proc/",
)
_DOCKERFILE = """FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends {packages} \\
    && rm -rf /var/lib/apt/lists/* && mkdir -p /prog
LABEL assay.image=1
"""


def build(
    tag: str = DEFAULT_TAG, network: str | None = None, packages: Sequence[str] = PACKAGES
) -> str:
    """Build the image from Debian's; returns its identity.

    Args:
        tag: Its name.
        packages: What it holds; a language whose packages are missing cannot be run in it.
        network: Network of the build (`host` where the engine has no bridge).

    Raises:
        SandboxError: The engine could not build it.
    """
    from assay.sandbox.engine import connect

    client = connect()
    try:
        image, _ = client.images.build(
            fileobj=io.BytesIO(_DOCKERFILE.format(packages=" ".join(packages)).encode()),
            tag=tag,
            rm=True,
            network_mode=network,
        )
        return str(image.id)
    except Exception as error:
        raise SandboxError(
            f"the image was not built: {error}; try --debootstrap, which needs no registry"
        ) from None
    finally:
        client.close()


def build_by_debootstrap(
    tag: str = DEFAULT_TAG, mirror: str | None = None, packages: Sequence[str] = PACKAGES
) -> str:
    """Make the image from Debian packages with `debootstrap`; needs root, takes a minute.

    Args:
        tag: Its name.
        mirror: Where packages come from; by default debootstrap's own.
        packages: What it holds.

    Raises:
        SandboxError: debootstrap is missing or failed.
    """
    if shutil.which("debootstrap") is None:
        raise SandboxError("debootstrap is not installed: apt-get install debootstrap")
    with tempfile.TemporaryDirectory(prefix="assay-image-") as folder:
        root = Path(folder) / "root"
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}"]
        command += ["bookworm", str(root), *([mirror] if mirror else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SandboxError(f"debootstrap failed: {done.stdout[-1500:]}{done.stderr[-500:]}")
        return import_root(root, tag)


def import_root(root: Path, tag: str = DEFAULT_TAG) -> str:
    """Make an image of a directory tree; returns its identity."""
    from assay.sandbox.engine import connect

    (root / "prog").mkdir(exist_ok=True)
    client = connect()
    try:
        with tempfile.NamedTemporaryFile(suffix=".tar") as packed:
            with tarfile.open(packed.name, mode="w") as archive:
                archive.add(root, arcname=".", filter=_kept)
            name, _, version = tag.partition(":")
            client.api.import_image_from_file(packed.name, repository=name, tag=version or "latest")
        return str(client.api.inspect_image(tag)["Id"])
    finally:
        client.close()


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without package lists and caches."""
    return None if entry.name.startswith(_LEFT_OUT) else entry


def main(arguments: Any = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", default=DEFAULT_TAG)
    parser.add_argument("--network", help="network of the build, e.g. host")
    parser.add_argument("--debootstrap", action="store_true")
    parser.add_argument("--mirror")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, help="instead of all languages'")
    given = parser.parse_args(arguments)
    if given.debootstrap:
        print(build_by_debootstrap(given.tag, given.mirror, given.packages))
    else:
        print(build(given.tag, given.network, given.packages))


if __name__ == "__main__":
    main()

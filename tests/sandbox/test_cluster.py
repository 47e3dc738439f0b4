"""RaySandbox on a cluster of two nodes on this machine."""

from __future__ import annotations

import importlib.util
import shutil
import threading

import pytest

from assay.errors import ConfigError
from assay.sandbox import Bubblewrap, Job, StdioTest, Verdict
from assay.sandbox.cluster import RaySandbox

ADD = "a, b = map(int, input().split())\nprint(a + b)\n"


def test_description():
    assert RaySandbox(Bubblewrap(workers=1)).fingerprint().startswith("ray-")
    with pytest.raises(ConfigError, match="chunk must be >= 1"):
        RaySandbox(chunk=0)


def test_without_ray():
    if importlib.util.find_spec("ray") is not None:
        pytest.skip("ray is installed")
    with pytest.raises(ImportError, match=r"pip install 'assay\[ray\]'"):
        RaySandbox().run([Job(ADD, (StdioTest("1 2\n", "3\n"),))])


@pytest.fixture(scope="module")
def cluster():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    made.connect()
    yield made
    import ray

    ray.shutdown()
    made.shutdown()


@pytest.mark.slow
def test_two_nodes(cluster):
    sandbox = RaySandbox(Bubblewrap(workers=1), chunk=3)
    tests = (StdioTest("1 2\n", "3\n"),)
    jobs = [Job(ADD + f"#{n}", tests) if n % 2 else Job(f"print({n})", tests) for n in range(10)]
    verdicts = [result.verdict for result in sandbox.run(jobs)]
    expected = [Verdict.AC if n % 2 else Verdict.WA for n in range(10)]
    assert verdicts == expected
    cancel = threading.Event()
    cancel.set()
    assert {result.verdict for result in sandbox.run(jobs, cancel=cancel)} == {Verdict.IE}
    assert sandbox.run([]) == []

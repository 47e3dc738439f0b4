from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.loading import load_reward, split_spec

SOURCE = """
from dataclasses import dataclass
from assay.rewards import Reward, Score
from {neighbour} import FACTOR

@dataclass(frozen=True)
class Constant(Reward):
    value: float = 1.0
    name: str = "constant"
    def score(self, samples):
        return [Score.of(self.value * FACTOR) for _ in samples]

good = Constant()
other = Constant(2.0)
number = 3
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Path]:
    """A reward file that imports its neighbour, as scripts do."""
    path, modules = list(sys.path), set(sys.modules)
    name = f"my_reward_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}_settings.py").write_text("FACTOR = 3.0\n")
    file = tmp_path / f"{name}.py"
    file.write_text(SOURCE.format(neighbour=f"{name}_settings"))
    yield file
    sys.path[:] = path
    for fresh in set(sys.modules) - modules:
        del sys.modules[fresh]


def test_a_file_is_loaded_with_its_neighbours(module: Path) -> None:
    loaded = load_reward(f"{module}:good")
    assert loaded.reward(completions=["x"]) == [3.0]
    assert loaded.source == module
    assert load_reward(f"{module}:other").reward(completions=["x"]) == [6.0]


def test_what_a_file_defines_survives_pickling(module: Path) -> None:
    reward = load_reward(f"{module}:good").reward
    assert pickle.loads(pickle.dumps(reward)) == reward


def test_a_spawned_worker_finds_the_classes_again(module: Path, tmp_path: Path) -> None:
    script = tmp_path / "run_spawned.py"
    script.write_text(
        "import multiprocessing, sys\n"
        "from assay.loading import load_reward\n"
        "def work(reward, queue):\n"
        "    queue.put(reward(completions=['x']))\n"
        "if __name__ == '__main__':\n"
        "    spawn = multiprocessing.get_context('spawn')\n"
        "    queue = spawn.Queue()\n"
        "    reward = load_reward(sys.argv[1]).reward\n"
        "    worker = spawn.Process(target=work, args=(reward, queue))\n"
        "    worker.start()\n"
        "    print(queue.get(timeout=30))\n"
        "    worker.join()\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), f"{module}:good"],
        capture_output=True, text=True, timeout=60, cwd="/",
    )  # fmt: skip
    assert done.stdout.strip() == "[3.0]", done.stderr


def test_a_module_is_loaded_by_name() -> None:
    loaded = load_reward("tests.judges.toy_rewards:brief")
    assert loaded.reward.name == "brief"


@pytest.mark.parametrize("spec", ["", "file.py", ":reward", "file.py:", "a.py:b.c", "a.py:b c"])
def test_a_spec_has_a_file_or_module_and_an_attribute(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"must be FILE\.py:attr or package\.module:attr"):
        split_spec(spec)


def test_a_missing_attribute_names_the_rewards_there_are(module: Path) -> None:
    with pytest.raises(ConfigError, match=r"no 'best'; its rewards are \['good', 'other'\]"):
        load_reward(f"{module}:best")


def test_what_is_no_reward_is_refused(module: Path) -> None:
    with pytest.raises(ConfigError, match="must be a Reward, got int; subclass"):
        load_reward(f"{module}:number")
    with pytest.raises(ConfigError, match="got the class Constant; name an instance of it"):
        load_reward(f"{module}:Constant")
    with pytest.raises(ConfigError, match="holds no Reward"):
        load_reward("json:nothing")


def test_files_that_cannot_be_imported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no file .*absent\.py"):
        load_reward(f"{tmp_path}/absent.py:reward")
    broken = tmp_path / "broken_syntax.py"
    broken.write_text("x = 1\ndef (:\n")
    with pytest.raises(ConfigError, match=r"broken_syntax\.py \(line 2\): SyntaxError"):
        load_reward(f"{broken}:reward")
    raising = tmp_path / "raising_reward.py"
    raising.write_text("x = 1\n\n\ny = 1 / 0\n")
    with pytest.raises(ConfigError, match=r"raising_reward\.py \(line 4\): ZeroDivisionError"):
        load_reward(f"{raising}:reward")
    with pytest.raises(ConfigError, match=r"cannot import no_such_module: ModuleNotFoundError"):
        load_reward("no_such_module:reward")
    (tmp_path / "v1.2.py").write_text("")
    with pytest.raises(ConfigError, match="a module's name has no dots; rename it"):
        load_reward(f"{tmp_path}/v1.2.py:reward")


def test_a_file_named_like_a_loaded_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("reward = 1\n")
    with pytest.raises(ConfigError, match="a module 'json' is loaded already, .*rename the file"):
        load_reward(f"{tmp_path}/json.py:reward")

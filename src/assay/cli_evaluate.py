"""`assay evaluate`: figures of a policy with intervals, and the comparison of two."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli_files import write_json
from assay.errors import ConfigError


def evaluate(
    policy: Annotated[
        str,
        typer.Argument(help="A model's folder or hub id, or BASE_URL,MODEL.", metavar="POLICY"),
    ],
    output: Annotated[Path, typer.Option(help="Samples and results go here.", metavar="FOLDER")],
    task: Annotated[
        str, typer.Option(help="code, reward, win-rate, environment or safety.", metavar="TASK")
    ] = "reward",
    data: Annotated[
        list[str] | None, typer.Option(help="Prompts; repeatable.", metavar="FILE")
    ] = None,
    reward: Annotated[
        str | None, typer.Option(help="FILE.py:attr of a Reward.", metavar="REWARD")
    ] = None,
    reward_model: Annotated[
        str | None, typer.Option(help="Folder of a trained reward model.", metavar="FOLDER")
    ] = None,
    time: Annotated[bool, typer.Option("--time", help="Of code: judge complexity too.")] = False,
    judge: Annotated[
        str | None,
        typer.Option(help="Of win rates and safety: a folder, or BASE_URL,MODEL.", metavar="MODEL"),
    ] = None,
    reference_policy: Annotated[
        str | None, typer.Option(help="Writes the answers to beat.", metavar="POLICY")
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="A Reward that picks in best-of-N.", metavar="REWARD")
    ] = None,
    n: Annotated[int, typer.Option(min=1, help="Samples a prompt and seed.", metavar="N")] = 8,
    k: Annotated[
        list[int] | None, typer.Option("--k", help="Of pass@k; repeatable.", metavar="K")
    ] = None,
    max_new_tokens: Annotated[
        list[int] | None,
        typer.Option(help="Budget of a sample; repeat it for a sweep.", metavar="N"),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="Of the sampling; repeatable.", metavar="N")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, help="0 decodes greedily.")] = 0.6,
    top_p: Annotated[float, typer.Option(min=0, max=1, help="Nucleus.")] = 0.95,
    batch_size: Annotated[int, typer.Option(min=1, help="Samples at once.", metavar="N")] = 32,
    limit: Annotated[
        int | None, typer.Option(help="At most so many rows of each file.", metavar="N")
    ] = None,
    chat_template: Annotated[
        str | None, typer.Option(help="In place of the tokenizer's.", metavar="FILE|NAME")
    ] = None,
    system_prompt: Annotated[str, typer.Option(help="Before prompts that have none.")] = "",
    protocol: Annotated[
        str, typer.Option(help="How calls are written in text; empty: as tool calls.")
    ] = "hermes",
    max_turns: Annotated[int | None, typer.Option(help="Of environments.", metavar="N")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the key.", metavar="NAME")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Earlier results to compare with; repeatable.", metavar="FOLDER"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves here: .svg, .png or .pdf.", metavar="FILE")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything here.", metavar="FILE")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results only.")] = False,
) -> None:
    """Sample a policy and report figures with 95% intervals over prompts.

    Runs again where it was cut; finished parts are read. With --against, paired tests per prompt.
    """
    from assay.policy.evaluate import Evaluation, run_evaluation
    from assay.policy.evaluation.results import (
        compare_folders,
        difference_lines,
        read_results,
        result_lines,
    )

    settings: dict[str, Any] = {
        "policy": policy,
        "output_dir": str(output),
        "task": task,
        "data": list(data or ()),
        "reward": reward,
        "reward_model": reward_model,
        "time": time,
        "judge": judge,
        "reference_policy": reference_policy,
        "selector": selector,
        "decoding": {
            "n": n,
            "temperature": temperature,
            "top_p": top_p,
            "batch_size": batch_size,
            "max_new_tokens": (max_new_tokens or [4096])[0],
        },
        "budgets": list(max_new_tokens or ()),
        "seeds": list(seed or [0]),
        "ks": list(k or [1]),
        "limit": limit,
        "chat_template": chat_template,
        "system_prompt": system_prompt,
        "protocol": protocol,
        "max_turns": max_turns,
        "api_key_env": api_key_env,
    }
    if too_many := [value for value in k or () if value > n * len(settings["seeds"])]:
        raise ConfigError(
            f"pass@{too_many[0]} needs as many samples of a prompt; --n {n} and "
            f"{len(settings['seeds'])} seeds give {n * len(settings['seeds'])}"
        )

    for folder in against or ():
        if folder.resolve() == output.resolve():
            raise ConfigError(f"--against {folder} is --output itself; give an earlier result")
        read_results(folder)  # before hours of sampling, not after
    if plot is not None and plot.suffix not in (".svg", ".png", ".pdf"):
        raise ConfigError(f"--plot draws .svg, .png or .pdf, got {plot}")

    def tell(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr)

    if not quiet:
        from assay.policy.train_command import calm_libraries

        if "://" not in policy:
            calm_libraries()
    found = run_evaluation(Evaluation.of(**settings), tell=tell)
    print("\n".join(result_lines(found)))
    if plot is not None:
        from assay.policy.evaluation.curves import plot_results

        if not plot_results(found, plot):
            print("assay: nothing to draw: give several --k, budgets or samples", file=sys.stderr)
    compared = {}
    for folder in against or ():
        differences = compare_folders(folder, output)
        print(f"against {folder}")
        print("\n".join(difference_lines(differences)))
        compared[str(folder)] = {
            budget: [d.to_json() for d in rows] for budget, rows in differences.items()
        }
    write_json(json_file, found | ({"against": compared} if compared else {}))

"""`make demo`: train on the embedded digits, compare the rules, leave a report.

Everything is exact: with 16 hidden units the likelihood is enumerated, not estimated. Learning rates were chosen on
the validation part; the test part is only reported.
"""

from __future__ import annotations

import base64
import html
import sys
import time
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import pictures
from .data import Dataset, load_dataset
from .enumeration import log_partition
from .files import write_atomically
from .models import RBM, BernoulliRBM
from .models.files import save
from .report.template import POLICY
from .rules import CD, FMPF, FPMPF, PCD, PMPF, Exact, MPF1Flip, RuleSpec
from .samplers import sample
from .train import Epoch, fit

N_HIDDEN, BATCH_SIZE, SEED = 16, 50, 0
RULES: list[tuple[RuleSpec, float]] = [  # with learning rates
    (CD(k=5), 1.6),
    (PCD(k=5), 1.6),
    (MPF1Flip(), 10.0),
    (FMPF(k=5, refresh=4), 1.6),
    (PMPF(k=5, refresh=4), 1.6),
    (FPMPF(k=5, refresh=4), 1.6),
    (Exact(), 1.6),
]
SHOWN = 5  # FPMPF


class Score(NamedTuple):
    """Exact mean log-likelihoods in nats, and the time it took."""

    rule: RuleSpec
    train: float
    valid: float
    test: float
    seconds: float
    model: RBM


_log_partition = jax.jit(log_partition)


def main(epochs: int = 40, folder: str = "demo-output") -> list[Score]:
    """Run the demo and return the measured scores."""
    console = Console(file=sys.stderr if not sys.stdout.isatty() else sys.stdout, highlight=False)
    digits = load_dataset("digits")
    console.print(
        f"8x8 digits: {len(digits.train)} train, {len(digits.valid)} valid, {len(digits.test)} test; RBM with {N_HIDDEN} hidden units"
    )
    scores: dict[int, Score] = {}
    with Progress(TextColumn("{task.description:>22}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as bar:
        for i in [SHOWN, *(i for i in range(len(RULES)) if i != SHOWN)]:
            scores[i] = _train(digits, *RULES[i], epochs, bar, verbose=i == SHOWN)
    ordered = [scores[i] for i in range(len(RULES))]
    console.print(_table(ordered, epochs))
    exact, best = ordered[-1], max(ordered[:-1], key=lambda score: score.valid)
    verdict = (
        f"Best sampled rule by validation: {_label(best.rule)}, test {best.test:.2f} nats, "
        f"{best.test - exact.test:+.2f} from the exact gradient's {exact.test:.2f}."
    )
    console.print(verdict)
    _write_report(Path(folder), digits, ordered, verdict, epochs)
    console.print(f"Pictures, models and the report are in {folder}/ (open {folder}/report.html)")
    return ordered


def _train(digits: Dataset, rule: RuleSpec, rate: float, epochs: int, bar: Progress, verbose: bool) -> Score:
    task = bar.add_task(_label(rule), total=epochs)

    def show(epoch: Epoch) -> None:
        bar.update(task, completed=epoch.number)
        if verbose:
            log_z = float(_log_partition(epoch.model))
            train, test = (_mean(epoch.model, rows) - log_z for rows in (digits.train, digits.test))
            bar.console.print(f"{_label(rule)} epoch {epoch.number:3d}  log-likelihood  train {train:8.3f}  test {test:8.3f}  (exact)")

    begun = time.perf_counter()
    rbm = BernoulliRBM.init(SEED, n_visible=64, n_hidden=N_HIDDEN, data=digits.train)
    trained = fit(
        rbm, digits.train, rule, epochs=epochs, batch_size=BATCH_SIZE, learning_rate=rate, seed=SEED, callbacks=[show], progress=False
    )
    seconds = time.perf_counter() - begun
    log_z = float(_log_partition(trained.model))
    train, valid, test = (_mean(trained.model, rows) - log_z for rows in (digits.train, digits.valid, digits.test))
    assert isinstance(trained.model, RBM)
    return Score(rule, train, valid, test, seconds, trained.model)


def _mean(model: object, rows: np.ndarray) -> float:
    assert isinstance(model, RBM)
    return -float(np.mean(np.asarray(model.free_energy(rows)), dtype=np.float64))


def _label(rule: RuleSpec) -> str:
    k, refresh = getattr(rule, "k", None), getattr(rule, "refresh", 1)
    return rule.name.upper().replace("FLIP", "flip") + (f"-{k}" if k else "") + (f" refresh {refresh}" if refresh > 1 else "")


def _columns(score: Score, rate: float) -> list[str]:
    return [_label(score.rule), f"{rate:g}", f"{score.train:.2f}", f"{score.valid:.2f}", f"{score.test:.2f}", f"{score.seconds:.1f}"]


HEADINGS = ["rule", "rate", "train", "valid", "test", "seconds"]


def _table(scores: list[Score], epochs: int) -> Table:
    table = Table(title=f"Exact log-likelihood (nats) after {epochs} epochs")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    for score, (_, rate) in zip(scores, RULES, strict=True):
        table.add_row(*_columns(score, rate))
    return table


def _write_report(folder: Path, digits: Dataset, scores: list[Score], verdict: str, epochs: int) -> None:
    model = scores[SHOWN].model
    shape = digits.image_shape or (8, 8)
    images = {
        "data": ("Data", pictures.png(pictures.grid(digits.test[:64], shape))),
        "samples": (
            f"{_label(scores[SHOWN].rule)}: samples after 1,000 Gibbs steps from noise",
            pictures.png(pictures.grid(sample(model, n=64, steps=1000, seed=1), shape)),
        ),
        "filters": (
            f"{_label(scores[SHOWN].rule)}: weights of the {N_HIDDEN} hidden units (red positive, blue negative)",
            pictures.png(pictures.grid(np.asarray(model.weights).T, shape, columns=8), signed=True),
        ),
    }
    save(model, folder / "fpmpf.safetensors", {"data": "digits", "rule": repr(scores[SHOWN].rule), "epochs": epochs, "seed": SEED})
    for name, (_, content) in images.items():
        write_atomically(folder / f"{name}.png", content)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _columns(score, rate)) + "</tr>"
        for score, (_, rate) in zip(scores, RULES, strict=True)
    )
    figures = "".join(
        f'<figure><img alt="{name}" src="data:image/png;base64,{base64.b64encode(content).decode()}">'
        f"<figcaption>{caption}</figcaption></figure>"
        for name, (caption, content) in images.items()
    )
    page = _PAGE.format(
        policy=POLICY,
        headings="".join(f"<th>{heading}</th>" for heading in HEADINGS),
        rows=rows,
        figures=figures,
        verdict=html.escape(verdict),
        summary=f"RBM, 64 visible and {N_HIDDEN} hidden units, {epochs} epochs, batch {BATCH_SIZE}, seed {SEED}; "
        "rates chosen on validation.",
    )
    write_atomically(folder / "report.html", page.encode())


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">{policy}<meta name="viewport" content="width=device-width">
<title>minprobflow demo</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; }} td, th {{ padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #8884; }}
td:first-child, th:first-child {{ text-align: left; }}
figure {{ margin: 1.5rem 0; }} img {{ max-width: 100%; border-radius: 4px; }} figcaption {{ opacity: .75; font-size: .9rem; }}
</style>
<h1>minprobflow demo: 8x8 digits</h1><p>{summary}</p>
<h2>Exact log-likelihood (nats, mean per example)</h2>
<div style="overflow-x:auto"><table><tr>{headings}</tr>{rows}</table></div><p>{verdict}</p>
<h2>Pictures</h2>{figures}</html>
"""

if __name__ == "__main__":
    main()

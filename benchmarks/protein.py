"""A Potts model of the WW domain by MPF-1flip, pseudo-likelihood and PCD: contacts, samples, likelihood. About ten minutes on two cores.

Needs protein/WW_domain_MSA.fasta.gz in MINPROBFLOW_DATA. Draws docs/images/ww_contacts.png and docs/images/ww_samples.png.
Contacts are judged by the crystal structure of human Pin1 (PDB entry 1PIN), whose WW domain is one of the sequences.
"""

import time
from pathlib import Path

import numpy as np

import minprobflow as mpf
from minprobflow.data import AMINO_ACIDS, as_text, repeated, sequence_weights
from minprobflow.likelihood import from_log_partition, pseudo_log_likelihoods

FIGURES = Path(__file__).parent.parent / "docs" / "images"
SIZE, VALUES, GAP = 31, len(AMINO_ACIDS), 0
IDENTITY, ROWS, EPOCHS, BATCH = 0.8, 20_000, 10, 200
RULES = {  # learning rate and penalties to choose from on `valid`
    "mpf-1flip": (100.0, (1e-5, 3e-5, 1e-4)),
    "pseudo-likelihood": (3.0, (1e-4, 3e-4, 1e-3)),
    "pcd": (1.0, (3e-5, 1e-4, 3e-4)),
}
SETTINGS = {"pcd": {"k": 1}}
LABELS = {"mpf-1flip": "MPF-1flip", "pseudo-likelihood": "pseudo-likelihood", "pcd": "PCD-1"}
APART, TOUCHING = 4, 8.0  # columns between which contacts count, and angstroms between C-beta atoms
FIRST_RESIDUE = 7  # of Pin1, in column 0
PIN1 = "LPPGWEKRMSRSSGRVYYFNHITNASQWERP"
C_BETA = np.asarray(  # of residues 7 to 37 of 1PIN, C-alpha for glycine
    [
        *[(43.375, 11.054, 119.556), (39.270, 14.789, 119.009), (35.939, 13.524, 122.680), (36.334, 8.965, 121.515)],
        *[(39.690, 9.827, 118.115), (41.183, 4.687, 119.868), (45.609, 4.445, 116.315), (41.312, 0.656, 115.379)],
        *[(44.985, -2.758, 113.345), (41.207, -4.176, 109.433), (40.104, -8.475, 112.928), (42.370, -11.262, 109.681)],
        *[(43.887, -6.561, 107.625), (47.663, -4.704, 108.560), (43.941, -1.999, 106.976), (47.022, 1.454, 110.722)],
        *[(41.637, 3.023, 110.043), (41.580, 7.263, 113.210), (37.860, 3.418, 115.269), (34.964, 8.250, 116.586)],
        *[(34.809, 4.593, 121.235), (31.405, 8.871, 121.001), (30.715, 9.249, 115.959), (30.060, 3.905, 115.163)],
        *[(33.201, 8.177, 112.405), (36.022, 3.626, 110.366), (38.459, 8.433, 108.818), (42.639, 6.263, 105.924)],
        *[(42.443, 11.257, 107.741), (45.893, 11.394, 112.137), (40.593, 12.279, 114.238)],
    ]
)
DISTANCE = np.linalg.norm(C_BETA[:, None] - C_BETA[None], axis=-1)
FIRST, SECOND = np.triu_indices(SIZE, APART)
CONTACT = DISTANCE[FIRST, SECOND] < TOUCHING


def precisions(scores: np.ndarray) -> np.ndarray:
    """The share of true contacts among the n pairs that score highest, for all n."""
    hits = CONTACT[np.argsort(-scores[FIRST, SECOND])]
    return np.cumsum(hits) / np.arange(1, len(hits) + 1)


def statistics(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies of every value in every column, and covariances of all values in all pairs of columns."""
    x = (rows[:, :, None] == np.arange(VALUES)).reshape(len(rows), -1).astype(np.float64)
    mean = x.mean(0)
    covariance = (x.T @ x / len(rows) - np.outer(mean, mean)).reshape(SIZE, VALUES, SIZE, VALUES)
    i, j = np.triu_indices(SIZE, 1)
    return mean, covariance[i, :, j].ravel()


def agreement(found: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    slope = float(found @ wanted / (wanted @ wanted))
    return {"r": float(np.corrcoef(found, wanted)[0, 1]), "slope": slope, "rms": float(np.sqrt(np.mean((found - wanted) ** 2)))}


def train(rule: str, rows: np.ndarray, valid: np.ndarray) -> tuple[mpf.Potts, dict[str, object]]:
    """The model whose penalty gives the best pseudo-likelihood on `valid`."""
    rate, penalties = RULES[rule]
    tried, best, model = [], -np.inf, None
    weights = sequence_weights(valid, IDENTITY)
    for l2 in penalties:
        begun = time.perf_counter()
        new = mpf.fit(
            mpf.Potts.init(SIZE, VALUES, rows),
            rows,
            rule,
            **SETTINGS.get(rule, {}),
            epochs=EPOCHS,
            batch_size=BATCH,
            learning_rate=rate,
            l2=l2,
        ).model
        score = float(np.average(pseudo_log_likelihoods(new, valid), weights=weights))
        tried.append({"l2": l2, "valid_pseudo": score, "seconds": time.perf_counter() - begun})
        print(f"{rule}: {tried[-1]}", flush=True)
        if score > best:
            best, model, chosen = score, new, l2
    return model, {"learning_rate": rate, "l2": chosen, "tried": tried}


def judge(model: mpf.Potts, data, rows: np.ndarray, chains: int, sweeps: int, max_betas: int) -> tuple[dict[str, object], dict]:
    scores = np.asarray(model.contact_scores(leave_out=GAP))
    order = np.argsort(-scores[FIRST, SECOND])
    curve = precisions(scores)
    samples = mpf.sample(model, n=chains, steps=sweeps, seed=1)
    wanted, found = statistics(rows), statistics(samples)
    log_z = mpf.log_partition(model, "ais", base_data=rows, max_betas=max_betas)
    likelihood = from_log_partition(model, data.test, log_z)
    top = [[int(FIRST[k]) + 1, int(SECOND[k]) + 1, round(float(DISTANCE[FIRST[k], SECOND[k]]), 1)] for k in order[:10]]
    record = {
        "precision": {str(n): float(curve[n - 1]) for n in (10, 15, 20, 31)},
        "top_pairs": top,
        "frequencies": agreement(found[0], wanted[0]),
        "pair_covariances": agreement(found[1], wanted[1]),
        "test_log_likelihood": likelihood.record(),
        "verdict": log_z.verdict,
        "samples": as_text(samples[:4]),
    }
    return record, {"scores": scores, "curve": curve, "statistics": found}


def main(rules=tuple(RULES), chains: int = 4000, sweeps: int = 500, max_betas: int = 8000) -> dict[str, object]:
    data = mpf.load_dataset("ww-domain")
    weights = sequence_weights(data.train, IDENTITY)
    rows = repeated(data.train, weights, ROWS)
    held_out = repeated(data.test, sequence_weights(data.test, IDENTITY), 4000)
    wanted = statistics(rows)
    alone = mpf.Potts.init(SIZE, VALUES, rows)
    result: dict[str, object] = {
        "settings": {"identity": IDENTITY, "rows": ROWS, "epochs": EPOCHS, "batch_size": BATCH, "chains": chains, "sweeps": sweeps},
        "sequences": len(data.train),
        "effective_sequences": float(weights.sum()),
        "contacts": int(CONTACT.sum()),
        "pairs": len(CONTACT),
        "independent_columns": {
            "test_log_likelihood": from_log_partition(alone, data.test, mpf.log_partition(alone, "ais", betas=2, sample_steps=2)).value
        },
        "held_out": {
            name: agreement(a, b) for name, a, b in zip(("frequencies", "pair_covariances"), statistics(held_out), wanted, strict=True)
        },
        "rules": {},
    }
    drawn = {}
    for rule in rules:
        model, settings = train(rule, rows, data.valid)
        record, drawn[rule] = judge(model, data, rows, chains, sweeps, max_betas)
        result["rules"][rule] = {**settings, **record}
        print(rule, record, flush=True)
    draw_contacts(drawn)
    draw_samples(drawn, wanted, result)
    return result


BLUE, ORANGE, GREEN, GREY = "#1f6fb4", "#d9772b", "#3a8f5c", "#9a9a9a"
COLOURS = dict(zip(RULES, (BLUE, ORANGE, GREEN), strict=True))


def _figure(width: float, height: float, columns: int):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
    axes = figure.subplots(1, columns)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def draw_contacts(drawn: dict[str, dict]) -> None:
    """Above the diagonal what the model says, below it the structure; and precision by the number of pairs."""
    figure, (left, right) = _figure(11, 5.4, 2)
    scores = drawn["mpf-1flip"]["scores"]
    shown = np.full((SIZE, SIZE), np.nan)
    i, j = np.triu_indices(SIZE, 1)
    shown[i, j] = np.maximum(scores[i, j], 0)
    image = left.imshow(shown, cmap="Blues", vmin=0, extent=(0.5, SIZE + 0.5, SIZE + 0.5, 0.5))
    below = np.argwhere(np.tril(DISTANCE < TOUCHING, -APART))
    left.scatter(below[:, 1] + 1, below[:, 0] + 1, marker="s", s=22, color=GREY, label=f"closer than {TOUCHING:.0f} Å in Pin1")
    best = np.argsort(-scores[FIRST, SECOND])[:20]
    for true, colour, label in ((True, BLUE, "top 20, in contact"), (False, ORANGE, "top 20, not in contact")):
        chosen = [k for k in best if CONTACT[k] == true]
        left.scatter(SECOND[chosen] + 1, FIRST[chosen] + 1, s=60, facecolors="none", edgecolors=colour, linewidths=1.6, label=label)
    ticks = np.arange(1, SIZE + 1)
    left.set_xticks(ticks, PIN1, fontsize=7)
    left.set_yticks(ticks, PIN1, fontsize=7)
    left.tick_params(length=0)
    left.set_title("Couplings by MPF-1flip (above) and the fold of Pin1 (below)", fontsize=10)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncol=3, fontsize=8, frameon=False, handletextpad=0.3, columnspacing=1.2)
    figure.colorbar(image, ax=left, shrink=0.8, label="contact score")
    for rule, parts in drawn.items():
        right.plot(np.arange(1, 61), parts["curve"][:60], color=COLOURS[rule], label=LABELS[rule], lw=1.8)
    right.axhline(CONTACT.mean(), color=GREY, ls="--", lw=1, label="pairs at random")
    right.set(xlabel="pairs with the highest scores", ylabel="share that is in contact", ylim=(0, 1.03), xlim=(1, 60))
    right.set_title(f"Precision, columns at least {APART} apart", fontsize=10)
    right.legend(fontsize=9, frameon=False)
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "ww_contacts.png")


def draw_samples(drawn: dict[str, dict], wanted: tuple[np.ndarray, np.ndarray], result: dict) -> None:
    """Pair covariances of sampled sequences against those of the data, a panel a rule; frequencies in the first panel."""
    figure, axes = _figure(3.4 * (len(drawn) + 1), 3.6, len(drawn) + 1)
    for rule, parts in drawn.items():
        axes[0].scatter(wanted[0], parts["statistics"][0], s=7, color=COLOURS[rule], alpha=0.6, label=LABELS[rule], linewidths=0)
    axes[0].plot([0, 1], [0, 1], color="black", lw=0.8)
    axes[0].set(title="frequencies in columns", xlabel="in the data", ylabel="in sampled sequences")
    axes[0].legend(fontsize=8, frameon=False, markerscale=2)
    limits = np.asarray([wanted[1].min(), wanted[1].max()]) * 1.1
    for ax, (rule, parts) in zip(axes[1:], drawn.items(), strict=True):
        ax.scatter(wanted[1], parts["statistics"][1], s=3, color=COLOURS[rule], alpha=0.35, linewidths=0, rasterized=True)
        ax.plot(limits, limits, color="black", lw=0.8)
        r = result["rules"][rule]["pair_covariances"]["r"]
        ax.set(title=f"pair covariances, {LABELS[rule]}\nr = {r:.3f}", xlabel="in the data", xlim=limits, ylim=limits)
    for ax in axes:
        ax.title.set_fontsize(10)
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "ww_samples.png")

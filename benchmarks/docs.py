# ruff: noqa: E501 (tables)
"""Write the measured figures into the docs: `python -m benchmarks.docs`. A test checks that they are up to date."""

import json
from pathlib import Path

import numpy as np
from paper.markers import filled
from paper.records import spread, standard_error

from benchmarks import defaults as defaults_plan
from benchmarks.ladder_docs import adversarial, published, traps  # noqa: F401 (parts of pages, by name)
from minprobflow.pictures import figure_png

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


def result(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def golden() -> str:
    lines = [
        "| seed | temperatures | log Z | forward | reverse | gap | 95% interval | test log-likelihood | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in result("golden")["runs"]:
        z, ll, s = run["log_partition"], run["log_likelihood"], run["settings"]
        lines.append(
            f"| {run['seed']} | {s['betas']:,} | {z['value']:.2f} +- {z['stderr']:.2f} | {s['forward']:.2f} | {s['reverse']:.2f} | {s['gap']:+.2f} "
            f"| [{z['lower']:.2f}, {z['upper']:.2f}] | {ll['value']:.2f} +- {ll['stderr']:.2f} | {run['verdict']} |"
        )
    return "\n".join(lines)


def calibration() -> str:
    parts = result("calibration")
    columns = {"default settings": parts["default"], "only 5 temperatures": parts["only_5_temperatures"]}
    lines = ["| | " + " | ".join(columns) + " |", "|---|---|---|"]
    rows = {
        "models": lambda r: str(r["models"]),
        "verdict trusted / wide / do not trust": lambda r: " / ".join(
            str(r["verdicts"].get(v, 0)) for v in ("trusted", "wide", "do not trust")
        ),
        "easy ones trusted": lambda r: f"{r['trusted_share_of_easy']:.0%}",
        "trusted whose interval holds log Z": lambda r: f"{r['coverage_of_trusted']:.1%}",
        "trusted off by more than 1 nat": lambda r: f"{r['trusted_off_by_more_than_1_nat']:.0%}",
        "largest error of a trusted one (nats)": lambda r: f"{r['largest_error_of_trusted']:.2f}",
        "largest error of the others (nats)": lambda r: f"{r['largest_error_of_others']:.2f}",
        "trusted covered by value +- 1.96 stderr alone": lambda r: f"{r['coverage_by_value_and_stderr_alone']:.1%}",
    }
    lines += [f"| {name} | " + " | ".join(show(r) for r in columns.values()) + " |" for name, show in rows.items()]
    return "\n".join(lines)


def csl() -> str:
    models = result("csl")["models"]
    lines = ["| | " + " | ".join(f"epochs: {model['epochs']}" for model in models) + " |", "|---|" + "---|" * len(models)]
    lines.append(
        "| AIS | " + " | ".join(f"{m['ais']['value']:.2f} +- {m['ais']['stderr']:.2f}, {m['ais']['verdict']}" for m in models) + " |"
    )
    for settings in zip(*(model["csl"] for model in models), strict=True):
        first = settings[0]
        name = f"CSL, {first['chains'] * first['samples']:,} samples of {first['chains']:,} chains from {first['start']}"
        lines.append(f"| {name} | " + " | ".join(f"{line['value']:.1f} +- {line['stderr']:.1f}" for line in settings) + " |")
    return "\n".join(lines)


def kept_particles() -> str:
    r = result("kept_particles")
    lines = ["| | " + " | ".join(f"{budget} s | seconds taken, epochs, rate" for budget in r["budgets"]) + " |"]
    lines.append("|---|" + "---|---|" * len(r["budgets"]))
    columns = [{variant: r["found"][f"{variant} in {budget} s"] for variant in r["variants"]} for budget in r["budgets"]]
    bests = [max(column, key=lambda name: np.mean([run["test"] for run in column[name]["runs"]])) for column in columns]
    for variant in r["variants"]:
        cells = [variant]
        for column, best_variant in zip(columns, bests, strict=True):
            found, best = column[variant], variant == best_variant
            told = spread([run["test"] for run in found["runs"]], 3)
            seconds = np.mean([run["seconds"] for run in found["runs"]])
            cells += [f"**{told}**" if best else told, f"{seconds:.1f}, {found['epochs']}, {found['rate']:g}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", f"Differences, paired over {r['seeds']} seeds, ± standard error:", ""]
    lines += ["| | " + " | ".join(f"{budget} s" for budget in r["budgets"]) + " |", "|---|" + "---|" * len(r["budgets"])]
    for ours, theirs in (
        ("PMPF-1, refresh 5", "PCD-1"),
        ("PMPF-1, refresh 20", "PCD-1"),
        ("PMPF-10, refresh 20", "PCD-1"),
        ("PMPF-10, refresh 20", "PCD-10"),
        ("PMPF-1, refresh 5", "CD-1"),
        ("FMPF-1, refresh 5", "CD-1"),
        ("MPF-1flip", "CD-1"),
    ):
        leads = [np.subtract(*([run["test"] for run in column[name]["runs"]] for name in (ours, theirs))) for column in columns]
        lines.append(
            f"| {ours}, less {theirs} | " + " | ".join(f"{lead.mean():+.3f} ± {standard_error(lead):.3f}" for lead in leads) + " |"
        )
    return "\n".join(lines)


def trap() -> str:
    r = result("trap")
    lines = [
        "| seed | exact | forward, from the data's means | forward, from noise | value | 95% interval | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for model in r["models"]:
        ais, by_base = model["ais"], model["settings"]["forward_by_base"]
        lines.append(
            f"| {model['seed']} | {model['exact']['value']:.2f} | {by_base['data']:.2f} | {by_base['noise']:.2f} | "
            f"{ais['value']:.2f} +- {ais['stderr']:.2f} | [{ais['lower']:.2f}, {ais['upper']:.2f}] | {model['verdict']} |"
        )
    found = [model["settings"]["forward_by_base"]["noise"] > model["settings"]["forward_by_base"]["data"] for model in r["models"]]
    trusted = sum(model["verdict"] == "trusted" for model in r["models"])
    n = len(lines) - 2
    return "\n".join(
        [
            *lines,
            "",
            f"More is found from noise in {sum(found)} of {n}; {trusted} are trusted; {r['held']} of {n} intervals hold the exact figure.",
        ]
    )


def speed() -> str:
    r = result("likelihood_speed")
    ais, exact, csl = r["ais"], r["exact"], r.get("csl")

    def seconds(part, name):
        times = part["times"][name]
        return f"{min(times):.3f} s ({max(times):.3f})"

    return "\n".join(
        [
            "| | best (worst) | ratio |",
            "|---|---|---|",
            f"| AIS, {ais['setting']} | {seconds(ais, 'ais')} | {ais['ratio_to_products']:.2f}x its matrix products |",
            f"| its matrix products alone, JAX / NumPy | {seconds(ais, 'products_jax')} / {seconds(ais, 'products_numpy')} | |",
            *(
                [
                    f"| CSL, 10,000 hidden samples of 100 chains on 1,000 rows | {seconds(csl, 'csl')} | {csl['ratio_to_products']:.2f}x its matrix products |"
                ]
                if csl
                else []
            ),
            f"| exact log Z, 784 x 20, float32 | {seconds(exact, 'ours_float32')} | {exact['speedup_float32']:.0f}x faster than plain float32 |",
            f"| exact log Z, 784 x 20, float64 (default) | {seconds(exact, 'ours_float64')} | {exact['speedup_float64']:.0f}x faster than plain "
            f"float64, {exact['speedup_float64_over_plain_float32']:.1f}x than plain float32 |",
            f"| ... with its gradient, float64 | {seconds(exact, 'ours_float64_with_gradient')} | |",
            f"| plain jitted log-sum-exp over 2^20 configurations, float32 / float64 | {seconds(exact, 'plain_float32')} / "
            f"{seconds(exact, 'plain_float64')} | |",
        ]
    )


def memory() -> str:
    m = result("likelihood_speed")["memory"]
    return (
        f"annealing 784 x 500 with 500 chains the process peaked at {m['peak_mib_500_chains']:.0f} MiB, with 20,000 chains at "
        f"{m['peak_mib_20000_chains']:.0f} MiB (the final states alone are {m['states_alone_mib_20000_chains']:.0f} MiB)."
    )


def random_bits() -> str:
    lines = ["| chains x visible x hidden | products alone | fused bits | jax.random | ratios to the products |", "|---|---|---|---|---|"]
    for row in result("random_bits")["rows"]:
        best, worst = row["best_ms"], row["worst_ms"]
        cells = " | ".join(f"{best[name]:.3f} ms ({worst[name]:.3f})" for name in ("products", "fused", "jax_random"))
        ratios = " / ".join(f"{best[name] / best['products']:.2f}x" for name in ("fused", "jax_random"))
        lines.append(f"| {' x '.join(map(str, row['shape']))} | {cells} | {ratios} |")
    return "\n".join(lines)


def machine() -> str:
    m = result("training")["machine"]
    versions = ", ".join(f"{name} {m[name]}" for name in ("jax", "numpy", "torch", "scikit-learn", "rbms", "learnergy") if name in m)
    return f"{m['cores']} cores of {m['cpu']}, Python {m['python']}, {versions}."


def training() -> str:
    def cell(line, name):
        found = line["seconds"].get(name)
        return f"{found['best']:.2f} ({found['worst']:.2f})" if found else "-"

    peers = ("plain torch", "scikit-learn", "rbms", "learnergy")
    head = ["k", "hidden", "batch", "products", "ours", "ours, XLA alone", *peers, "ours / products", "fastest peer / ours"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for line in result("training")["lines"]:
        cells = [
            str(line["k"]),
            str(line["hidden"]),
            str(line["batch"]),
            f"{line['floor']:.2f}",
            cell(line, "ours"),
            cell(line, "ours, xla"),
        ]
        cells += [cell(line, name) for name in peers]
        cells += [f"**{line['ratio_to_floor']:.2f}x**", f"**{line['times_faster']:.2f}x**"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def kernel_steps() -> str:
    head = "| hidden | units set, visible / hidden | flips per step, visible / hidden | dense products | step by XLA | step by the kernel |"
    lines = [head, "|---|---|---|---|---|---|"]
    for row in result("kernels")["steps"]:
        counts = [f"{row[f'visible_{what}']:.0f} / {row[f'hidden_{what}']:.0f}" for what in ("set", "flips")]
        times = [f"{row[f'{name}_ms']:.3f} ms" for name in ("products", "xla", "native")]
        lines.append(f"| {row['hidden']} | {' | '.join(counts + times)} |")
    return "\n".join(lines)


def kernel_shares() -> str:
    lines = ["| share of ones | XLA | kernels | kernels / XLA |", "|---|---|---|---|"]
    for row in result("kernels")["shares"]:
        times = [f"{1000 * row['seconds'][name]['best']:.0f} ms ({1000 * row['seconds'][name]['worst']:.0f})" for name in ("xla", "native")]
        lines.append(f"| {row['share']:.0%} | {' | '.join(times)} | {row['ratio']:.2f}x |")
    return "\n".join(lines)


def kernel_sweeps() -> str:
    found = result("kernels")["sweeps"]
    names = {"ising": "Ising, 50 neurons", "potts": "Potts, 31 sites x 21 letters"}
    lines = ["| 20 sweeps of 1,000 chains | XLA | kernel | faster by |", "|---|---|---|---|"]
    for name, label in names.items():
        seconds = found[name]["seconds"]
        times = [f"{1000 * seconds[path]['best']:.1f} ms ({1000 * seconds[path]['worst']:.1f})" for path in ("xla", "native")]
        lines.append(f"| {label} | {' | '.join(times)} | {found[name]['times_faster']:.1f}x |")
    return "\n".join(lines)


def kernel_drift() -> str:
    steps = result("kernels")["drift"]
    told = ", ".join(f"{error:.0e} after {int(n):,} steps" for n, error in steps.items())
    return f"Largest error of a field of the 200-unit model that is only ever corrected: {told}. The kernels recompute the sums every 128 steps."


def refresh() -> str:
    seconds = result("training")["refresh"]
    parts = ", ".join(f"{value:.2f} s at refresh {name} ({seconds['1'] / value:.1f}x faster)" for name, value in seconds.items())
    return f"FPMPF-10, 200 hidden units, batch 100, per 50,000 examples: {parts}."


def replicas() -> str:
    lines = ["| hidden | k | ten seeds in one program | ten runs | ratio |", "|---|---|---|---|---|"]
    for found in result("training")["replicas"]:
        together, apart = (
            f"{found['seconds'][name]['best']:.2f} s ({found['seconds'][name]['worst']:.2f})" for name in ("together", "one by one")
        )
        lines.append(f"| {found['hidden']} | {found['k']} | {together} | {apart} | {found['ratio']:.2f} |")
    return "\n".join(lines)


def one_flip() -> str:
    r = result("one_flip")
    lines = ["| | best (worst) | ours is faster by | peak memory |", "|---|---|---|---|"]
    for name, found in r["seconds"].items():
        faster = f"{r['speedup'][name]:.0f}x" if name in r["speedup"] else ""
        lines.append(f"| {name} | {1e3 * found['best']:.1f} ms ({1e3 * found['worst']:.1f}) | {faster} | {r['peak_mib'][name]:.0f} MiB |")
    errors = ", ".join(f"{error:.0e} at weights of scale {scale}" for scale, error in r["relative_error_by_weight_scale"].items())
    kept = r["peak_mib"].get("ours, program kept", float("nan"))
    return "\n".join(
        [
            *lines,
            "",
            f"Most of our memory is the compiler's: with the program kept from an earlier process the peak is {kept:.0f} MiB.",
            f"Largest error of the float32 gradient against float64, relative to its largest entry: {errors}.",
        ]
    )


def growth() -> str:
    lines = ["| | from | to | exponent of time | peak memory |", "|---|---|---|---|---|"]
    for name, found in result("growth").items():
        if isinstance(found, dict) and "exponent" in found:
            memory = " → ".join(f"{found['measured'][i]['peak_mib']:.0f}" for i in (0, -1))
            lines.append(f"| {name} | {found['sizes'][0]:,} | {found['sizes'][-1]:,} | {found['exponent']:.2f} | {memory} MiB |")
    return "\n".join(lines)


def startup() -> str:
    r = result("startup")
    lines = ["| | best (worst) |", "|---|---|"]
    lines += [f"| {name} | {found['best']:.2f} s ({found['worst']:.2f}) |" for name, found in r["seconds"].items()]
    return "\n".join([*lines, "", f"The second run takes {r['second_to_first']:.2f} of the first."])


def quality() -> str:
    lines = []
    for table, about in result("time_to_quality").items():
        if not isinstance(about, dict) or "lines" not in about:
            continue
        lines += [f"**{table}** ({about['data']}, {about['hidden']} hidden units; the paper's best: {about['target']} nats)", ""]
        lines += ["| by | rule | epochs | seconds | test | 95% interval | verdict | there |", "|---|---|---|---|---|---|---|---|"]
        for line in about["lines"]:
            rule = line["rule"].upper().replace("FLIP", "flip") + (f"-{line['k']}" if "k" in line else "")
            rule += (
                "".join(f", {name} {line[name]}" for name in ("refresh", "n_particles", "l2") if name in line) + f", rate {line['rate']}"
            )
            compiling = f" + {line['compile_seconds']:.1f} compiling" if "compile_seconds" in line else ""
            interval = f"[{line['lower']:.2f}, {line['upper']:.2f}]" if line["upper"] > line["lower"] else "exact"
            there = "yes" if line["reached"] else "by AIS alone" if line["test"] >= about["target"] else "no"
            lines.append(
                f"| {line['by']} | {rule} | {line['epochs']} | {line['seconds']:.1f}{compiling} | {line['test']:.2f} | {interval} "
                f"| {line['verdict']} | {there} |"
            )
        sure, alone = (
            [
                line["seconds"] / about["sklearn_seconds"]
                for line in about["lines"]
                if line["by"] == "minprobflow" and line[end] >= about["target"]
            ]
            for end in ("lower", "test")
        )
        found, caution = (sure, "") if sure else (alone, " (by AIS alone: its other side does not close)")
        told = f"Our fastest way there takes {min(found):.2f} of the time" if found else "No rule got there; compare with the time"
        lines += ["", f"{told} that scikit-learn takes for {about['sklearn_epochs']} epochs{caution if found else ''}.", ""]
    return "\n".join(lines).rstrip()


def randomness() -> str:
    r = result("randomness")
    weak = "; ".join(f"{name} {size}: p = {p:g}, {verdict.lower()}" for name, size, p, verdict in r["not_passed"])
    again = f" Those tests again, three times as long: {_verdicts(r['again'])}." if r["again"] else ""
    control = ", ".join(f"p = {p:g}, {verdict.lower()}" for _, _, p, verdict in r["control"]["lines"])
    return (
        f"dieharder's tests on the samplers' own stream ({r['stream']}, {r['rounds']} rounds): {r['p_values']} p-values, {r['PASSED']} passed, "
        f"{r['WEAK']} weak, {r['FAILED']} failed{f' ({weak})' if weak else ''}. Weak means p below 0.005 or above 0.995, which one in a hundred "
        f"is by chance.{again} Control: with {r['control']['rounds']} rounds its first test gives {control}."
    )


def _verdicts(lines: list[list]) -> str:
    verdicts = [verdict.lower() for *_, verdict in lines]
    return f"{len(verdicts)} p-values, " + ", ".join(f"{verdicts.count(kind)} {kind}" for kind in dict.fromkeys(verdicts))


def performance_plot() -> None:
    """Seconds as multiples of the matrix products, for the cases that all peers ran."""
    from matplotlib.figure import Figure

    cases = [line for line in result("training")["lines"] if "rbms" in line["seconds"]]
    names = ["ours", "plain torch", "scikit-learn", "rbms", "learnergy"]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    for i, name in enumerate(names):
        found = [(x, line["seconds"][name]["best"] / line["floor"]) for x, line in enumerate(cases) if name in line["seconds"]]
        axes.bar([x + 0.16 * (i - 2) for x, _ in found], [y for _, y in found], width=0.15, label=name, color=f"C{i}")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_yticks([1, 2, 5, 10, 20], ["1x", "2x", "5x", "10x", "20x"])
    axes.set_xticks(range(len(cases)), [f"k = {line['k']}\n{line['hidden']} hidden" for line in cases])
    axes.set_ylabel("time / matrix products")
    axes.legend(frameon=False, ncols=5, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    axes.spines[["top", "right"]].set_visible(False)
    (ROOT / "docs" / "images").mkdir(exist_ok=True)
    (ROOT / "docs" / "images" / "performance.png").write_bytes(figure_png(figure, 150))


def ising_speed() -> str:
    r = result("ising")
    lines = ["| | MPF-1flip | pseudo-likelihood |", "|---|---|---|"]

    def seconds(both):
        return f"{both[0]:.2f} s ({both[1]:.2f} s)"

    def ratio(both):
        return f"{both[0]:.1f}x ({both[1]:.1f}x)"

    rows = {
        "`fit_convex`": lambda p: seconds(p["best"]["ours"]),
        "... its first call, with compilation": lambda p: seconds(p["first_call_with_compilation"]),
        "SciPy, all rows": lambda p: seconds(p["best"]["scipy"]),
        "SciPy, distinct rows": lambda p: seconds(p["best"]["scipy_distinct_rows"]),
        "faster than SciPy on all rows": lambda p: ratio(p["speedup"]),
        "... with compilation": lambda p: ratio(p["speedup_with_compilation"]),
        "faster than SciPy on distinct rows": lambda p: ratio(p["speedup_over_distinct_rows"]),
        "... with compilation (distinct rows)": lambda p: ratio(p["speedup_over_distinct_rows_with_compilation"]),
        "evaluations of the objective, ours / SciPy": lambda p: f"{p['evaluations']['ours']} / {p['evaluations']['scipy_distinct_rows']}",
        "relative gradient norm reached, checked in NumPy": lambda p: f"{p['gradient_norm_by_numpy']:.1e}",
        "largest difference of a parameter from the minimum, ours / SciPy": lambda p: (
            f"{p['largest_parameter_difference']:.1e} / {p['largest_parameter_difference_of_scipy']:.1e}"
        ),
    }
    lines += [f"| {name} | " + " | ".join(show(r[o]) for o in ("mpf-1flip", "pseudo-likelihood")) + " |" for name, show in rows.items()]
    return "\n".join(lines)


def ising_moments() -> str:
    lines = ["| fit | error of pairs, in standard errors | correlation of covariances | seconds |", "|---|---|---|---|"]
    for name, m in result("ising")["moments"]["models"].items():
        lines.append(
            f"| {name} | {m['rms_error_of_pairs_in_standard_errors']:,.2f} | {m['correlation_of_covariances']:.3f} | {m['seconds']:.1f} |"
        )
    return "\n".join(lines)


def consistency() -> str:
    lines = ["| | " + " | ".join(f"n = {n:,}" for n in next(iter(result("consistency")["models"].values()))["sizes"]) + " | slope |"]
    lines += ["|---" * lines[0].count(" | ") + "|---|"]
    for name, m in result("consistency")["models"].items():
        lines.append(f"| {name} | " + " | ".join(f"{e:.4f}" for e in m["mean_errors"]) + f" | {m['slope']:.3f} |")
    return "\n".join(lines)


def sklearn_features() -> str:
    def mean_and_std(values):
        mean = sum(values) / len(values)
        return mean, (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5

    def share(values):
        mean, spread = mean_and_std(values)
        return f"{mean:.1%} +- {spread:.1%}"

    r, tables = result("sklearn_features"), []
    for name, part in r["data"].items():
        lines = [
            f"**{name}**: {part['n_train']:,} training rows, {part['n_components']} hidden units, {part['seeds']} seeds. Our first fit, which compiles, took {part['first_fit_seconds']:.1f} s.",
            "",
            "| features | iterations | learning rate | C | seconds a fit | units on | test accuracy |",
            "|---|---|---|---|---|---|---|",
            f"| the pixels themselves | | | | | | {share(part['pixels'])} |",
        ]
        lines += [
            f"| {row['name']} | {row['n_iter']} | {row['learning_rate']} | {row['C']:g} | {row['seconds']:.1f} | {row['mean_activation']:.0%} | {share(row['accuracies'])} |"
            for row in part["rows"]
        ]
        tables.append("\n".join(lines))
    told = [
        f"{mean_and_std(row['scores'])[0]:.2f} +- {mean_and_std(row['scores'])[1]:.2f} nats with centred={row['centred']}"
        for row in r["likelihoods"]
    ]
    about = r["likelihoods"][0]
    tables.append(
        f"Test log-likelihood of thresholded digits, {about['n_components']} hidden units, {about['n_iter']} iterations, exact, rate chosen on validation rows: {', '.join(told)}."
    )
    return "\n\n".join(tables)


def consistency_potts() -> str:
    r = result("consistency_potts")
    s = r["settings"]
    found = ", ".join(f"{row['error']:.4f} at n = {row['n']:,}" for row in r["rows"])
    return (
        f"({s['size']} columns of {s['n_values']} letters, tau {s['tau']}, {s['repeats']} repeats) the error of the parameters is {found}: it falls like "
        f"n to the power of **{r['slope']:.3f} +- {r['slope_stderr']:.3f}** (theory: -1/2)."
    )


def protein() -> str:
    r = result("protein")
    names = {"mpf-1flip": "MPF-1flip", "pseudo-likelihood": "pseudo-likelihood", "pcd": "PCD-1"}
    lines = [
        f"{r['sequences']:,} training sequences that count for {r['effective_sequences']:,.0f}; {r['contacts']} of {r['pairs']} pairs are in contact.",
        "",
        "| | l2 | precision of the top 10 / 15 / 20 / 31 | frequencies: r, slope | pair covariances: r, slope | test log-likelihood (nats) |",
        "|---|---|---|---|---|---|",
    ]

    def moments(part):
        return " | ".join(f"{part[name]['r']:.3f}, {part[name]['slope']:.2f}" for name in ("frequencies", "pair_covariances"))

    for rule, part in r["rules"].items():
        precision = " / ".join(f"{part['precision'][n]:.0%}" for n in ("10", "15", "20", "31"))
        ll = part["test_log_likelihood"]
        lines.append(
            f"| {names[rule]} | {part['l2']:g} | {precision} | {moments(part)} | {ll['value']:.2f} [{ll['lower']:.2f}, {ll['upper']:.2f}], {part['verdict']} |"
        )
    at_random = f"{r['contacts'] / r['pairs']:.0%}"
    lines += [
        f"| independent columns | | {at_random} (at random) | | | {r['independent_columns']['test_log_likelihood']:.2f} |",
        f"| held-out sequences | | | {moments(r['held_out'])} | |",
    ]
    samples = "\n".join(r["rules"]["mpf-1flip"]["samples"])
    return "\n".join(lines) + f"\n\nFour sequences sampled from the model by MPF-1flip:\n\n```\n{samples}\n```"


def gaussian() -> str:
    r = result("gaussian")
    s, m = r["settings"], r["mixture"]
    lines = [
        "| | test log density, nats per image | 95% interval | training images | judged by |",
        "|---|---|---|---|---|",
        f"| independent Gaussians | {r['independent']:.2f} | | | closed form |",
        f"| one Gaussian, all covariances | {r['full_covariance']:.2f} | | | closed form |",
        f"| mixture of {m['components']} Gaussians, all covariances | {m['value']:.2f} | | | closed form |",
    ]
    for part in r["rbm"]:
        test, name = part["test"], f"Gaussian RBM, {part['hidden']} hidden units" + ("" if part["l2"] else ", no penalty")
        lines.append(
            f"| {name} | {test['value']:.2f} | [{test['lower']:.2f}, {test['upper']:.2f}] "
            f"| {part['train']['value']:.2f} | {part['method']}: {part['verdict']} |"
        )
    rule = f"{s['rule'].upper()}-{s['k']}, {s['epochs']} epochs, batches of {s['batch_size']}, learning rate {s['learning_rate']:g}, l2 {r['rbm'][0]['l2']:g}"
    return (
        "\n".join(lines)
        + f"\n\nThe RBMs: {rule} unless it says otherwise. The mixture: scikit-learn, components chosen on validation images."
    )


def density() -> str:
    r = result("density")
    tables = []
    for name, part in r["sets"].items():
        sizes = " / ".join(f"{n:,}" for n in part["sizes"])
        lines = [
            f"**{name}** ({sizes} rows to train, validate, test)",
            "",
            "| model | rule | learning rate | l2 | epochs | validation | test, mean +- std of seeds | rows | how |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        best = max(part["rows"], key=lambda row: row["valid"]["lower"])
        lines += [_density_row(row, row is best) for row in part["rows"]]
        for model, found in part["simple"].items():
            lines.append(f"| {model} | | | | | | {found['value']:.3f} | +- {found['stderr_over_examples']:.2f} | exact |")
        lines += [f"| *{model}* | | | | | | *{value:.3f}* | | published |" for model, value in part["published"].items()]
        tables.append("\n".join(lines))
    about = r["machine"]
    tables.append(
        f"{r['seeds']} seeds; AIS with up to {r['max_betas']:,} temperatures; {about['cpu']}, Python {about['python']}, jax {about['jax']}."
    )
    return "\n\n".join(tables)


def _density_row(row, is_best: bool) -> str:
    values = [run["value"] for run in row["test"]]
    mean = sum(values) / len(values)
    spread = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
    rule = f"{row['rule'].upper()}-{row['k']}"
    rate = row["rate"] * (0.2 if "mpf" in row["rule"] else 0.1)
    verdicts = [run["verdict"] for run in row["test"]]
    exact = all(run["method"] == "exact" for run in row["test"])
    widest = max(run["upper"] - run["lower"] for run in row["test"]) / 2
    worst = max(verdicts, key=("trusted", "wide", "do not trust").index)
    how = "exact" if exact else f"AIS, 95% within +- {widest:.2f}, {worst}"
    mark = "**" if is_best else ""
    model = f"{row['model']}, {row['hidden']} hidden" if row["hidden"] else row["model"]
    return (
        f"| {mark}{model}{mark} | {rule} | {rate:g} | {row['l2']:g} | {row['epochs']} | {row['valid']['value']:.3f} "
        f"| {mark}{mean:.3f} +- {spread:.3f}{mark} | +- {row['test'][0]['stderr_over_examples']:.2f} | {how} |"
    )


def defaults() -> str:
    found = defaults_plan.records()
    if not found:
        raise FileNotFoundError(2, "not measured", str(defaults_plan.FILE))
    chosen, settings = defaults_plan.chosen(found), {**defaults_plan.OLD, **defaults_plan.CANDIDATES}
    heads = {name: f"{name}{' (now the default)' if name == chosen else ''}" for name in settings}
    tables = []
    for part, title in (("valid", "validation"), ("test", "test")):
        lines = [f"| {title} | " + " | ".join(heads.values()) + " |", "|---|" + "---|" * len(settings)]
        for case, by_setting in defaults_plan.means(found, part).items():
            cells = [f"{np.mean(by_setting[name]):.2f} ± {standard_error(by_setting[name]):.2f}" for name in settings]
            lines.append(f"| {case} | " + " | ".join(cells) + " |")
        if part == "valid":
            below = defaults_plan.shortfalls(found)
            lines.append(
                "| *mean (worst) below the best candidate* | "
                + " | ".join(f"*{np.mean(below[n]):.2f} ({max(below[n]):.2f})*" for n in settings)
                + " |"
            )
        tables.append("\n".join(lines))
    leads = []
    for name in defaults_plan.CANDIDATES:
        if name != defaults_plan.PRIOR:
            ahead, error = defaults_plan.lead(found, name, defaults_plan.PRIOR)
            leads.append(f"{name} is {ahead:+.2f} ± {error:.2f} from {defaults_plan.PRIOR}")
    told = "; ".join(
        f"{name}: {s.rule.upper()}-{s.k}, rate {s.learning_rate:g}, batch {s.batch_size}, {s.epochs} epochs"
        for name, s in defaults_plan.OLD.items()
    )
    about = found[-1]["machine"]
    noisy = ", ".join(f"{case.title()}: {case.seeds}" for case in defaults_plan.CASES if case.seeds > 3)
    tables.append(f"Mean over cases, validation, paired by seed: {'; '.join(leads)}.")
    tables.append(
        f"Nats, mean over 3 seeds ± its standard error ({noisy} seeds); 16 hidden units and exact, or 100 and AIS with {defaults_plan.BETAS:,} temperatures (all trusted). "
        f"{told}; the candidates: batch 50, 50 epochs. {about['cpu']}, Python {about['python']}, jax {about['jax']}."
    )
    return "\n\n".join(tables)


def part(name: str) -> str | None:
    """The part of a page that the function of its name makes; names with hyphens are the paper's (`python -m paper page`)."""
    if "-" in name:
        return None
    try:
        return globals()[name]()
    except FileNotFoundError as missing:
        return f"Not measured yet: `python -m benchmarks {Path(missing.filename).stem}`."


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(), part))
    performance_plot()

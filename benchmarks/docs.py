# ruff: noqa: E501 (tables)
"""Write the measured figures into the docs: `python -m benchmarks.docs`. A test checks that they are up to date."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "likelihood.md", ROOT / "docs" / "design-notes.md", ROOT / "docs" / "ising.md")


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


def trap() -> str:
    r = result("trap")
    exact, ais, s = r["exact"]["value"], r["ais"], r["settings"]
    starts = ", ".join(f"{value:.2f} from {name}" for name, value in s["reverse_by_start"].items())
    return (
        f"Enumeration: log Z {exact:.2f}. AIS ({s['chains']} chains, {s['betas']:,} temperatures): {ais['value']:.2f} +- {ais['stderr']:.2f}, "
        f"{exact - ais['value']:.1f} nats too optimistic a likelihood.\nReverse AIS: {starts}. The sandwich is open by {s['gap']:.1f} nats; "
        f"interval [{ais['lower']:.2f}, {ais['upper']:.2f}]; verdict: **{r['verdict']}**."
    )


def speed() -> str:
    r = result("likelihood_speed")
    ais, exact = r["ais"], r["exact"]

    def seconds(part, name):
        times = part["times"][name]
        return f"{min(times):.3f} s ({max(times):.3f})"

    return "\n".join(
        [
            "| | best (worst) | ratio |",
            "|---|---|---|",
            f"| AIS, {ais['setting']} | {seconds(ais, 'ais')} | {ais['ratio_to_products']:.2f}x its matrix products |",
            f"| its matrix products alone, JAX / NumPy | {seconds(ais, 'products_jax')} / {seconds(ais, 'products_numpy')} | |",
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


def filled(text: str) -> str:
    """The page with every <!-- name --> ... <!-- end --> part made anew."""
    for make in (golden, calibration, trap, speed, memory, random_bits, ising_speed, ising_moments, consistency):
        pattern = rf"(<!-- {make.__name__} -->\n).*?(\n<!-- end -->)"
        text = re.sub(pattern, lambda m, make=make: m[1] + make() + m[2], text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text()))

"""Writes docs/settings.md: every setting of a run, its rules and its models, as the code defines them. A second."""

from pathlib import Path

from minprobflow import rules
from minprobflow.likelihood import likelihood_estimators
from minprobflow.model_specs import model_specs
from minprobflow.specs import settings_of, union
from minprobflow.train import run_settings

PAGE = Path("docs/settings.md")
HEAD = """# Settings

All settings of a run, made from the code by `python -m benchmarks.settings`. The same names are arguments of `mpf.fit`, flags of
`minprobflow train` (`--batch-size` for `batch_size`), entries of its TOML file, parameters of the scikit-learn estimator
(`n_iter` for `epochs`, `n_components` for `hidden`, `random_state` for `seed`) and fields of the records.
"""


def table() -> str:
    """A table for the run's own settings, and one for each family of specs."""
    sections = ["## Run", *_rows([(setting, "") for setting in run_settings().values()], "")]
    families = {"Rules": rules.specs(), "Models": model_specs(), "Estimators of the likelihood": likelihood_estimators()}
    for title, known in families.items():
        names = {spec: name for name, spec in known.items()}
        having = [
            (settings_of(spec)[setting], ", ".join(names[s] for s in specs))
            for setting, specs in union(known.values()).items()
            for spec in specs[:1]
        ]
        sections += ["", f"## {title}", *_rows(having, " of |")]
    return "\n".join(sections)


def _rows(settings, of) -> list[str]:
    lines = ["", f"| setting |{of} default | meaning |", f"|---|{'---|' if of else ''}---|---|"]
    for setting, having in settings:
        default = "" if setting.default in (None, {}) else f"`{setting.default}`"
        lines.append(f"| `{setting.name}` |{f' {having} |' if of else ''} {default} | {setting.help.replace('|', chr(92) + '|')} |")
    return lines


if __name__ == "__main__":
    PAGE.write_text(f"{HEAD}\n{table()}\n")
    print(PAGE)

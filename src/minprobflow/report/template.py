"""The page. Jinja2 escapes everything that is put in; only figures come as markup."""

# For every page the package writes. A page is one file: pictures and styles are inside it, and nothing runs or is fetched.
# Should markup ever get past the escaping, the browser still refuses scripts, forms and requests.
POLICY = """<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">"""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2026; --soft: #5a6370; --paper: #f6f7f9; --card: #fff; --line: #d9dde3;
  --good: #157347; --fair: #8a5a00; --bad: #b3261e; --link: #1d5fc4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a3adba; --paper: #14171b; --card: #1d2127; --line: #343b45;
  --good: #5fd39a; --fair: #f0bd5b; --bad: #ff8f86; --link: #84b4ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(.7rem, 3vw, 2.5rem) 3rem; max-width: 84rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; } h2 { font-size: 1.35rem; margin: 0 0 .8rem; }
h3 { font-size: 1.1rem; margin: 2rem 0 .6rem; } h4 { font-size: .95rem; margin: 0; }
a { color: var(--link); } p { margin: .4rem 0; } .soft { color: var(--soft); }
.card, figure { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1rem; margin: 0; }
.verdict { border-left: 6px solid var(--tone); } .good { --tone: var(--good); } .fair { --tone: var(--fair); } .bad { --tone: var(--bad); }
.verdict .value { font-size: 2rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.verdict .value small { display: block; font-size: 1rem; line-height: 1.4; font-weight: 400; color: var(--soft); }
.badge { color: var(--tone); font-weight: 650; } .verdict ul { margin: .3rem 0; padding-left: 1.2rem; }
.grid { display: grid; gap: .9rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
.halves { display: grid; gap: .9rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
figcaption { margin-bottom: .4rem; } figcaption span { color: var(--soft); font-size: .875rem; display: block; line-height: 1.4; }
svg { display: block; width: 100%; height: auto; }
.strip { display: grid; grid-template-columns: 5.5rem 1fr; gap: .6rem; align-items: center; font-size: .875rem; margin-top: .5rem; }
.picture { background: #c9ced6; padding: 2px; border-radius: 3px; line-height: 0; } img { width: 100%; height: auto; }
.halves svg { max-width: 30rem; margin: 0 auto; }
.narrow { max-width: calc(var(--columns) * 5.2rem); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9375rem; }
th, td { text-align: left; padding: .3rem 1.1rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 500; } .compare { overflow-wrap: normal; width: 100%; }
.compare th, .compare td + td { white-space: nowrap; }
.compare td:first-child { min-width: 8rem; overflow-wrap: anywhere; } .figure { font-variant-numeric: tabular-nums; }
.pairs { columns: 21rem; column-gap: 2rem; margin: 0; } .pairs div { display: flex; gap: .8rem; break-inside: avoid; padding: .2rem 0;
  border-bottom: 1px solid var(--line); font-size: .9375rem; }
dt { color: var(--soft); flex: 0 0 42%; } dd { margin: 0; min-width: 0; }
.swatch { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .45em; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.3rem; margin: 0 0 .7rem; padding: 0; list-style: none; font-size: .9375rem; }
section { margin-top: 2.5rem; } .many section { border-top: 2px solid var(--line); padding-top: 1.5rem; }
summary { cursor: pointer; font-weight: 600; } details + details.card { margin-top: .9rem; } details[open] summary { margin-bottom: .5rem; }
@media (max-width: 44rem) { .strip { grid-template-columns: 1fr; gap: .1rem; } .compare thead { display: none; }
  .compare tr { display: block; padding: .6rem 0; border-bottom: 1px solid var(--line); } .compare tr:last-child { border: 0; }
  .compare td { display: flex; gap: 1rem; border: 0; padding: .1rem 0; align-items: baseline; }
  .compare td:first-child { display: block; font-weight: 600; }
  .compare td[data-label]::before { content: attr(data-label); color: var(--soft); flex: 0 0 8rem; } }
@media print { body { max-width: none; } figure, .card { break-inside: avoid; } }
"""

MACROS = """
{% macro figure(shown) %}
<figure><figcaption><h4>{{ shown.title }}</h4><span>{{ shown.caption }}</span></figcaption>{{ shown.content }}</figure>
{% endmacro %}
{% macro pairs(rows) %}
<dl class="pairs">{% for name, value in rows %}<div><dt>{{ name }}</dt><dd>{{ value }}</dd></div>{% endfor %}</dl>
{% endmacro %}
{% macro verdict(run) %}
<div class="card verdict {{ run.tone }}">
<p class="value">{{ run.value }} <small>nats per {{ run.part }} example, 95% interval {{ run.interval }}</small></p>
<p><span class="badge">{{ run.verdict }}</span> · method {{ run.method }} · {{ run.n }} examples. {{ run.meaning }}</p>
<ul>{% for reason in run.reasons %}<li>{{ reason }}</li>{% endfor %}</ul>
{% if run.spread %}
<p class="soft">The interval is the estimator's. Another {{ run.part }} set of this size would move the figure by about ±{{ run.spread }}
(95%).</p>
{% endif %}
{% if run.unfinished %}
<p class="soft">The run is not finished: {{ run.epochs }} epochs so far.</p>
{% endif %}
</div>
{% endmacro %}
"""

RUN = """
{% macro about(run) %}
{{ verdict(run) }}
<h3>Settings</h3>
<div class="card">{{ pairs(run.settings) }}</div>
{% if run.understood %}
<h3>Data</h3>
<div class="card">{% for line in run.understood %}<p>{{ line }}</p>{% endfor %}
{% if run.columns %}
<details><summary>All {{ run.columns | length }} columns</summary>{{ pairs(run.columns) }}</details>
{% endif %}
</div>
{% endif %}
<h3>Training</h3>
<p class="soft">{{ run.epochs }} epochs in {{ run.seconds }} s. The dotted line is the epoch of the best model
({{ run.best_epoch or "none" }}), which everything else is about.</p>
<div class="grid">{% for shown in run.curves %}{{ figure(shown) }}{% endfor %}</div>
{% if run.gap is not none %}
<p>Free-energy gap of the best model: <b>{{ run.gap }}</b> nats (mean F of validation less mean F of training data).</p>
{% endif %}
<h3>Samples</h3>
{% if run.samples %}
<div class="halves">
{% for title, strips in run.samples %}
<figure><figcaption><h4>{{ title }}</h4><span>one chain per column, after 1 to 1,000 Gibbs steps</span></figcaption>
{% for label, strip in strips %}
<div class="strip"><span>{{ label }}</span><div class="picture">{{ strip }}</div></div>
{% endfor %}
</figure>
{% endfor %}
</div>
{% else %}
<p>The data are not images, so samples and filters are not drawn.</p>
{% endif %}
{% if run.along or run.film %}
<h3>Along the trajectory</h3>
<div class="halves">{% for shown in run.along %}{{ figure(shown) }}{% endfor %}</div>
{% if run.film %}
<figure><figcaption><h4>Learning</h4><span>samples at some rungs, from independent units to the model</span></figcaption>
{% for label, strip in run.film %}
<div class="strip"><span>{{ label }}</span><div class="picture">{{ strip }}</div></div>
{% endfor %}
</figure>
{% endif %}
{% endif %}
{% if run.filters %}
<h3>Filters</h3>
<figure><figcaption><span>{{ run.filters.caption }}</span></figcaption>
<div class="picture narrow" style="--columns: {{ run.filter_columns }}">{{ run.filters.content }}</div></figure>
{% endif %}
{% if run.hidden_figures %}
<h3>Hidden activations</h3>
<div class="halves">{% for shown in run.hidden_figures %}{{ figure(shown) }}{% endfor %}</div>
{% endif %}
<h3>Mixing of chains</h3>
<p>{{ run.mixing }}</p>
<div class="halves">{% for shown in run.mixing_figures %}{{ figure(shown) }}{% endfor %}</div>
<h3>How it was measured, and where it ran</h3>
<details class="card"><summary>Estimate of the likelihood</summary>{{ pairs(run.evaluation) }}</details>
<details class="card" open><summary>Environment</summary>
{% if run.environment %}{{ pairs(run.environment) }}{% else %}<p>Not recorded.</p>{% endif %}
</details>
{% endmacro %}
"""

COMPARISON = """
{% macro comparison() %}
<div class="card scroll" tabindex="0" role="region" aria-label="Comparison of the runs">
<table class="compare"><thead><tr><th scope="col">run</th><th scope="col">log-likelihood</th><th scope="col">±</th>
<th scope="col">verdict</th><th scope="col">rule</th><th scope="col">model</th><th scope="col">best epoch</th>
<th scope="col">seconds</th></tr></thead><tbody>
{% for run in runs %}
<tr class="{{ run.tone }}">
<td><span class="swatch" style="background: {{ run.colour }}"></span><a href="#{{ run.id }}">{{ run.name }}</a></td>
<td class="figure" data-label="log-likelihood">{{ run.value }}</td>
<td class="figure" data-label="±">{{ run.stderr }}</td>
<td data-label="verdict"><span><span class="badge">{{ run.verdict }}</span> ({{ run.method }})</span></td>
<td data-label="rule">{{ run.rule }}</td>
<td data-label="model">{{ run.model }}</td>
<td class="figure" data-label="best epoch">{{ run.best_epoch or "none" }}</td>
<td class="figure" data-label="seconds">{{ run.seconds }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="soft">Nats per test example; ± is one standard error of the estimate; seconds are those of training.</p>
{% if several_data %}
<p class="badge bad">These runs are about different data: their likelihoods do not compare.</p>
{% endif %}
<h3>Training, all runs</h3>
<ul class="legend">
{% for run in runs %}<li><span class="swatch" style="background: {{ run.colour }}"></span>{{ run.name }}</li>{% endfor %}
</ul>
<div class="grid">{% for shown in shared %}{{ figure(shown) }}{% endfor %}</div>
{% if runs | selectattr("samples") | list %}
<h3>Samples and filters, side by side</h3>
<div class="halves">
{% for run in runs if run.samples %}
<figure><figcaption><h4><span class="swatch" style="background: {{ run.colour }}"></span>{{ run.name }}</h4>
<span>chains from data and from noise after the last number of steps; filters</span></figcaption>
{% for title, strips in run.samples %}
<div class="strip"><span>{{ title }}, {{ strips[-1][0] }}</span><div class="picture">{{ strips[-1][1] }}</div></div>
{% endfor %}
{% if run.filters %}
<div class="picture narrow" style="--columns: {{ run.filter_columns }}">{{ run.filters.content }}</div>
{% endif %}
</figure>
{% endfor %}
</div>
{% endif %}
{% endmacro %}
"""

HEAD = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">{POLICY}<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">"""

TITLE = """
<title>minprobflow report: {% if runs | length > 1 %}{{ runs | length }} runs{% else %}{{ runs[0].name }}{% endif %}</title>
<style>"""

SEVERAL = """<body class="many"><main><h1>{{ runs | length }} runs compared</h1>
{{ comparison() }}
{% for run in runs %}
<section id="{{ run.id }}"><h2><span class="swatch" style="background: {{ run.colour }}"></span>{{ run.name }}</h2>
<p class="soft">{{ run.rule }} on {{ run.data }}, {{ run.model }}</p>
{{ about(run) }}</section>
{% endfor %}"""

ONE = """<body><main><h1>{{ runs[0].name }}: {{ runs[0].rule }} on {{ runs[0].data }}, {{ runs[0].model }}</h1>
{{ about(runs[0]) }}"""

PAGE = (
    f"{MACROS}{RUN}{COMPARISON}{HEAD}{TITLE}{STYLE}</style></head>"
    f"{{% if runs | length > 1 %}}{SEVERAL}{{% else %}}{ONE}{{% endif %}}</main></body></html>\n"
)

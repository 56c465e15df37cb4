"""Mutation testing: apply each deliberate bug of `mutations.toml` in turn and see whether the tests named there notice it.

    make mutate                                       all of them; continues where the last campaign stopped
    python tests/mutation/run.py --only rate-sign-of-o --fresh

Each entry has a `name`, the `file`, the `old` text and the `new` text, and `tests`, the pytest arguments that should fail. The old text
must occur once in the file, or `occurrence` says which one is meant (from 1). A mutation is

- killed: a test failed;
- survived: all tests passed, so a test is missing;
- timeout: the tests did not end in time;
- broken: the tests could not even be collected, so the mutation proves nothing, or they fail without it;
- does not apply: the old text is gone, so the list needs an update.

Every result is appended to the results file, under a digest of the mutation, the mutated file and the test files.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import hashlib
import importlib
import json
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutations.toml")
ENOUGH = 0.95  # share of the mutations that must be killed
NOT_COPIED = (".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info")
NOT_COPIED_FROM_ROOT = ("build", "dist", "runs", "demo-output", "soak-output", "reproduced-models")
PRELOADED = ("jax", "jax.numpy", "equinox", "optax", "jaxtyping", "beartype", "scipy.stats", "pytest", "hypothesis")


class DoesNotApplyError(Exception):
    """The old text is not in the file, or not once."""


@dataclass(frozen=True)
class Mutation:
    """One deliberate bug."""

    name: str
    file: str
    old: str
    new: str
    tests: str
    occurrence: int | None = None

    def applied(self, text: str) -> str:
        """The file's text with the bug."""
        found = [match.start() for match in re.finditer(re.escape(self.old), text)]
        if not found or (self.occurrence is None and len(found) > 1) or (self.occurrence or 1) > len(found):
            raise DoesNotApplyError(f"{self.name}: the old text occurs {len(found)} times in {self.file}")
        start = found[(self.occurrence or 1) - 1]
        return text[:start] + self.new + text[start + len(self.old) :]

    def digest(self, root: Path) -> str:
        """Of all that the result depends on, other files of the package aside."""
        parts = [json.dumps(asdict(self), sort_keys=True), (root / self.file).read_text()]
        parts += [(root / file).read_text() for file in sorted(self.test_files())]
        return _digest(*parts)

    def test_files(self) -> set[str]:
        return {part.split("::")[0] for part in shlex.split(self.tests) if part.split("::")[0].endswith(".py")}


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def mutations(file: Path = LIST) -> list[Mutation]:
    """All of the list; names must differ."""
    found = [Mutation(**entry) for entry in tomllib.loads(file.read_text())["mutation"]]
    names = [mutation.name for mutation in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"mutations of the same name: {', '.join(sorted(twice))}")
    return found


def checked(mutation: Mutation, root: Path) -> str:
    """The mutated text; raises unless the mutation applies, changes the program and leaves it Python."""
    text = (root / mutation.file).read_text()
    changed = mutation.applied(text)
    if ast.dump(ast.parse(changed)) == _program(text):
        raise DoesNotApplyError(f"{mutation.name} changes nothing")
    return changed


def _ignored(root: Path, folder: str, names: list[str]) -> set[str]:
    patterns = (*NOT_COPIED, *(NOT_COPIED_FROM_ROOT if Path(folder) == root else ()))
    return set(shutil.ignore_patterns(*patterns)(folder, names))


@functools.cache
def _program(text: str) -> str:
    return ast.dump(ast.parse(text))


class Workplace:
    """A copy of the tree that mutations are applied to, with a process that has imported all but the package."""

    def __init__(self, root: Path, timeout: float):
        self.folder = tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True)
        self.root, self.timeout = Path(self.folder.name) / "tree", timeout
        shutil.copytree(root, self.root, ignore=functools.partial(_ignored, root))
        self.second = int(time.time())  # of the last change to a file
        environment = {
            "JAX_PLATFORMS": "cpu",  # the settings of tests/conftest.py, which come too late once JAX is imported
            "JAX_COMPILATION_CACHE_DIR": str(root / ".pytest_cache" / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
        }
        command = [sys.executable, str(Path(__file__).resolve()), "--serve", str(Path(self.folder.name) / "output"), *PRELOADED]
        self.server = subprocess.Popen(
            command, cwd=self.root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def pytest(self, arguments: Iterable[str], stop: bool = True, times: float = 1.0) -> tuple[int | None, str]:
        """Exit code (None after so many times the time allowed) and output."""
        options = [*(["-x"] if stop else []), "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider"]
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.write(json.dumps({"arguments": [*options, *arguments], "timeout": times * self.timeout}) + "\n")
        self.server.stdin.flush()
        code = json.loads(self.server.stdout.readline())
        return code, (Path(self.folder.name) / "output").read_text(errors="replace")

    def close(self) -> None:
        self.server.communicate()  # the end of its input ends it
        self.folder.cleanup()

    @contextlib.contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """The tree with this bug, for a while."""
        file = self.root / mutation.file
        text = file.read_text()
        self.write(file, checked(mutation, self.root))
        try:
            yield
        finally:
            self.write(file, text)

    def write(self, file: Path, text: str) -> None:
        """Each time as of another second, or compiled bytecode of the text before would be taken for that of this one."""
        file.write_text(text)
        self.second += 1
        os.utime(file, (self.second, self.second))

    def tried(self, mutation: Mutation) -> dict[str, Any]:
        """What becomes of this mutation."""
        begun = time.perf_counter()
        try:
            with self.mutated(mutation):
                code, output = self.pytest(shlex.split(mutation.tests))
        except (DoesNotApplyError, SyntaxError, OSError) as problem:
            return {"result": "does not apply", "by": str(problem), "seconds": 0.0}
        return {**verdict(code, output), "seconds": round(time.perf_counter() - begun, 1)}


def serve(output: str, preloaded: Iterable[str]) -> None:
    """Run pytest for each request on standard input, in a fork of a process that has imported what takes long."""
    for name in preloaded:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(file, stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.argv = ["pytest", *request["arguments"]]
            code = int(importlib.import_module("pytest").main(request["arguments"]))
            sys.stdout.flush()
            os._exit(code)
        deadline, status = time.monotonic() + request["timeout"], None
        while status is None and time.monotonic() < deadline:
            done, found = os.waitpid(child, os.WNOHANG)
            status = os.waitstatus_to_exitcode(found) if done else time.sleep(0.05)
        if status is None:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        print(json.dumps(status), flush=True)


def verdict(code: int | None, output: str) -> dict[str, str]:
    """From how pytest ended: 0 all passed, 1 a test failed, other codes collected nothing or not all."""
    if code is None:
        return {"result": "timeout", "by": ""}
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - |$)", output, re.MULTILINE)
    if code < 0:
        return {"result": "killed", "by": f"the process ended with signal {-code}"}
    if code == 1 and failed:
        return {"result": "killed", "by": failed[1]}
    if code == 0:
        return {"result": "survived", "by": ""}
    last = [line for line in output.splitlines() if line.strip()][-3:]
    return {"result": "broken", "by": f"pytest ended with {code}: {' | '.join(last)[:300]}"}


class Results:
    """One JSON line a result; the last one of a digest counts."""

    def __init__(self, file: Path, fresh: bool):
        self.file, self.lock = file, threading.Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text().splitlines() if file.is_file() and not fresh else []
        self.known: dict[str, dict[str, Any]] = {}
        for line in lines:
            with contextlib.suppress(ValueError, KeyError):  # a line that was cut off
                record = json.loads(line)
                self.known[record["digest"]] = record

    def add(self, digest: str, record: dict[str, Any]) -> None:
        with self.lock:
            self.known[digest] = {"digest": digest, **record}
            with self.file.open("a") as file:
                file.write(json.dumps(self.known[digest]) + "\n")


def baseline(chosen: list[Mutation], places: list[Workplace], results: Results) -> list[tuple[set[str], str]]:
    """Tests that fail without any mutation, and why. Selections without options run together, by file; those that passed are kept."""
    tree = places[0].root
    shared = sorted([*(tree / "src").rglob("*.py"), *(tree / "tests").glob("[!t]*.py")])
    selections = {tuple(shlex.split(mutation.tests)) for mutation in chosen}
    alone = {parts for parts in selections if any(part.startswith("-") for part in parts)}
    by_file: dict[str, set[str]] = {}
    for part in (part for parts in selections - alone for part in parts):
        by_file.setdefault(part.split("::")[0], set()).add(part)
    groups = [list(parts) for parts in sorted(alone)] + [sorted(parts) for _, parts in sorted(by_file.items())]
    failures: list[tuple[set[str], str]] = []

    def check(place: Workplace, group: list[str]) -> None:
        own = sorted({place.root / part.split("::")[0] for part in group if part.split("::")[0].endswith(".py")})
        digest = _digest(json.dumps(group), *(file.read_text() for file in (*shared, *own)))
        if digest in results.known:
            return
        begun, what = time.perf_counter(), shlex.join(group)[:120]
        code, output = place.pytest(group, stop=False, times=10)
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        if code == 0:
            results.add(digest, {"name": f"baseline {what}", "result": "passed", "by": ""})
        elif code == 1 and failed and tuple(group) not in alone:
            failures.append((set(failed), ", ".join(failed)[:300]))
        else:
            failures.append((set(group), f"pytest ended with {code}: {output.strip()[-300:]}"))
        print(f"baseline ended with {code} after {time.perf_counter() - begun:.0f} s: {what} {' '.join(failed)}", flush=True)

    _shared_out(places, groups, check)
    return failures


def _fails_without(mutation: Mutation, failures: list[tuple[set[str], str]]) -> str:
    """Why the tests of a mutation fail without it, if they do."""
    selected = shlex.split(mutation.tests)
    for failed, why in failures:
        if any(test.startswith(part) for part in selected for test in failed):
            return why
    return ""


def campaign(
    chosen: list[Mutation], root: Path, results: Results, workers: int, timeout: float, check_baseline: bool = True
) -> list[dict[str, Any]]:
    """Results in the order of the list; those known are not computed again."""
    missing = []
    for mutation in chosen:
        try:
            checked(mutation, root)
            missing += [mutation] if mutation.digest(root) not in results.known else []
        except (DoesNotApplyError, SyntaxError, OSError):
            pass
    if missing:
        places = [Workplace(root, timeout) for _ in range(min(workers, len(missing)))]
        failures = baseline(missing, places, results) if check_baseline else []

        def attempt(place: Workplace, mutation: Mutation) -> None:
            why = _fails_without(mutation, failures)
            found = {"result": "broken", "by": f"fails without it: {why}", "seconds": 0.0} if why else place.tried(mutation)
            print(f"{found['result']:14} {mutation.name}  ({found['seconds']:.0f} s) {found['by']}", flush=True)
            if why:  # not kept: the next campaign tries again
                results.known[mutation.digest(place.root)] = found
            else:  # under the digest of what was tested: the tree may have changed meanwhile
                results.add(mutation.digest(place.root), {"name": mutation.name, **found})

        _shared_out(places, missing, attempt)
        for place in places:
            place.close()
    return [_result(mutation, root, results) for mutation in chosen]


def _result(mutation: Mutation, root: Path, results: Results) -> dict[str, Any]:
    try:
        checked(mutation, root)
        changed = {"result": "broken", "by": "the tree was changed during the campaign: run it again"}
        return {**results.known.get(mutation.digest(root), changed), "name": mutation.name}
    except (DoesNotApplyError, SyntaxError, OSError) as problem:
        return {"name": mutation.name, "result": "does not apply", "by": str(problem)}


def _shared_out(places: list[Workplace], items: Iterable[Any], job: Any) -> None:
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)

    def work(place: Workplace) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                job(place, waiting.get_nowait())

    threads = [threading.Thread(target=work, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def table(found: list[dict[str, Any]]) -> str:
    """How many of each, and the names of all that were not killed."""
    lines = []
    for result in ("killed", "survived", "timeout", "broken", "does not apply"):
        those = [record for record in found if record["result"] == result]
        lines.append(f"{result:14} {len(those):4}  {len(those) / max(len(found), 1):6.1%}")
        if result != "killed":
            lines += [f"    {record['name']}  {record['by']}" for record in those]
    return "\n".join(lines)


def passed(found: list[dict[str, Any]]) -> bool:
    """Whether enough are killed and all still mean something."""
    results = [record["result"] for record in found]
    return results.count("killed") >= ENOUGH * len(results) and not {"broken", "does not apply"} & set(results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", action="append", help="only this mutation; may be repeated")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier campaigns")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutation.jsonl", help="where results are kept")
    parser.add_argument("--workers", type=int, default=2, help="mutations at once")
    parser.add_argument("--no-baseline", action="store_true", help="take for granted that the tests pass without mutations")
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for the tests of one mutation")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], options.serve[1:])
        return 0
    known = mutations()
    if unknown := set(options.only or []) - {mutation.name for mutation in known}:
        parser.error(f"there is no mutation {', '.join(sorted(unknown))}")
    chosen = [mutation for mutation in known if not options.only or mutation.name in options.only]
    found = campaign(chosen, ROOT, Results(options.results, options.fresh), options.workers, options.timeout, not options.no_baseline)
    print(table(found))
    return 0 if passed(found) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What was found in test sources, kept by their text with all that they include: what has not changed is not read again.

In `~/.cache/wootz/tests` (XDG_CACHE_HOME), shared by checkouts; what was not asked for in a month goes.
"""

import functools
import hashlib
import json
import os
import pathlib
import time

import test_calls
import test_sources

MONTH_S = 30 * 24 * 3600


@functools.cache
def folder():
    """None where it cannot be written to."""
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "wootz/tests"
    try:
        base.mkdir(parents=True, exist_ok=True)
        for file in base.glob("*.json"):
            if time.time() - file.stat().st_mtime > MONTH_S:
                file.unlink(missing_ok=True)
    except OSError:
        return None
    return base


def digest(unit):
    """Of the preprocessed source, in which no path of this checkout stands, and of the programs that read its syntax tree."""
    done = test_sources.compiled(unit, "-E", "-P", f"-fmacro-prefix-map={test_sources.ROOT}=.")
    if done.returncode != 0:
        return None  # the reader says what is wrong
    told = hashlib.sha256(done.stdout)
    for program in (test_calls, test_sources):
        told.update(pathlib.Path(program.__file__).read_bytes())
    return told.hexdigest()


def evidence(unit):
    """As test_calls.evidence, as a set."""
    name = folder() and digest(unit)
    file = name and folder() / f"{name}.json"
    if file and (found := read(file)) is not None:
        return found
    found = set(test_calls.evidence(unit))
    if file:
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps([[test, call._asdict(), strength] for test, call, strength in sorted(found, key=repr)]))
        partial.replace(file)
    return found


def read(file):
    """None where there is no such file or it is damaged."""
    try:
        rows = json.loads(file.read_text())
        os.utime(file)
        return {(test, call_of(**call), strength) for test, call, strength in rows}
    except (OSError, ValueError, TypeError):
        return None


def call_of(owner, name, types, constant):
    return test_calls.Call(tuple(owner) if isinstance(owner, list) else owner, name, tuple(types), constant)

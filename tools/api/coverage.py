"""The table of tests/api_headers/tests_of_methods.txt: each method of the public headers, the test that asserts on its effect, the backend.

    coverage.py [BUILD]            checks the table against the tests' syntax trees; BUILD is configured (default build/release)
    coverage.py [BUILD] --write    fills it: a line that still holds stays, a method without one gets the test with the most evidence
    coverage.py --texts            checks only what needs no compiler: no method without a line, no line without a method or a test

Exit status 1 where a cell is empty or does not hold.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

import kept
import surface
import test_calls
import test_sources
from test_calls import ASSERTED, CALLED, IN_HELPER

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/api_headers/tests_of_methods.txt"
# Where tests run what they build; everywhere else on the processor.
CUDA = ("tests/collectives/", "tests/cuda/", "tests/deviceless/", "tests/plugins/device_test.cpp", "tests/plugins/quick_device_test.cpp")
RUNS = {"enqueueV3", "executeV2", "buildSerializedNetwork", "buildEngineWithConfig", "buildSerializedNetworkToStream", "parse"}
GIVES = re.compile(r"(get|is|has|query|can|precisionIsSet|outputTypeIsSet|platform)")

# Interfaces that this version does not offer: the call that would hand an object out, or take one, refuses. Their methods have
# the test of that refusal, marked so.
REFUSED = {}

# What the library implements for a class whose functions do nothing but call it: a test of those is one of these.
IMPLEMENTATIONS = {f"nvinfer1::{name}Impl": f"nvinfer1::{name}" for name in ("IKernelLaunchParams", "ISymExprs")}

HEAD = """\
# Each method of the public headers, at both levels: the test that asserts on its effect, or on its documented refusal, with the
# backend that it runs on (`refused`: of an interface that is not offered, the test of the call that refuses it). Of methods that applications implement: the test in which the library calls one.
# `coverage.py --write` adds lines (tools/api/coverage.py says what counts); a line may be changed to a better test by hand.
"""

Test = collections.namedtuple("Test", "program name backend")


def backend_of(file):
    return "cuda" if file.startswith(CUDA) else "cpu"


def methods():
    """(class, key) to its result and the levels that have it; functions have no class."""
    found = collections.defaultdict(lambda: ["", []])
    for level, list_ in surface.LISTS.items():
        wanted = surface.read_list((surface.FACTS / list_).read_text())
        for name, members in wanted.members.items():
            for key, fact in members.items():
                if "(" in key and "protected" not in fact:
                    found[name, key][0] = fact
                    found[name, key][1].append(level)
        for name, fact in wanted.functions.items():
            found["", name][0] = fact
            found["", name][1].append(level)
    return found


def written(text):
    """The table as (class, key) -> tests."""
    table, class_ = {}, ""
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        if line.startswith("class ") or line == "functions":
            class_ = line.removeprefix("class ").removeprefix("functions")
            continue
        key, _, tests = line.strip().partition(" = ")
        table[class_, key] = [Test(*re.fullmatch(r"(\w+) (\S+) \[(\w+)\]", test).groups()) for test in tests.split("; ") if test]
    return table


def write(table):
    lines, class_ = [], None
    for (name, key), tests in sorted(table.items()):
        if name != class_:
            lines.append(f"class {name}" if name else "functions")
            class_ = name
        lines.append(f"  {key} = " + "; ".join(f"{test.program} {test.name} [{test.backend}]" for test in tests))
    return HEAD + "\n".join(lines).replace(" = \n", " =\n") + "\n"


class Matcher:
    """From a call in a test to the method of the lists."""

    def __init__(self):
        self.named = collections.defaultdict(list)  # class and name -> keys
        self.bases = collections.defaultdict(set)
        for level, list_ in surface.LISTS.items():
            wanted = surface.read_list((surface.FACTS / list_).read_text())
            for name, bases in wanted.bases.items():
                self.bases[name].update(bases)
        for class_, key in methods():
            name = key.partition("(")[0]
            self.named[class_, name.rpartition("::")[2] if not class_ else name].append(key)

    @staticmethod
    def types(key):
        inside = key[key.index("(") + 1:key.rindex(")")]
        return [Matcher.bare(part) for part in surface.split(inside)]

    @staticmethod
    def bare(type_):
        """As the argument of a call shows it: no const, no reference, one spelling."""
        type_ = re.sub(r"\b(const|struct|class|enum) ?", "", type_).replace("&", "").replace(" ", "")
        return type_.replace("nvinfer1::AsciiChar", "char").replace("v_1_0::", "").replace("v_2_0::", "")

    def keys(self, class_, call):
        candidates = self.named.get((class_, call.name), [])
        given = [self.bare(type_) for type_ in call.types]
        if call.name == "constructor" and len(given) == 1 and given[0].startswith("nvinfer1::"):
            return []  # a copy
        if len(candidates) > 1:
            same = [key for key in candidates if len(self.types(key)) == len(given)] or candidates
            exact = [key for key in same if self.types(key) == given] or same
            candidates = [key for key in exact if key.endswith(" const") == call.constant] or exact
        return candidates

    def match(self, call):
        classes, seen = list(call.owner if isinstance(call.owner, tuple) else [call.owner]), set()
        while classes:
            class_ = classes.pop()
            if class_ in seen:
                continue
            seen.add(class_)
            yield from ((class_, key) for key in self.keys(class_, call))
            if isinstance(call.owner, tuple):
                classes += self.bases.get(class_, ())


def gather(build):
    """(class, key) -> {Test: strength}, and the tests in which something is built or run and then looked at."""
    units, matcher = list(test_sources.units(build, backend_of)), Matcher()
    known, runs, facts = collections.defaultdict(dict), set(), methods()
    with (tempfile.TemporaryDirectory() as folder,
          concurrent.futures.ProcessPoolExecutor(os.cpu_count(), initializer=test_sources.precompile_in, initargs=(folder,)) as pool):
        for unit, found in zip(units, pool.map(kept.evidence, units)):
            for name, call, strength in found:
                test = Test(unit.program, name, backend_of(unit.files[0]))
                if call.name in RUNS:
                    runs.add(test)
                for method in matcher.match(call):
                    if not counts(unit, call, facts[method][0]):
                        continue
                    known[method][test] = max(strength, known[method].get(test, 0))
    for class_, key in list(facts):
        if class_ in IMPLEMENTATIONS:
            known[class_, key].update(known.get((IMPLEMENTATIONS[class_], key), known.get((IMPLEMENTATIONS[class_], key.removesuffix(" const")), {})))
    return known, runs


def counts(unit, call, fact):
    """An override says something of interfaces that applications implement; and there it is the library that must call it."""
    if isinstance(call.owner, tuple):
        return bool(re.search(r"\b(pure|virtual)\b", fact)) and not unit.files[0].startswith("tests/api_headers/")
    return not ("pure" in fact and unit.files[0].startswith("tests/api_headers/"))


def needed(class_, key, fact):
    """The least evidence: what a getter gives must be looked at; what acts must be called by the test, or by the library."""
    if "pure" in fact or "virtual" in fact or fact.startswith("-> void") or not GIVES.match(key.rpartition("::")[2]):
        return CALLED
    return IN_HELPER


def words(name):
    return set(re.findall(r"[A-Z]?[a-z0-9]+", re.sub(r"^[\w]*?\.", "", name) if "." in name else name))


def rank(method, test, strength, runs):
    key = method[1].partition("(")[0].rpartition("::")[2]
    common = {word.lower()[:5] for word in words(key)} & {word.lower()[:5] for word in words(test.name)}
    acts = not GIVES.match(key)
    return (strength >= IN_HELPER if not acts else test in runs, strength, len(common), test.name)


def refusal(class_, known):
    """The tests that a class's maker refuses, if it is not offered."""
    if class_ not in REFUSED:
        return []
    owner, name, test = REFUSED[class_]
    strengths = [tests for (at, key), tests in known.items() if at == owner and key.startswith(name + "(")]
    return sorted({found._replace(backend="refused") for tests in strengths for found, strength in tests.items()
                   if found.name == test and strength == ASSERTED})


def holds(method, fact, test, known):
    if test.backend == "refused":
        return test in refusal(method[0], known)
    return known.get(method, {}).get(test, 0) >= needed(*method, fact)


def best(method, fact, known, runs):
    """The best test of each backend."""
    held = {test: strength for test, strength in known.get(method, {}).items() if strength >= needed(*method, fact)}
    chosen = []
    for backend in ("cpu", "cuda"):
        there = [test for test in held if test.backend == backend]
        if there:
            chosen.append(max(there, key=lambda test: rank(method, test, held[test], runs)))
    return chosen or refusal(method[0], known)[:1]


def empty(table, all_):
    """What needs no compiler."""
    for method in sorted(all_):
        if not table.get(method):
            yield f"no test: {method[0]}::{method[1]}".replace(" ::", " ")
    for method, tests in sorted(table.items()):
        if method not in all_:
            yield f"no such method: {method[0]}::{method[1]}"
        for test in tests:
            if test.name not in names():
                yield f"no such test: {test.name}, of {method[0]}::{method[1]}"


SET = ("BuilderFlag", "PreviewFeature", "QuantizationFlag", "SerializationFlag", "OnnxParserFlag", "MemoryPoolType",
       "TempfileControlFlag", "EngineCapability", "RuntimePlatform", "TilingOptimizationLevel",
       "ExecutionContextAllocationStrategy")


def effects():
    """What is wrong with effects.txt: an enumerator without a line, a line of nothing, a test that is not or does not set it."""
    known = {f"{class_.rpartition('::')[2]}::{key.partition('(')[0]}" for class_, key in methods()}
    wanted = {f"{enum.rpartition('::')[2]}::{key}" for list_ in surface.LISTS.values()
              for enum, (_, numbers) in surface.read_list((surface.FACTS / list_).read_text()).enums.items()
              if enum.rpartition("::")[2] in SET for key in numbers}
    seen = set()
    for line in (surface.FACTS / "effects.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        item, _, rest = line.partition(" = ")
        seen.add(item)
        if item not in wanted and item not in known:
            yield f"effects.txt: there is no {item}"
        for test in rest.rpartition(" : ")[2].split(", "):
            if test not in names():
                yield f"effects.txt: no such test: {test}, of {item}"
            elif not re.search(rf"\b{item.rpartition('::')[2]}\b", names()[test].read_text()) and item not in BY_NUMBER:
                yield f"effects.txt: {test} does not set {item}"
    yield from (f"effects.txt: nothing is said of {item}" for item in sorted(wanted - seen))


# Set as numbers, by a test that tries all of them.
BY_NUMBER = {"TempfileControlFlag::kALLOW_IN_MEMORY_FILES", "TempfileControlFlag::kALLOW_TEMPORARY_FILES"}


def names(cache={}):
    if not cache:
        for file in (ROOT / "tests").rglob("*_test.cpp"):
            cache.update((f"{suite}.{name}", file) for suite, name in re.findall(
                r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", file.read_text(), re.M))
    return cache


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build/release"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    table, all_ = written(TABLE.read_text()) if TABLE.exists() else {}, methods()
    wrong = []
    if not options.texts:
        known, runs = gather(options.build)
        for method, tests in table.items():
            fact = all_[method][0] if method in all_ else ""
            for test in list(tests):
                if not holds(method, fact, test, known):
                    wrong.append(f"does not assert on {method[0]}::{method[1]}: {test.program} {test.name} [{test.backend}]")
                    if options.write:
                        tests.remove(test)
        if options.write:
            table = {method: table.get(method) or best(method, fact, known, runs) for method, (fact, _) in all_.items()}
            TABLE.write_text(write(table))
            wrong = []
    wrong += [*empty(table, all_), *effects()]
    print("\n".join(wrong) if wrong else f"{len(all_)} methods, each with a test")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

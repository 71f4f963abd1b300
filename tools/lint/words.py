"""Words of the field in place of words that only this project had: CONTRIBUTING.md has the glossary. Each word is enforced in the folders
that are free of it; a word leaves a further folder by being replaced there and listed here."""

import dataclasses
import pathlib
import re

SUFFIXES = {".cpp", ".h", ".cu", ".cuh", ".def", ".inc", ".py", ".sh", ".test"}
GRAPH = ("src/base", "src/ir", "src/ops", "src/onnx", "src/passes")
ALL = (*GRAPH, "python", "tools")
PLAN = ("src/tuner", "src/plan", "src/runtime", "src/lower", "src/build", "src/report")
CUDA = tuple(f"src/backends/cuda/{part}" for part in ("api", "cublaslt", "cudnn", "device", "emulator", "jit", "nccl", "support", "targets"))
REST = (*PLAN, "src/api", "src/backend", "src/backends/cpu", "src/backends/reference", *CUDA)


@dataclasses.dataclass
class Word:
    pattern: str  # of the whole word; `_` ends a word, so that parts of identifiers count
    term: str  # what to say instead
    folders: tuple[str, ...]


WORDS = (
    Word("rooms?", "module", ALL),
    Word("nobody|somebody|anybody|everybody|whoever", "what it is: a pass, a kernel, a thread, the caller", (*ALL, *REST)),
    Word("behind", "after", (*ALL, *REST)),
    Word("only (?:the run|running(?: the node| a node)?) tells", "data-dependent", (*ALL, *REST)),
    Word("few_bits|nibbles", "sub-byte", (*GRAPH, *REST)),
    Word("turned", "transposed, permuted or rotated", ("src/passes", "src/ops")),
    Word("settled?|settles|settling", "canonicalize", ("src/passes",)),
    Word("counted_values?", "index-valued floats", ("src/passes",)),
    Word("favou?rites?", "greedy choice", (*ALL, *REST)),
    Word("believes?|doubts?|doubted", "noise-discounted cost", (*GRAPH, *REST)),
    Word("trials?", "benchmark run", PLAN),
    Word("told", "reported, logged, or given", REST),
    Word("place_moves|placed_moves", "copy elision", (*ALL, *REST)),
    Word("kept_blocks?", "block cache", (*ALL, *REST)),
    Word("stand_?ins?|null_?driver", "emulator, libcuda stub", (*ALL, *REST, "tests")),
    Word("soften(?:ed|s)?", "online-softmax update", (*ALL, *REST)),
)


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    rules: dict[str, list[Word]] = {}
    for word in WORDS:
        for folder in word.folders:
            rules.setdefault(folder, []).append(word)
    errors = []
    for folder, words in rules.items():
        patterns = [(re.compile(rf"(?<![a-z])(?:{word.pattern})(?![a-z])", re.I), word.term) for word in words]
        any_word = re.compile("|".join(word.pattern for word in words), re.I)
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in SUFFIXES or path.startswith("tools/lint/"):
                continue
            text = file.read_text(errors="replace")
            if not any_word.search(text) and not any_word.search(path):
                continue
            for number, line in enumerate((path, *text.splitlines())):  # 0: the file's name
                for pattern, term in patterns:
                    if found := pattern.search(line):
                        errors.append(f"{path}:{max(number, 1)}: words: '{found.group()}': say {term}")
    return errors, []

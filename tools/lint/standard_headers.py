"""Every name of the standard library that a file uses comes with an #include, its own or that of a header of ours which it includes.

Builds precompile the standard library's headers, or compile files together, so that the compiler would not say it.
"""

import pathlib
import re

import layers

NAME = re.compile(r"\bstd::(\w+)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)

# Names by the headers that declare them; only such names as few headers do.
HEADERS = {
    "algorithm": "sort stable_sort partial_sort nth_element find find_if find_if_not all_of any_of none_of count count_if copy_n copy_if "
                 "fill_n transform remove_if unique reverse rotate equal mismatch lower_bound upper_bound binary_search max_element "
                 "min_element clamp is_sorted set_difference set_intersection next_permutation",
    "array": "array",
    "atomic": "atomic atomic_flag atomic_thread_fence",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero popcount has_single_bit",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "sqrt exp log log2 log10 pow sin cos tan tanh erf floor ceil round nearbyint isnan isinf isfinite fma lround llround ldexp",
    "complex": "complex polar",
    "condition_variable": "condition_variable condition_variable_any",
    "cstdlib": "getenv strtol strtoull strtod abort aligned_alloc",
    "cstring": "memcpy memmove memset memcmp strlen strcmp strncmp strchr strerror",
    "deque": "deque",
    "exception": "exception_ptr current_exception rethrow_exception",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function greater less plus multiplies hash",
    "future": "future promise packaged_task",
    "initializer_list": "initializer_list",
    "iostream": "cout cerr cin",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared enable_shared_from_this",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once recursive_mutex",
    "new": "bad_alloc nothrow align_val_t",
    "numeric": "accumulate iota inner_product partial_sum exclusive_scan inclusive_scan gcd lcm",
    "optional": "optional nullopt make_optional",
    "queue": "queue priority_queue",
    "random": "mt19937 mt19937_64 uniform_int_distribution uniform_real_distribution normal_distribution random_device",
    "set": "set multiset",
    "shared_mutex": "shared_mutex shared_lock",
    "span": "span as_bytes as_writable_bytes",
    "sstream": "stringstream ostringstream istringstream",
    "stdexcept": "runtime_error logic_error invalid_argument out_of_range",
    "string": "string to_string stoi stoll stoull stod getline",
    "string_view": "string_view",
    "thread": "thread this_thread",
    "tuple": "tuple make_tuple tie",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant visit get_if holds_alternative monostate",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in HEADERS.items() for name in names.split()}
# What a header brings along, in every library there is.
BRINGS = {"string": {"string_view"}, "sstream": {"string"}, "fstream": {"string"}, "stdexcept": {"string"}, "future": {"exception"}}


class Tree:
    """The headers of a checkout, and what each brings, its includes followed."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.brought: dict[pathlib.Path, set[str]] = {}

    def resolve(self, name: str, beside: pathlib.Path) -> pathlib.Path | None:
        for folder in (self.root / "src", self.root / "include", self.root / "tests", self.root / "tools", beside.parent):
            if (folder / name).is_file():
                return folder / name
        return None

    def headers(self, file: pathlib.Path, text: str) -> set[str]:
        """Standard headers (and whatever else is not ours) that `file` includes, itself or through ours."""
        if file in self.brought:
            return self.brought[file]
        found = self.brought[file] = set()
        for name in layers.INCLUDE.findall(text):
            ours = self.resolve(name, file)
            if ours is None:
                found |= {name} | BRINGS.get(name, set())
            else:
                found |= self.headers(ours, ours.read_text(encoding="utf-8"))
        return found


def missing(text: str, there: set[str]) -> dict[str, str]:
    """Headers that a text needs beyond those that are `there`, each with a name for which."""
    used = {name for name in NAME.findall(COMMENT.sub("", text)) if name in HEADER_OF}
    return {HEADER_OF[name]: name for name in sorted(used) if HEADER_OF[name] not in there}


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    tree, errors = Tree(root), []
    for file in sorted((root / "src").rglob("*.cpp")):
        text = file.read_text(encoding="utf-8")
        for header, name in sorted(missing(text, tree.headers(file, text)).items()):
            line = next(number for number, each in enumerate(text.splitlines(), 1) if f"std::{name}" in each)
            errors.append(f"{file.relative_to(root).as_posix()}:{line}: standard_headers: std::{name} without #include <{header}>")
    return errors, []

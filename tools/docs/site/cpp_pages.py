"""Pages of the C++ reference, one for each public header, out of the comments there."""
import itertools
import re

import headers
import rst

# Headers by what a program uses them for, in the order of the contents; what is not listed comes under the last title.
GROUPS = {
    "Building": ("builder", "builder_config", "builder_flags", "builder_factory", "network", "network_flags", "profile", "progress_monitor", "timing_cache", "timing_cache_entry", "tactic_source",
                 "algorithm_selector", "calibrator", "profiling_verbosity"),
    "Layers": ("layer", "layers/"),
    "ONNX": ("parser", "parser_error", "parser_factory", "parser_refitter", "onnx_config", "subgraph"),
    "Running": ("runtime", "runtime_config", "runtime_factory", "engine", "context", "inspector", "refitter", "serialization_config", "host_memory", "profiler", "debug_listener", "output_allocator",
                "allocator", "streams", "device", "weights_role"),
    "Plugins": ("plugin_", "dim_expr", "NvInferPlugin.h"),
    "Beyond TensorRT": ("extensions", "library_folders"),
    "Types": (),
}
DIRECTIVES = {"class": "cpp:class", "enum": "cpp:enum-class", "enumerator": "cpp:enumerator", "function": "cpp:function", "field": "cpp:member", "alias": "cpp:type", "macro": "c:macro"}


def group_of(header):
    stem = header.removeprefix("wootz/").removesuffix(".h")
    for group, names in GROUPS.items():
        if any(stem == name or header == name or (name.endswith(("/", "_")) and stem.startswith(name)) for name in names):
            return group
    return "Types"


def page_of(header):
    return header.removeprefix("wootz/").removesuffix(".h").replace("/", "-")


def title_of(summary):
    """The names in front of the colon of a header's first line, or its first sentence."""
    return re.split(r": |\.(?: |$)", summary)[0].removeprefix("nvonnxparser::")


def includes(folder):
    """{header: header of TensorRT's names that brings it, the one that brings least}."""
    def closure(name, seen):
        if name not in seen and (folder / name).exists():
            seen.add(name)
            for found in re.findall(r'^#include "([^"]+)"', (folder / name).read_text(), re.M):
                closure(found, seen)
        return seen

    entries = [file.relative_to(folder).as_posix() for file in [*folder.glob("*.h"), *folder.glob("impl/*.h")]]
    reached = sorted(((len(closure(name, set())), name) for name in entries), reverse=True)
    return {header: name for _, name in reached for header in closure(name, set())}


def signature(declared):
    """As the directive takes it."""
    text = re.sub(r"\bv_\d_\d::", "", declared.text)
    if declared.kind == "class":
        text = re.sub(r"^(template <.*?> )?(?:typedef )?(?:class|struct) +\w+", lambda found: (found[1] or "") + declared.name, text)
    elif declared.kind == "macro":
        text = re.match(r"\w+(\(.*\))?", text)[0]
    elif declared.kind == "enum":
        text = re.sub(r"^enum (?:class )?", "", text)
    elif declared.kind == "alias":
        text = re.sub(r"^typedef (.*?)(\w+)$", r"\2 = \1", text.removeprefix("using "))
    elif declared.kind == "field":
        text = re.sub(r"\{(.*)\}$", r" = \1", text)
    return re.sub(r" final\b", "", text).strip()


def identity(declared):
    """What C++ tells overloads apart by."""
    return declared.full, signature(declared).partition("(")[2]


def remarks(declared):
    """What the levels and the deprecation say of a declaration, in a line."""
    said = []
    if len(declared.levels) < len(headers.LEVELS):
        said.append(f"level {headers.LEVELS[next(iter(declared.levels))]} only")
    elif declared.kind == "enumerator" and len(set(declared.levels.values())) > 1:
        said.append(f"``{declared.levels[11].partition('= ')[2]}`` at level 11.1")
    if declared.kind == "macro" and "(" not in declared.text and " " in declared.text:
        said.append(f"``{declared.text.partition(' ')[2]}``")
    if declared.protected:
        said.append("protected")
    if declared.deprecated:
        said.append("deprecated")
    return f"*{'; '.join(said)}*" if said else ""


def render(declarations, indent, seen):
    """Directives; neighbours that share a comment share a directive."""
    lines = []
    alike = lambda each: (each.kind, each.group, remarks(each), each.members and each.line)
    for (kind, *_), together in itertools.groupby(declarations, alike):
        together = [each for each in together if (each.full, signature(each)) not in seen]
        if not together:
            continue
        first = together[0]
        seen.update((each.full, signature(each)) for each in together)
        chunks = [together] if kind in ("function", "field") else [[each] for each in together]
        for chunk in chunks:
            texts = [signature(each) for each in chunk]
            if kind == "function" and not seen.isdisjoint(map(identity, chunk)):  # one that gives another type at another level
                lines += [f"{indent}.. code-block:: cpp", "", *(f"{indent}   {text};" for text in texts), ""]
            else:
                lines += rst.directive(DIRECTIVES[kind], texts, [], indent)
            seen.update(map(identity, chunk))
            inner = indent + "   "
            if said := remarks(chunk[0]):
                lines += [inner + said, ""]
            comment = next((each.comment for each in chunk if each.comment), [])
            lines += rst.block(comment, inner, "cpp:any")
            lines += render(chunk[0].members, inner, seen)
    return lines


def page(header, summary, declarations, entry, seen):
    lines = [f".. _cpp-{page_of(header)}:", "", *rst.title(title_of(summary))]
    said = summary.partition(": ")[2]
    if said:
        lines += [rst.inline(said[0].upper() + said[1:], "cpp:any"), ""]
    lines += [".. code-block:: cpp", "", f'   #include "{entry}"', ""]
    if entry != header:
        lines += [f"Declared in ``{header}``.", ""]
    for scope, together in itertools.groupby(declarations, lambda each: each.scope):
        lines += [f".. cpp:namespace:: {scope or 'NULL'}", "", *render(list(together), "", seen)]
    return "\n".join(lines)


def write(include, folder, only=None):
    """Writes the pages into a folder; returns how many. `only`: names of headers."""
    folder.mkdir(parents=True, exist_ok=True)
    entries, groups, seen = includes(include), {name: [] for name in GROUPS}, set()
    for header, (summary, declarations) in _first_with_comment(headers.public_headers(include)).items():
        if not declarations or (only and header not in only):
            continue
        (folder / f"{page_of(header)}.rst").write_text(page(header, summary, declarations, entries.get(header, header), seen))
        groups[group_of(header)].append((header, declarations))
    lines = [*rst.title("C++ reference"), "The headers have TensorRT's names, classes and functions, and one library serves both levels of its API: 10.16, and 11.1 for what is "
             "compiled with ``WOOTZ_TENSORRT_API=11``. What one level alone has is marked. Two libraries may be linked against: ``libwootz`` has everything, ``libwootz_runtime`` what "
             "running plans needs.", ""]
    for group, pages in groups.items():
        if not pages:
            continue
        lines += [*rst.title(group, "-"), ".. toctree::", "   :hidden:", "", *(f"   {page_of(header)}" for header, _ in pages), ""]
        lines += [".. list-table::", "   :widths: 30 70", ""]
        for header, declarations in pages:
            names = [f":cpp:any:`{each.name} <{each.full}>`" for each in declarations if each.kind in ("class", "enum", "alias")]
            names += [f":cpp:func:`{each.name} <{each.full}>`" for each in declarations if each.kind == "function"]
            names = list(dict.fromkeys(names))
            lines += [f"   * - :doc:`{page_of(header)}`", f"     - {', '.join(names) or '-'}"]
        lines.append("")
    (folder / "index.rst").write_text("\n".join(lines))
    return sum(map(len, groups.values()))


def _first_with_comment(found):
    """Each name is described once: an alias or a function that several headers declare stays where its comment is."""
    best = {}
    for header, (_, declarations) in found.items():
        for each in declarations:
            key = (each.kind, each.full, each.text)
            if key not in best or (each.comment and not best[key].comment):
                best[key] = each
    keep = {id(each) for each in best.values()}
    return {header: (summary, [each for each in declarations if id(each) in keep]) for header, (summary, declarations) in found.items()}

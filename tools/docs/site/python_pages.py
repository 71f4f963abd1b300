"""Pages of the Python reference: what the package has of TensorRT's names at both levels, and its own functions.

Names and parameters of TensorRT's part are the lists in tests/api_headers, which a test holds against the package; what is said of a member is the package's
docstring, and where there is none, the comment on its counterpart in C++. Functions written in Python are read from their files.
"""
import ast
import inspect
import pathlib
import re
import sys

import headers
import rst

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "api"))
import surface_python as lists  # noqa: E402

# Which page a class is on: the first that matches, else "types".
PAGES = (
    ("building", "Building", r"Builder$|IBuilderConfig|INetworkDefinition|IOptimizationProfile|ITimingCache|TimingCache|OnnxParser|ParserError|IProgress|IAlgorithm|IInt8|.*Calibrator"),
    ("running", "Running", r"Runtime$|ICudaEngine|IExecutionContext|EngineInspector|Refitter|IHostMemory|ISerializationConfig|IRuntimeConfig|I?Profiler|I.*Allocator|IStream|IDebugListener|.*Logger|IErrorRecorder"),
    ("layers", "Layers", r"I\w*Layer$|ILoop|IIfConditional|IAttention|IMoE|ITensor"),
    ("plugins", "Plugin classes", r"I?Plugin|I?.*Plugin|QuickPlugin|IDimensionExpr|IExprBuilder|DimsExprs|.*SymExpr|KernelLaunch|IVersionedInterface|InterfaceInfo|IPlugin"),
    ("types", "Types", r""),
)
# Functions and classes of Python files: (page, title, module, file, names).
OWN = (
    ("shortcuts", "Functions of Wootz", "wootz", {"_build.py": ("build", "BuildError", "backend_libraries"), "_numpy.py": ("infer", "infer_async", "tap", "load_engine", "volume", "nptype"),
                                                  "_tools.py": ("compare", "quantize"), "_device.py": ("to_device", "read_memory"), "_arrays.py": ("DeviceArray",), "__init__.py": ("kernel", "devices")}),
    ("torch", "wootz.torch", "wootz.torch", {"torch/_module.py": ("compile", "export", "load", "Module"), "torch/_types.py": ("Unsupported",), "torch/_partition.py": ("statistics",)}),
    ("plugin", "wootz.plugin", "wootz.plugin", {"plugin/_register.py": ("register", "impl", "autotune", "aot_impl"), "_nvrtc.py": ("compile_source",), "plugin/_autotune.py": ("AutoTuneCombination",),
                                                "plugin/_quick.py": ("KernelLaunchParams",), "plugin/_tensor.py": ("Shape", "TensorDesc", "SizeTensorDesc", "Tensor", "size_tensor", "from_shape_expr"),
                                                "plugin/_exprs.py": ("SymExpr", "SymIntExpr", "SymInt8", "SymInt16", "SymInt32", "ShapeExpr", "SizeTensorShapeExpr", "SymExprs", "SymIntExprs", "ShapeExprs")}),
    ("alias", "wootz.alias", "wootz.alias", {"alias.py": ("install", "remove")}),
)
# What the extension has beyond TensorRT's names.
NATIVE_FUNCTIONS, NATIVE_CLASSES = ("compare_reports", "default_backend", "plan_header", "runtime_library", "set_thread_pool"), ("DeviceMemory",)
RENAMED = {("wootz.plugin", "compile_source"): "compile_cuda"}
CPP = {"Builder": "IBuilder", "Runtime": "IRuntime", "Refitter": "IRefitter", "OnnxParser": "IParser", "OnnxParserRefitter": "IParserRefitter", "EngineInspector": "IEngineInspector",
       "ParserError": "IParserError", "Logger": "ILogger"}


class Comments:
    """What the public headers say, by the name in Python's manner: "iocudaengine", "nbiotensors"."""

    def __init__(self, include):
        self.of = {}
        for _, declarations in headers.public_headers(include).values():
            self.read(declarations)

    def read(self, declarations):
        shared, group = [], None
        for each in declarations:
            shared = each.comment or (shared if each.group == group else [])
            group = each.group
            self.of.setdefault((self.plain(each.scope.rpartition("::")[2]), self.plain(each.name)), shared)
            self.read(each.members)

    @staticmethod
    def plain(name):
        name = re.sub(r"^(get|set|is|k)(?=[A-Z0-9])", "", name)
        return re.sub(r"^num_", "nb_", name).replace("_", "").lower()

    def member(self, owner, name):
        return self.of.get((self.plain(CPP.get(owner, owner)), self.plain(name)), [])

    def type(self, name):
        found = self.of.get(("nvinfer1", self.plain(CPP.get(name, name)))) or self.of.get(("nvonnxparser", self.plain(CPP.get(name, name))))
        return found or self.of.get(("nvinfer1", self.plain("I" + name)), [])


class Package:
    """Docstrings of the built package, at the level that has the name."""

    def __init__(self):
        import wootz
        from wootz import _levels
        self.names = {level: _levels.names(level) for level in headers.LEVELS} | {"ours": vars(wootz)}

    def doc(self, owner, name=None):
        for names in self.names.values():
            value = names
            for part in owner.split("."):
                value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
            if value is None:
                continue
            thing = value if name is None else inspect.getattr_static(value, name, None)
            if text := self.text(thing):
                return text
        return []

    @staticmethod
    def text(thing):
        """The docstring's lines, without the signatures that the extension puts first and without what Python says of every object."""
        thing = getattr(thing, "__func__", thing)
        if isinstance(thing, property) and hasattr(thing.fget, "__nb_signature__"):  # whose own docstring may be the getter's signature
            thing = thing.fget
        if hasattr(thing, "__nb_signature__"):
            doc = next((doc for _, doc, *_ in thing.__nb_signature__ if doc), "")
        elif isinstance(thing, (property, type)) or inspect.isfunction(thing):
            doc = (vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__) or ""
        else:
            return []
        if doc in ("An enumeration.", ""):
            return []
        return inspect.cleandoc(doc).splitlines()


class NoPackage:
    """Where the package is not built: only the headers speak."""

    names = {}

    @staticmethod
    def doc(owner, name=None):
        return []


def package():
    try:
        return Package()
    except ImportError:
        return NoPackage()


def merged(read):
    """{name: {level: value}} of each level's values."""
    result = {}
    for level, values in read.items():
        for name, value in values.items():
            result.setdefault(name, {})[level] = value
    return result


def level_of(levels):
    return f"*level {headers.LEVELS[next(iter(levels))]} only*" if len(levels) == 1 else ""


def said_of(doc, comment):
    """The lines below a directive: a docstring, or the header's words with where they are from."""
    if doc:
        return rst.block(doc, "   ")
    if comment:
        return rst.block(comment, "   ", "cpp:any nvinfer1")
    return []


def signatures(name, what):
    shown = lambda overload: ", ".join(p if default is None else f"{p}={default}" for p, default in overload)
    return list(dict.fromkeys(f"{name}({shown(overload)})" for overload in what))


def overloads(thing, bound=True):
    try:
        return lists._overloads_of(getattr(thing, "__func__", thing), bound)
    except (TypeError, ValueError):  # a function of C that says nothing of its parameters
        return [[]]


class Writer:
    def __init__(self, root):
        self.comments, self.package = Comments(root / "include"), package()
        read = {level: lists.read_list(path.read_text()) for level, path in lists.LISTS.items()}
        self.classes = merged({level: each.classes for level, each in read.items()})
        self.enums = merged({level: each.enums for level, each in read.items()})
        self.functions = merged({level: each.functions for level, each in read.items()})
        self.beyond = {}
        for line in lists.BEYOND.read_text().splitlines():
            if line and line[0] != "#":
                level, name, *_ = line.split()
                owner, _, member = name.rpartition(".")
                self.beyond.setdefault(owner, {}).setdefault(member, []).append(int(level))

    def a_class(self, name, by_level):
        bases, members = next(iter(by_level.values()))[0], merged({level: value[1] for level, value in by_level.items()})
        init = members.get("__init__", {})
        made = next((what for what in init.values() if isinstance(what, list)), None)
        heads = signatures(name, made) if made else [name]
        lines = [*rst.title(name, "-"), *rst.directive("py:class", heads, [])]
        if said := level_of(by_level):
            lines += ["   " + said, ""]
        if bases:
            lines += ["   Bases: " + ", ".join(f":py:class:`{base}`" for base in bases), ""]
        lines += said_of(self.package.doc(name), self.comments.type(name))
        for member, levels in sorted(members.items()):
            if not re.fullmatch(r"__\w+__", member):
                lines += self.member(name, member, levels, by_level)
        for member, levels in sorted(self.beyond.get(name, {}).items()):
            lines += self.beyond_member(name, member, levels, by_level)
        return lines

    def member(self, owner, member, levels, by_level):
        what = list(levels.values())[-1]
        if isinstance(what, str):
            kind, heads, options = "py:attribute" if what == lists.NONE else "py:property", [member], []
        else:
            kind, heads, options = "py:method", signatures(member, what), []
        lines = ["   " + line if line else "" for line in rst.directive(kind, heads, options)]
        said = [level_of(levels)] if len(levels) < len(by_level) else []
        said += ["*can be set*"] if what == "rw" else []
        if said := "; ".join(filter(None, said)):
            lines += ["      " + said, ""]
        return lines + ["   " + line if line else "" for line in said_of(self.package.doc(owner, member), self.comments.member(owner, member))]

    def beyond_member(self, owner, member, levels, by_level):
        thing = None
        for names in self.package.names.values():
            thing = thing or inspect.getattr_static(names.get(owner), member, None)
        heads, kind = [member], "py:attribute"
        if isinstance(thing, property):
            kind = "py:property"
        elif thing is not None and (callable(thing) or hasattr(thing, "__nb_signature__")):
            kind, heads = "py:method", signatures(member, overloads(thing))
        lines = ["   " + line if line else "" for line in rst.directive(kind, heads, [])]
        lines += ["      *not in TensorRT*" + (f"; level {headers.LEVELS[levels[0]]} only" if len(levels) < len(by_level) else ""), ""]
        return lines + ["   " + line if line else "" for line in said_of(self.package.doc(owner, member), [])]

    def native(self):
        """The extension's own functions and classes, which the built package alone knows."""
        ours, lines = self.package.names.get("ours", {}), [""]
        for name in NATIVE_FUNCTIONS:
            heads = signatures(name, overloads(ours[name], bound=False)) if name in ours else [f"{name}()"]
            lines += [*rst.title(name, "-"), *rst.directive("py:function", heads, []), *rst.block(self.package.doc(name), "   ")]
        for name in NATIVE_CLASSES:
            lines += [*rst.title(name, "-"), *rst.directive("py:class", [name], []), *rst.block(self.package.doc(name), "   ")]
            for member in sorted(vars(ours[name]) if name in ours else ()):
                if not member.startswith("_"):
                    thing = inspect.getattr_static(ours[name], member)
                    kind, heads = ("py:property", [member]) if isinstance(thing, property) else ("py:method", signatures(member, overloads(thing)))
                    lines += ["   " + line if line else "" for line in [*rst.directive(kind, heads, []), *rst.block(self.package.doc(name, member), "   ")]]
        return lines

    def an_enum(self, name, by_level):
        lines = [*rst.title(name, "-"), *rst.directive("py:class", [name], [])]
        if said := level_of(by_level):
            lines += ["   " + said, ""]
        short = name.rpartition(".")[2]
        lines += said_of(self.package.doc(name), self.comments.type(short) or self.comments.member(name.partition(".")[0], short))
        for value, levels in merged(by_level).items():
            lines += [f"   .. py:attribute:: {value}", f"      :value: {next(iter(levels.values()))}", ""]
            marks = [level_of(levels) if len(levels) < len(by_level) else ""]
            marks += [f"``{levels[11]}`` at level 11.1"] if len(set(levels.values())) > 1 else []
            if marks := "; ".join(filter(None, marks)):
                lines += ["      " + marks, ""]
            lines += rst.block(self.comments.member(short, value), "      ", "cpp:any nvinfer1")
        return lines

    def pages(self):
        """{page: (title, lines)} of TensorRT's part."""
        found = {page: (title, []) for page, title, _ in PAGES}
        for name, by_level in sorted(self.classes.items()):
            page = next(page for page, _, pattern in PAGES if re.match(pattern, name))
            found[page][1].extend(self.a_class(name, by_level))
        functions = []
        for name, by_level in sorted(self.functions.items()):
            functions += rst.directive("py:function", signatures(name, list(by_level.values())[-1]), [])
            functions += said_of(self.package.doc(name), self.comments.of.get(("", self.comments.plain(name.replace("_", "")))) or [])
        found["types"][1].extend([*rst.title("Functions", "-"), *functions])
        found["enumerations"] = ("Enumerations", [line for name, by_level in sorted(self.enums.items()) for line in self.an_enum(name, by_level)])
        return found


def _documented(node):
    return (ast.get_docstring(node) or "").splitlines()


def _signature(node, name, bound=False):
    arguments = ast.unparse(node.args)
    if bound:
        arguments = re.sub(r"^self(, )?", "", arguments)
    return f"{name}({arguments})"


def own(root, module, files):
    """Directives of functions and classes in the package's Python files."""
    lines = [f".. py:currentmodule:: {module}", ""]
    for file, names in files.items():
        tree = ast.parse((root / "python/wootz" / file).read_text())
        nodes = {getattr(node, "name", None) or ast.unparse(node.targets[0]): node for node in tree.body if hasattr(node, "name") or isinstance(node, ast.Assign)}
        for name in names:
            node, shown = nodes[name], RENAMED.get((module, name), name)
            if isinstance(node, ast.ClassDef):
                lines += [*rst.title(shown, "-"), *rst.directive("py:class", [shown], []), *rst.block(_documented(node), "   ")]
                for each in node.body:
                    if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
                        is_property = any(getattr(mark, "id", "") == "property" for mark in each.decorator_list)
                        kind, head = ("py:property", each.name) if is_property else ("py:method", _signature(each, each.name, bound=True))
                        lines += ["   " + line if line else "" for line in [*rst.directive(kind, [head], []), *rst.block(_documented(each), "   ")]]
            elif isinstance(node, ast.Assign):  # a decorator that another function makes, which is given what is said of it
                said = [each.value for each in node.value.args if isinstance(each, ast.Constant)][1:]
                lines += [*rst.title(shown, "-"), *rst.directive("py:function", [f"{shown}(plugin_id)"], []), *rst.block(" ".join(said).splitlines(), "   ")]
            else:
                options = ["async:"] if isinstance(node, ast.AsyncFunctionDef) else []
                lines += [*rst.title(shown, "-"), *rst.directive("py:function", [_signature(node, shown)], options), *rst.block(_documented(node), "   ")]
    return lines


def write(root, folder):
    folder.mkdir(parents=True, exist_ok=True)
    names, writer = [], Writer(root)
    for page, title, module, files in OWN:
        source = root / "python/wootz" / (module.removeprefix("wootz").strip(".").replace(".", "/") or ".")
        source = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
        head = rst.block(_documented(ast.parse(source.read_text()))) if page != "shortcuts" else []
        more = writer.native() if page == "shortcuts" else []
        (folder / f"{page}.rst").write_text("\n".join([*rst.title(title), *head, *own(root, module, files), *more]))
        names.append(page)
    for page, (title, lines) in writer.pages().items():
        (folder / f"{page}.rst").write_text("\n".join([*rst.title(title), ".. py:currentmodule:: wootz", "", *lines]))
        names.append(page)
    lines = [*rst.title("Python reference"), "``import wootz`` has the names of TensorRT's package at level 10.16 of its API; the package that ``python -m wootz.alias`` makes can be at "
             "level 11.1, too. What one level alone has is marked. Members without a description of their own have that of the C++ function that they call.", "",
             ".. py:module:: wootz", "", ".. toctree::", "", *(f"   {name}" for name in names), ""]
    (folder / "index.rst").write_text("\n".join(lines))

"""Models compiled ahead of time: modules that are saved, loaded, and run without the model's code."""
import json
import os
import zipfile

import torch
from torch.utils import _pytree

from ._backend import device_of
from ._block import Block, Spec
from ._build import load_engine
from ._options import Options
from ._partition import compiled
from ._shapes import Range
from ._trace import from_export
from ._types import Unsupported

_FORMAT = 1


class Module(torch.nn.Module):
    """A compiled model. It takes what the model took, and gives what it gave; a loaded one gives dictionaries in place of classes that are
    no part of torch or Python."""

    def __init__(self, call, inputs, results):
        super().__init__()
        self.call, self.inputs, self.results = call, inputs, results
        self._before = inputs.before() if isinstance(call, Block) else None  # with the model's arguments after it, the graph's

    def forward(self, *args, **kwargs):
        if self._before is not None and not kwargs and len(args) == len(self.inputs.places):
            results = self.call.try_short(self._before + args)
            if results is not None:
                return self.results(results)
        with torch.no_grad():
            given = self.inputs(args, kwargs)
            return self.results(self.call(*(self.call.check(given) if isinstance(self.call, Block) else given)))

    def save(self, path):
        """Writes the module to a file, for load(). ValueError for one of which a part is torch's code."""
        if not isinstance(self.call, Block):
            raise ValueError("parts of this model stay with torch: only whole models are saved")
        plan = self.call.plan if isinstance(self.call.plan, bytes) else self.call.plan.read_bytes()
        told = {"format": _FORMAT, "device": self.call.device.type, "spec": _written_spec(self.call.spec), "inputs": self.inputs.written(),
                "results": self.results.written()}
        with zipfile.ZipFile(os.fspath(path), "w") as file:
            file.writestr("wootz.json", json.dumps(told))
            file.writestr("plan", plan)


def compile(model, args=(), kwargs=None, *, dynamic_shapes=None, options=None):  # noqa: A001: as torch names it
    """Compiles a module, or an ExportedProgram as it is, for inputs like the examples.

    args, kwargs: an example of the model's arguments; one tensor may stand for itself. dynamic_shapes: as for torch.export.export. options:
    as for torch.compile(backend="wootz"). Unsupported where the model cannot be traced whole.
    """
    program = model if isinstance(model, torch.export.ExportedProgram) else _exported(model, args, kwargs, dynamic_shapes)
    program, module, constants, users = from_export(program)
    device = device_of([*constants.values(), *(n.meta["val"] for n in users)])
    call = compiled(module, constants, device, Options.of(options))
    inputs = _Inputs(_structure(program.call_spec.in_spec), _places(module, users), len(_nodes(module)), _fixed(users))
    return Module(call, inputs, _Results(program.call_spec.out_spec, *_user_results(program)))


def export(model, args=(), kwargs=None, *, path, dynamic_shapes=None, options=None):
    """Compiles as compile() does, and saves the module. Unsupported where a part of the model would stay with torch."""
    made = compile(model, args, kwargs, dynamic_shapes=dynamic_shapes, options={**(options or {}), "whole_graph": True})
    made.save(path)
    return made


def load(path, device=None):
    """A module that was saved. device: of a model for a GPU, which one; the current one otherwise."""
    with zipfile.ZipFile(os.fspath(path)) as file:
        told, plan = json.loads(file.read("wootz.json")), file.read("plan")
    if told["format"] != _FORMAT:
        raise ValueError(f"{path}: format {told['format']}; this version reads {_FORMAT}")
    kind = told["device"]
    place = torch.device(device) if device is not None else torch.device(kind, torch.cuda.current_device()) if kind == "cuda" else torch.device(kind)
    if place.type != kind:
        raise ValueError(f"{path}: compiled for {kind}, not for {place.type}")
    block = Block(_read_spec(told["spec"]), place, load_engine(plan, place), plan)
    inputs, results = told["inputs"], told["results"]
    return Module(block, _Inputs(**inputs),
                  _Results(None, results["structure"], results["first"]))


def _exported(model, args, kwargs, dynamic_shapes):
    if isinstance(args, torch.Tensor):
        args = (args,)
    with torch.no_grad():
        return torch.export.export(model, tuple(args), kwargs or {}, dynamic_shapes=dynamic_shapes)


def _nodes(module):
    return [n for n in module.graph.nodes if n.op == "placeholder"]


def _places(module, users):
    order = {n: i for i, n in enumerate(_nodes(module))}
    return [order[n] for n in users]


def _fixed(users):
    """What torch takes as part of the model among the arguments: [number of the leaf, value]."""
    values = [[i, n.meta.get("val")] for i, n in enumerate(users)]
    return [[i, v] for i, v in values if v is None or isinstance(v, (bool, int, float, str))]


def _user_results(program):
    """The structure of what the model gives, and where its results begin among the graph's."""
    count = program.call_spec.out_spec.num_leaves
    return _structure(program.call_spec.out_spec), len(program.graph_signature.output_specs) - count


def _structure(spec):
    """A tree of lists and dictionaries with numbers of leaves, as JSON has it: ["tuple", ...], ["list", ...], ["dict", {...}], a number."""
    return _plain(_pytree.tree_unflatten(list(range(spec.num_leaves)), spec))


def _plain(tree):
    if tree is None or isinstance(tree, int):
        return tree
    if isinstance(tree, dict) or hasattr(tree, "items"):
        return ["dict", {str(k): _plain(v) for k, v in tree.items()}]
    if isinstance(tree, (tuple, list)):
        return ["list" if isinstance(tree, list) else "tuple", [_plain(v) for v in tree]]
    if hasattr(tree, "__dict__"):
        return ["dict", {k: _plain(v) for k, v in vars(tree).items()}]
    raise Unsupported(f"results of type {type(tree).__name__}")


def _filled(structure, leaves):
    if structure is None or isinstance(structure, int):
        return None if structure is None else leaves[structure]
    kind, parts = structure
    if kind == "dict":
        return {k: _filled(v, leaves) for k, v in parts.items()}
    return (list if kind == "list" else tuple)(_filled(v, leaves) for v in parts)


def _leaves(structure, tree, found):
    """The leaves of what was given for a structure, by their numbers."""
    if structure is None:
        return
    if isinstance(structure, int):
        found[structure] = tree
        return
    kind, parts = structure
    if kind == "dict":
        if unlike := set(parts) ^ set(tree):
            raise TypeError(f"the model takes {sorted(parts)}; {sorted(unlike)} is too much or missing")
        for name, part in parts.items():
            _leaves(part, tree[name], found)
    else:
        if len(tree) != len(parts):
            raise TypeError(f"the model takes {len(parts)} arguments here; {len(tree)} given")
        for part, value in zip(parts, tree):
            _leaves(part, value, found)


class _Inputs:
    """Arguments of the model as arguments of the graph. structure: of (args, kwargs); places: where each leaf goes, of `count`; fixed: values
    that leaves had, which are part of the model."""

    def __init__(self, structure, places, count, fixed):
        self.structure, self.places, self.count, self.fixed = structure, places, count, fixed

    def __call__(self, args, kwargs):
        found = {}
        _leaves(self.structure, (args, kwargs), found)
        for leaf, value in self.fixed:
            if found.get(leaf) != value:
                raise ValueError(f"argument {leaf} is {found.get(leaf)!r}; the model was compiled for {value!r}")
        given = [None] * self.count
        for leaf, place in enumerate(self.places):
            given[place] = found[leaf]
        return given

    def before(self):
        """Arguments of the graph that come before those of the model, where these are one tensor after the other; None: they are not."""
        order, first = list(range(len(self.places))), self.count - len(self.places)
        plain = self.places == [first + i for i in order] and self.structure == ["tuple", [["tuple", order], ["dict", {}]]]
        return (None,) * first if plain and not self.fixed else None

    def written(self):
        return {"structure": self.structure, "places": self.places, "count": self.count, "fixed": self.fixed}


class _Results:
    """Results of the graph as results of the model. spec: torch's, which knows the model's own classes; None: of a loaded module."""

    def __init__(self, spec, structure, first):
        self.spec, self.structure, self.first = spec, structure, first
        self.single = structure == 0 and first == 0

    def __call__(self, results):
        if self.single:
            return results[0]
        leaves = list(results)[self.first:]
        return _filled(self.structure, leaves) if self.spec is None else _pytree.tree_unflatten(leaves, self.spec)

    def written(self):
        return {"structure": self.structure, "first": self.first}


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def _written_spec(spec):
    form = [[kind, value] for kind, value in spec.form]
    if any(kind == "constant" for kind, _ in form):
        raise Unsupported("a result is a constant of the model")
    return {"inputs": [[i, name, _name(t), shape] for i, name, t, shape in spec.inputs], "form": form, "places": spec.places,
            "outputs": [[None if spec.symbols else list(shape), _name(t)] for shape, t in spec.outputs],
            "symbols": {n: [r.low, r.opt, r.high] for n, r in spec.symbols.items()}}


def _read_spec(told):
    return Spec([(i, name, getattr(torch, t), tuple(shape)) for i, name, t, shape in told["inputs"]],
                [(None if shape is None else tuple(shape), getattr(torch, t)) for shape, t in told["outputs"]],
                [tuple(f) for f in told["form"]], {n: Range(*r) for n, r in told["symbols"].items()},
                {n: tuple(p) for n, p in told["places"].items()})

"""torch.compile(model, backend="wootz")."""
import torch
from torch._dynamo import list_backends, register_backend

from .._build import BuildError
from .._wootz import _SameTensors
from ._block import Block
from ._options import Options
from ._partition import compiled, left
from ._trace import attributes, from_dynamo, is_static, views_of_inputs
from ._types import Unsupported

MOST_SETS = 64  # of weights that one graph is compiled for


def device_of(values):
    """The device of the tensors among some values: the GPU's if there is one."""
    devices = {v.device for v in values if isinstance(v, torch.Tensor)}
    gpus = [d for d in devices if d.type != "cpu"]
    if len(gpus) > 1 or any(d.type != "cuda" for d in gpus):
        raise Unsupported(f"tensors on {', '.join(sorted(map(str, devices)))}")
    return gpus[0] if gpus else torch.device("cpu")


def wootz_backend(module, examples, *, options=None, mode=None, **unused):
    """What dynamo calls for each graph; what is returned computes the graph."""
    options = Options.of(options)
    if torch.is_grad_enabled() and any(isinstance(e, torch.Tensor) and e.requires_grad for e in examples):
        return _left(module, options, "gradients are wanted: call the model under torch.no_grad() or torch.inference_mode()")
    try:
        views = views_of_inputs(module)
        if views is None:
            return _Compiled(module, examples, options).caller()
        numbers, others, alone = views
        if not others.graph.output_node().args[0]:
            return module.forward  # views alone
        return _beside(numbers, _Compiled(others, examples, options).caller(), alone)
    except (Unsupported, BuildError) as why:
        return _left(module, options, str(why))


def _beside(numbers, compiled_part, alone):
    """A call whose results of these numbers are views of its arguments, which torch makes."""
    def call(*args):
        results = list(compiled_part(*args))
        for number, view in zip(numbers, alone(*args)):
            results.insert(number, view)
        return results

    return call


def _left(module, options, why):
    if options.whole_graph:
        raise Unsupported(why)
    left(f"a graph stays with torch: {why}")
    return module.forward


class _Compiled:
    """A graph with weights that are constants of the engine. torch may call one graph with the weights of several modules, and weights may
    be changed in place: an engine is of the weights that it was built with, and others get one of their own."""

    def __init__(self, module, examples, options):
        self.options, self.device = options, device_of(examples)
        self.traced = from_dynamo(module, examples)
        self.places = [i for i, e in enumerate(examples) if is_static(e)]
        self.names = [[n.name for n in self.traced.graph.nodes if n.op == "placeholder"][i] for i in self.places]
        self.sets = {}
        self._take(examples)

    def _take(self, args):
        """Computes with the weights among these arguments from now on."""
        weights = tuple([args[i] for i in self.places])
        key = tuple(map(id, weights))
        known = self.sets.get(key)
        if known is None or not known[1].unchanged():
            if len(self.sets) >= MOST_SETS:
                self.sets.clear()
            seen = _SameTensors(self.places, weights)  # before they are read
            module = torch.fx.GraphModule(self.traced, self.traced.graph)
            given = dict(zip(self.names, weights))
            constants = {n: given[n.name] for n in module.graph.nodes if n.op == "placeholder" and n.name in given}
            constants.update(attributes(module))
            made = compiled(module, constants, self.device, self.options)
            if isinstance(made, Block):
                made.plan = None  # only modules that can be saved keep it
            call = made.call if isinstance(made, Block) else lambda args: made(*args)
            known = self.sets[key] = (call, seen)
        self.now = known

    def caller(self):
        """The function that torch calls."""
        if not self.options.check_weights:
            return lambda *args: self.now[0](args)

        def call(*args):
            if not self.now[1].given(args):
                self._take(args)
            call_now, seen = self.now
            results = call_now(args)
            # Versions are looked at after the launch, beside what a GPU computes: it is nearly always for nothing, and takes longer.
            while not seen.unchanged():
                self._take(args)
                call_now, seen = self.now
                results = call_now(args)
            return results

        return call


if "wootz" not in list_backends(exclude_tags=()):  # where the package is installed, its entry point (pyproject.toml) is among them
    register_backend(wootz_backend, name="wootz")

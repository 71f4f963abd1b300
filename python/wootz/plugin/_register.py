"""The decorators, what they register, and how networks take it."""
from .. import _wootz
from .._plugins import PluginFieldCollection
from .._wootz import QuickPluginCreationRequest
from ._autotune import AutoTuneCombination
from ._exprs import ShapeExprs
from ._quick import _ANY_RANK, AotPlugin, JitPlugin, KernelLaunchParams, QuickCreator
from ._signature import Signature, arguments
from ._tensor import Tensor, TensorDesc

QDP_REGISTRY = {}  # by id


class Plugin:
    """What was registered under an id: the function that describes outputs, and those that do the work."""

    def __init__(self, plugin_id, function):
        self.id, self.function = plugin_id, function
        self.namespace, self.name = plugin_id.split("::")
        self.signature = Signature(plugin_id, function)
        self.impl = self.aot_impl = self.autotune = None  # (function, names of its parameters)
        self.creator = None
        self.__doc__ = function.__doc__

    def register(self):
        """Makes it known to the plugin registry."""
        if self.creator is not None:
            return
        creator = QuickCreator(self)
        if not _wootz.get_plugin_registry().register_creator(creator, self.namespace):
            raise ValueError(f"{self.id}: the plugin registry has another creator of this name: see the log")
        self.creator = creator

    def __call__(self, *args, **kwargs):
        """A call for INetworkDefinition.add_plugin: inputs (ITensor), then attributes."""
        names = self.signature.inputs + list(self.signature.attributes)
        if len(args) > len(names):
            raise TypeError(f"{self.id}: {len(args)} arguments, {len(names)} at most")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names or name in given:
                raise TypeError(f"{self.id}: argument '{name}' is {'given twice' if name in given else 'not known'}")
            given[name] = value
        missing = [n for n in self.signature.inputs if n not in given]
        if missing:
            raise TypeError(f"{self.id}: input '{missing[0]}' is missing")
        inputs = [given.pop(n) for n in self.signature.inputs]
        attributes = self.complete(given)
        self.fields(attributes)  # which looks at their types
        return PluginCall((inputs, attributes, self))

    def complete(self, values):
        """All attributes: those given, and defaults."""
        complete = {}
        for name in self.signature.attributes:
            if name not in values and name not in self.signature.defaults:
                raise TypeError(f"{self.id}: attribute '{name}' is missing")
            complete[name] = values.get(name, self.signature.defaults.get(name))
        return complete

    def fields(self, attributes):
        return PluginFieldCollection([a.field(attributes[n]) for n, a in self.signature.attributes.items()])

    def describe(self, inputs, attributes):
        """The descriptions of the outputs."""
        made = self.function(**dict(zip(self.signature.inputs, inputs)), **attributes)
        outputs = [made] if isinstance(made, TensorDesc) else list(made)
        if not outputs or not all(isinstance(d, TensorDesc) and d.dtype is not None and d._shape_expr is not None for d in outputs):
            raise ValueError(f"{self.id}: a TensorDesc with shape and type is wanted for each output, given is {made!r}")
        return outputs

    def imagined(self, attributes):
        """The outputs where no input is known."""
        return self.describe([TensorDesc(ShapeExprs(_ANY_RANK, _is_dummy=True), _wootz.DataType.FLOAT) for _ in self.signature.inputs], attributes)

    def count_outputs(self, attributes):
        return len(self.imagined(attributes)) if self.signature.outputs is None else self.signature.outputs

    def aliases(self, attributes):
        """For each output the number of the input that it overwrites, or -1."""
        inputs = [TensorDesc(ShapeExprs(_ANY_RANK, _is_dummy=True), _wootz.DataType.FLOAT) for _ in self.signature.inputs]
        outputs = self.describe(inputs, attributes)
        return [next((i for i, d in enumerate(inputs) if d is o.get_aliased()), -1) for o in outputs]

    def run(self, inputs, attributes, more):
        if self.impl is None:
            raise RuntimeError(f"{self.id} has no impl function in this process")
        function, names = self.impl
        function(**arguments(names, zip(self.signature.inputs, inputs), attributes, more))

    def tune(self, inputs, outputs, attributes):
        """Its AutoTuneCombinations."""
        if self.autotune is None:
            return []
        function, names = self.autotune
        made = function(**arguments(names, zip(self.signature.inputs, inputs), attributes, {"outputs": tuple(outputs)}))
        if not made or not all(isinstance(c, AutoTuneCombination) for c in made):
            raise ValueError(f"{self.id}: autotune is to give a list of AutoTuneCombination, given is {made!r}")
        return made

    def compile(self, inputs, attributes, more):
        function, names = self.aot_impl
        made = function(**arguments(names, zip(self.signature.inputs, inputs), attributes, more))
        if not isinstance(made, tuple) or len(made) != 4 or not isinstance(made[2], KernelLaunchParams):
            raise ValueError(f"{self.id}: aot_impl is to give the kernel's name, its code, KernelLaunchParams and further arguments")
        return made

    def form(self, request):
        """The class of its plugins. Raises RuntimeError where the form that must be is not there."""
        return AotPlugin if self._ahead(request) else JitPlugin

    def _ahead(self, request):
        strict = {QuickPluginCreationRequest.STRICT_AOT: True, QuickPluginCreationRequest.STRICT_JIT: False}
        wanted = strict.get(request, request == QuickPluginCreationRequest.PREFER_AOT)
        have = {True: self.aot_impl, False: self.impl}
        if have[wanted] is not None:
            return wanted
        if request in strict or have[not wanted] is None:
            raise RuntimeError(f"{self.id} has no {'aot_impl' if wanted else 'impl'} function in this process")
        return not wanted


class PluginCall(tuple):
    """Inputs, attributes and plugin, for INetworkDefinition.add_plugin."""


class _Namespace:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        found = QDP_REGISTRY.get(f"{self._name}::{name}")
        if found is None:
            raise AttributeError(f"no plugin {self._name}::{name} is registered")
        found.register()
        return found

    def __dir__(self):
        return [p.name for p in QDP_REGISTRY.values() if p.namespace == self._name]


class _Op:
    """Plugins by namespace and name: op.ns.name(inputs..., attributes...) is what INetworkDefinition.add_plugin takes."""

    def __getattr__(self, namespace):
        if not any(p.namespace == namespace for p in QDP_REGISTRY.values()):
            raise AttributeError(f"no plugin is registered in namespace {namespace}")
        return _Namespace(namespace)

    def __dir__(self):
        return sorted({p.namespace for p in QDP_REGISTRY.values()})


op = _Op()


def register(plugin_id, lazy_register=False):
    """Decorates the function that describes a plugin: (TensorDesc..., attributes...) -> the outputs' TensorDesc.

    `plugin_id` is "namespace::name". The plugin registry knows it at once, or, lazily, once it is used.
    """
    if plugin_id.count("::") != 1 or not all(part.isidentifier() for part in plugin_id.split("::")):
        raise ValueError(f"'{plugin_id}' is no id: namespace::name is wanted")

    def decorate(function):
        if plugin_id in QDP_REGISTRY:
            raise ValueError(f"{plugin_id} is registered already")
        plugin = Plugin(plugin_id, function)
        if not lazy_register:
            plugin.register()
        QDP_REGISTRY[plugin_id] = plugin
        return plugin

    return decorate


def _part(kind, also, tensor, doc):
    def decorator(plugin_id):
        def decorate(function):
            plugin = QDP_REGISTRY.get(plugin_id)
            if plugin is None:
                raise ValueError(f"{kind} of {plugin_id}, which is not registered")
            if getattr(plugin, kind) is not None:
                raise ValueError(f"{plugin_id} has an {kind} function already")
            setattr(plugin, kind, (function, plugin.signature.check(function, kind, also, tensor)))
            return function
        return decorate
    decorator.__name__ = decorator.__qualname__ = kind
    decorator.__doc__ = doc
    return decorator


impl = _part("impl", ("outputs", "stream", "tactic"), Tensor,
             "Decorates the function that runs: (Tensor..., attributes..., outputs, stream, tactic).")
aot_impl = _part("aot_impl", ("outputs", "tactic"), TensorDesc,
                 "Decorates the function that compiles: (TensorDesc..., attributes..., outputs, tactic) -> name, code, KernelLaunchParams, arguments.")
autotune = _part("autotune", ("outputs",), TensorDesc,
                 "Decorates the function that says what is supported: (TensorDesc..., attributes..., outputs) -> [AutoTuneCombination].")


def add_plugin(network, call, aot=None):
    """A layer of a decorated plugin: `call` is op.ns.name(inputs..., attributes...), or a function without arguments that gives one.

    `aot`: whether the form that is compiled while building is wanted; None: as the network's flags prefer, otherwise the form that runs.
    """
    if callable(call) and not isinstance(call, tuple):
        call = call()
    if not isinstance(call, PluginCall):
        raise TypeError("add_plugin: what wootz.plugin.op.<namespace>.<name>(...) gives is wanted")
    inputs, attributes, plugin = call
    request = QuickPluginCreationRequest
    preferred = request.PREFER_AOT if _wootz._prefers_aot(network) else request.PREFER_JIT
    kind = plugin.form({True: request.STRICT_AOT, False: request.STRICT_JIT, None: preferred}[aot])
    return network.add_plugin_v3(inputs, [], kind(plugin, attributes))


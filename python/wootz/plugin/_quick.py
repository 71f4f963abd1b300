"""The plugins and creators of decorated functions, as the library calls them."""
from .. import _plugins as classes
from .._wootz import DataType, DimsExprs, ISymExpr, PluginArgDataType, PluginField, PluginTensorDesc, TensorFormat, TensorRTPhase
from ._exprs import ShapeExpr, ShapeExprs, SymIntExpr, _Resolver
from ._tensor import Tensor, TensorDesc

_ANY_RANK = 8
_LAUNCH = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_mem")


def _numbered(rank):
    """The extents of an input that are not known yet."""
    return ShapeExprs(rank, _is_dummy=True)


class _Quick(classes.IPluginV3, classes.IPluginV3QuickCore):
    """What both forms have: an entry of the registry, values of the attributes, and what the builder said last."""

    def __init__(self, entry, attributes):
        self.entry, self.attributes = entry, attributes
        self.plugin_name, self.plugin_namespace, self.plugin_version = entry.name, entry.namespace, "1"
        self.num_outputs = entry.count_outputs(attributes)
        self.input_types, self.described, self.tactic = None, None, 0
        self.timing_cache_id, self.metadata_string = "", entry.id

    def outputs_of(self, descs):
        outputs = self.entry.describe(descs, self.attributes)
        if len(outputs) != self.num_outputs:
            raise ValueError(f"{self.entry.id}: {len(outputs)} outputs for these inputs, {self.num_outputs} for others")
        return outputs

    def get_output_data_types(self, input_types, ranks):
        self.input_types = list(input_types)
        return [d.dtype for d in self.outputs_of([TensorDesc(_numbered(r), t) for t, r in zip(input_types, ranks)])]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        types = self.input_types or [DataType.FLOAT] * len(inputs)
        descs = [TensorDesc([ShapeExpr(e) if e.is_constant() else ShapeExpr._axis(i, a) for a, e in enumerate(shape)], t)
                 for i, (shape, t) in enumerate(zip(inputs, types))]
        outputs = self.outputs_of(descs)
        resolve = _Resolver(expr_builder, inputs, {id(d): o for o, d in enumerate(outputs) if d.is_size_tensor})
        return [DimsExprs([resolve(extent) for extent in d.shape_expr]) for d in outputs]

    def get_aliased_input(self, output):
        return self.entry.aliases(self.attributes)[output]

    def configure_plugin(self, in_, out):
        self.described = list(in_) + list(out)

    def get_valid_tactics(self):
        found = []
        wanted = tuple((d.desc.type, d.desc.format) for d in self.described)
        for combination in self.combinations(self.described):
            if wanted in combination._of(len(wanted)):
                found += [t for t in combination._tactics if t not in found]
        return found

    def combinations(self, described):
        inputs = len(self.entry.signature.inputs)
        return self.entry.tune([TensorDesc._described(d) for d in described[:inputs]], [TensorDesc._described(d) for d in described[inputs:]],
                               self.attributes)

    def get_supported_format_combinations(self, in_out, num_inputs):
        if self.entry.autotune is None:
            return [_desc(d.desc.type, TensorFormat.LINEAR) for d in in_out]
        return [_desc(*pair) for c in self.combinations(in_out) for all_ in c._of(len(in_out)) for pair in all_]

    def set_tactic(self, tactic):
        self.tactic = tactic

    def get_fields_to_serialize(self):
        return self.entry.fields(self.attributes)


def _desc(dtype, layout):
    desc = PluginTensorDesc()
    desc.type, desc.format = dtype, layout
    return desc


class JitPlugin(_Quick, classes.IPluginV3QuickBuild, classes.IPluginV3QuickRuntime):
    """One whose impl function runs."""

    def enqueue(self, input_desc, output_desc, inputs, outputs, input_strides, output_strides, stream):
        ins = [Tensor(*each) for each in zip(input_desc, inputs, input_strides)]
        outs = [Tensor(*each) for each in zip(output_desc, outputs, output_strides)]
        for tensor, source in zip(outs, self.entry.aliases(self.attributes)):
            tensor._aliased_to = ins[source] if source >= 0 else None
        self.entry.run(ins, self.attributes, {"outputs": tuple(outs), "stream": stream, "tactic": self.tactic})


class _Compiled(_Quick):
    """One whose kernel is compiled while building: aot_impl is called once for a tactic, types and extents, launch and all."""

    def __init__(self, entry, attributes):
        super().__init__(entry, attributes)
        self.kernels = {}  # which clones share

    def compile(self):
        key = (self.tactic, *((d.desc.type, d.desc.format, *map(tuple, (d.desc.dims, d.min, d.opt, d.max))) for d in self.described))
        if key not in self.kernels:
            self.kernels[key] = self.compiled()
        return self.kernels[key]

    def compiled(self):
        inputs = len(self.entry.signature.inputs)
        descs = [TensorDesc._described(d, i) for i, d in enumerate(self.described[:inputs])]
        outs = [TensorDesc._described(d) for d in self.described[inputs:]]
        for desc, named in zip(outs, self.outputs_of(descs)):
            desc._shape_expr = named.shape_expr  # as expressions, which a launch may be of
        name, code, launch, extra = self.entry.compile(descs, self.attributes, {"outputs": tuple(outs), "tactic": self.tactic})
        return name.decode() if isinstance(name, bytes) else name, code.encode() if isinstance(code, str) else bytes(code), launch, extra

    def get_kernel(self, in_, out):
        return self.compile()[:2]

    def get_launch_params(self, inputs, in_out, num_inputs, launch_params, extra_args, expr_builder):
        _, _, launch, extra = self.compile()
        resolve = _Resolver(expr_builder, inputs)
        for name in _LAUNCH:
            value = getattr(launch, name, None)
            if value is not None:
                setattr(launch_params, name, _argument(resolve(value), PluginArgDataType.INT32))
        extra_args.nbSymExprs = len(extra)
        for i, value in enumerate(extra):
            extra_args[i] = _argument(resolve(value), getattr(value, "dtype", PluginArgDataType.INT32))


class AotPlugin(_Compiled, classes.IPluginV3QuickAOTBuild):
    """For a GPU."""


class HostPlugin(_Compiled, classes.IPluginV3QuickHostBuild):
    """For the CPU: its code is a shared library, and it has no launch."""


def _argument(expr, dtype):
    made = ISymExpr()
    made.dtype, made.expr = dtype, expr
    return made


class KernelLaunchParams:
    """How a kernel is launched: numbers, or expressions over the extents of the inputs."""

    def __init__(self, grid_x=1, grid_y=1, grid_z=1, block_x=1, block_y=1, block_z=1, shared_mem=0):
        for name, value in zip(_LAUNCH, (grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_mem)):
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name not in _LAUNCH:
            raise AttributeError(f"a launch has no {name}; it has {', '.join(_LAUNCH)}")
        super().__setattr__(name, value if isinstance(value, SymIntExpr) else int(value))


class QuickCreator(classes.IPluginCreatorV3Quick):
    """Makes the plugins of one entry."""

    def __init__(self, entry):
        self.entry = entry
        self.name, self.plugin_namespace, self.plugin_version = entry.name, entry.namespace, "1"
        self.field_names = classes.PluginFieldCollection([PluginField(n, b"", a.type) for n, a in entry.signature.attributes.items()])

    def create_plugin(self, name, namespace, field_collection, phase, quickPluginType):  # noqa: N803
        by_name = {f.name: f for f in field_collection}
        values = {n: a.value(by_name[n]) for n, a in self.entry.signature.attributes.items() if n in by_name}
        kind = self.entry.form(quickPluginType) if phase == TensorRTPhase.BUILD else JitPlugin
        return kind(self.entry, self.entry.complete(values))


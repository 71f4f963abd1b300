"""Wootz as an ONNX backend (onnx.backend.base.Backend): prepare(model, device) -> an object whose run(inputs) gives outputs.

A plan is built at the first run, for the shapes of its inputs. Inputs that decide the model's structure (a shape, axes, pads given
at run time) are taken as constants when the model cannot be built otherwise, as TensorRT's own backend does; another value builds
another plan.
"""
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

from . import _build, _numpy, _wootz

_OPTIONS = {"timing": "0"}
_PARSER_OPTIONS = {"io_types": "exact"}


def _specialized(model, arrays, constants):
    """The model with the inputs' extents fixed, and the inputs named in `constants` turned into initializers."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    inputs = list(fixed.graph.input)
    del fixed.graph.input[:]
    for value in inputs:
        if value.name not in arrays:
            fixed.graph.input.append(value)
        elif value.name in constants:
            fixed.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(arrays[value.name]), value.name))
        else:
            value.type.tensor_type.ClearField("shape")
            for extent in arrays[value.name].shape:
                value.type.tensor_type.shape.dim.add().dim_value = extent
            if arrays[value.name].ndim == 0:
                value.type.tensor_type.shape.SetInParent()
            fixed.graph.input.append(value)
    return fixed


class WootzRep(BackendRep):
    """A model made ready; plans are kept by the shapes (and constants) that they were built for."""

    def __init__(self, model, backend):
        self.model, self.backend = model, backend
        initializers = {i.name for i in model.graph.initializer}
        self.inputs = [v for v in model.graph.input if v.name not in initializers]
        for value in [*self.inputs, *model.graph.output]:
            if value.type.WhichOneof("value") != "tensor_type":
                raise BackendIsNotSupposedToImplementIt(f"'{value.name}' is a {value.type.WhichOneof('value')}")
        self.logger = _wootz.Logger(_wootz.ILogger.Severity.INTERNAL_ERROR)
        self.runtime = _wootz.Runtime(self.logger)
        self.engines = {}

    def _engine(self, arrays):
        small = {n for n, a in arrays.items() if a.ndim <= 1 and a.dtype.kind in "iub"}
        problem = None
        for constants in ([], sorted(small), sorted(arrays)):
            values = tuple((n, arrays[n].tobytes()) for n in constants)
            key = (tuple((n, a.shape, str(a.dtype)) for n, a in arrays.items()), values)
            if key in self.engines:
                return self.engines[key]
            try:
                model = _specialized(self.model, arrays, set(constants)).SerializeToString()
                plan = _build.build(model, options={**_OPTIONS, "backend": self.backend}, parser_options=_PARSER_OPTIONS, logger=self.logger)
            except _build.BuildError as error:
                problem = problem or error
                continue
            engine = self.runtime.deserialize_cuda_engine(plan)
            if engine is None:
                raise RuntimeError("the plan just built was refused")
            self.engines[key] = (engine, engine.create_execution_context(), set(constants))
            return self.engines[key]
        raise BackendIsNotSupposedToImplementIt(str(problem))

    def run(self, inputs, **kwargs):
        if isinstance(inputs, dict):
            arrays = {v.name: np.asarray(inputs[v.name]) for v in self.inputs}
        else:
            inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            arrays = {v.name: np.asarray(a) for v, a in zip(self.inputs, inputs)}
        engine, context, constants = self._engine(arrays)
        feeds = {n: a for n, a in arrays.items() if n not in constants and n in set(engine)}
        outputs = _numpy.infer(context, feeds)
        return [outputs[v.name] for v in self.model.graph.output]


class WootzBackend(Backend):
    """device: "CPU" runs on the backend `cpu`, "REFERENCE" on the backend `reference`."""

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] in ("CPU", "REFERENCE")

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        if not cls.supports_device(device):
            raise BackendIsNotSupposedToImplementIt(f"device {device}")
        return WootzRep(model, "reference" if device == "REFERENCE" else "cpu")

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        raise BackendIsNotSupposedToImplementIt("single nodes without their model's opset")


prepare, run_model, run_node = WootzBackend.prepare, WootzBackend.run_model, WootzBackend.run_node
supports_device, is_compatible = WootzBackend.supports_device, WootzBackend.is_compatible

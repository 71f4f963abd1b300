"""Plugins of decorated functions (wootz.plugin) on an engine's device. Run by test_python_plugins.py in a process of its own."""
import ctypes
import os
import subprocess
import sys
from typing import Tuple

import numpy as np
import numpy.typing as npt
import pytest
import python_plugins as plugins
import wootz as trt
import wootz.plugin as trtp
from plugin_cases import BACKENDS, check, Network, node_model, parsed, SAMPLE, SEED

CALLS = []


@pytest.fixture(autouse=True)
def fresh():
    print("seed", SEED)
    CALLS.clear()


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@trtp.register("tests::blend")
def blend(x: trtp.TensorDesc, z: trtp.TensorDesc, weight: float, times: int, label: str, on: bool, raw: bytes,
          table: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_]) -> trtp.TensorDesc:
    """(x * weight + z) * times + the sum of a table."""
    assert (weight, times, label, on, raw) == (0.5, 3, "a label", True, b"\x01\x02") and table.tolist() == [1, 2] and mask.tolist() == [True, False]
    return x.like()


@trtp.impl("tests::blend")
def run_blend(x: trtp.Tensor, z: trtp.Tensor, weight: float, times: int, table: npt.NDArray[np.float32], outputs: Tuple[trtp.Tensor],
              stream: int) -> None:
    y, = outputs
    assert y.dtype == trt.float32 and y.ndim == 2 and y.format == trt.TensorFormat.LINEAR and not y.is_aliased and y.get_aliased() is None
    if y.on_device:
        interface = y.__cuda_array_interface__
        assert interface == {"shape": (y.shape[0], 3), "typestr": "<f4", "data": (y.data_ptr, False), "version": 3, "stream": None, "strides": None}
        with pytest.raises(ValueError, match="GPU's memory"):
            y.numpy()
    else:
        assert not hasattr(y, "__cuda_array_interface__") and np.asarray(y).ctypes.data == y.data_ptr == np.from_dlpack(y).ctypes.data
    assert tuple(y.strides) == (3, 1) and y.numel() == 3 * y.shape[0] and y.data_ptr != 0
    plugins.store(y, (plugins.load(x, stream) * np.float32(weight) + plugins.load(z, stream)) * times + table.sum())


def test_one_with_all_types_of_attributes(backend, tmp_path):
    net = Network(backend)
    z = net.network.add_unary(net.before, trt.UnaryOperation.EXP).get_output(0)
    call = trtp.op.tests.blend(net.before, z, weight=0.5, times=3, label="a label", on=True, raw=b"\x01\x02", table=np.float32([1, 2]),
                               mask=np.array([True, False]))
    layer = net.network.add_plugin(call)
    assert layer.type == trt.LayerType.PLUGIN_V3
    net.finish(layer.get_output(0))
    expected = lambda x: (x * 0.5 + np.exp(x)) * 3 + 3
    plan = net.plan()
    check(net.load(plan), expected)
    (tmp_path / "plan").write_bytes(bytes(plan))
    code = ("import sys, numpy as np, wootz as trt\n"
            "import decorated_plugin_cases as cases\n"
            "engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(open(sys.argv[1], 'rb').read())\n"
            "cases.check(engine, lambda x: (x * 0.5 + np.exp(x)) * 3 + 3)\n")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "plan"], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])})
    assert done.returncode == 0, done.stderr


@trtp.register("tests::halves")
def halves(x: trtp.TensorDesc, pad: int = 1) -> Tuple[trtp.TensorDesc, trtp.TensorDesc]:
    CALLS.append("halves")
    first = trtp.from_shape_expr((trtp.cdiv(x.shape_expr[0], 2), x.shape_expr[1] + pad), dtype=x.dtype)
    second = x.like()
    second.shape_expr = trtp.ShapeExprs.from_tuple((trtp.max(x.shape_expr[0] // 2, 1), 1 + 2 * x.shape_expr[1] - x.shape_expr.numel() // x.shape_expr[0]))
    second.dtype = trt.int32
    return first, second


@trtp.impl("tests::halves")
def run_halves(x: trtp.Tensor, pad: int, outputs: Tuple[trtp.Tensor, trtp.Tensor], stream: int):
    given = plugins.load(x, stream)
    plugins.store(outputs[0], np.pad(given[:outputs[0].shape[0]], ((0, 0), (0, pad))))
    plugins.store(outputs[1], np.full(tuple(outputs[1].shape), 7))


def test_extents_are_expressions(backend, tmp_path):
    net = Network(backend)
    layer = net.network.add_plugin(trtp.op.tests.halves(net.before, pad=2), aot=False)
    net.finish(layer.get_output(0))
    other = net.network.add_identity(layer.get_output(1)).get_output(0)
    other.name = "other"
    net.network.mark_output(other)
    context = net.engine().create_execution_context()
    for rows in (1, 2, 5):
        x = np.abs(SAMPLE((rows, 3)).astype(np.float32))
        got = trt.infer(context, {"x": x})
        np.testing.assert_array_equal(got["y"], -np.pad(x[:-(-rows // 2)], ((0, 0), (0, 2))))
        np.testing.assert_array_equal(got["other"], np.full((max(rows // 2, 1), 4), 7, np.int32))


@trtp.register("tests::nonzero")
def nonzero(x: trtp.TensorDesc) -> Tuple[trtp.TensorDesc, trtp.TensorDesc]:
    count = trtp.size_tensor(x.shape_expr.numel() // 2, x.shape_expr.numel())
    assert count.is_size_tensor and count.expr().is_size_tensor
    return trtp.from_shape_expr((count.expr(), 2), dtype=trt.int32), count


@trtp.impl("tests::nonzero")
def run_nonzero(x: trtp.Tensor, outputs: Tuple[trtp.Tensor, trtp.Tensor], stream: int):
    found = np.argwhere(plugins.load(x, stream)).astype(np.int32)
    places, count = outputs
    desc = trt.PluginTensorDesc()
    desc.dims, desc.type = found.shape, trt.int32
    if found.size:
        plugins.store(trtp.Tensor(desc, places.data_ptr), found)
    plugins.store(count, np.int32(len(found)))


def test_a_size_that_is_found_by_running(backend):
    net = Network(backend)
    layer = net.network.add_plugin(trtp.op.tests.nonzero(net.before))
    y = net.network.add_identity(layer.get_output(0)).get_output(0)
    y.name = "y"
    net.network.mark_output(y)
    context = net.engine().create_execution_context()
    for rows in (4, 8, 1):
        x = SAMPLE((rows, 3)).astype(np.float32)
        np.testing.assert_array_equal(trt.infer(context, {"x": x})["y"], np.argwhere(x > 0))


@trtp.register("tests::overwrite")
def overwrite(x: trtp.TensorDesc) -> trtp.TensorDesc:
    made = x.aliased()
    assert made.is_aliased and made.get_aliased() is x
    with pytest.raises(AttributeError, match="cannot be changed"):
        made.dtype = trt.int32
    return made


@trtp.impl("tests::overwrite")
def run_overwrite(x: trtp.Tensor, outputs: Tuple[trtp.Tensor], stream: int):
    assert outputs[0].is_aliased and outputs[0].get_aliased() is x and outputs[0].data_ptr == x.data_ptr
    flat = x.aliased((x.numel(),))
    plugins.store(flat, plugins.load(flat, stream) + 1)


def test_an_output_that_overwrites_its_input(backend):
    net = Network(backend)
    net.config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
    net.finish(net.network.add_plugin(trtp.op.tests.overwrite(net.before)).get_output(0))
    check(net.engine(), lambda x: x + 1)


@trtp.register("tests::formats")
def formats(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


@trtp.autotune("tests::formats")
def tune_formats(x: trtp.TensorDesc, outputs: Tuple[trtp.TensorDesc]):
    assert x.has_shape and x.ndim == 4 and x.shape.is_dynamic and (x.shape.min, x.shape.opt, x.shape.max)[2] == (8, 3, 3, 3)
    made = trtp.AutoTuneCombination("FP32|FP16, FP32|FP16", "HWC, HWC", [4, 9])
    other = trtp.AutoTuneCombination()
    other.pos((0, 1), "FP32", "HWC")
    other.tactics([9])
    return [made, other]


@trtp.impl("tests::formats")
def run_formats(x: trtp.Tensor, outputs: Tuple[trtp.Tensor], stream: int, tactic: int):
    CALLS.append((x.format, tuple(x.strides), tactic))
    rows = x.shape[0]
    desc = trt.PluginTensorDesc()
    desc.dims, desc.type = (rows, 3, 3, 3), trt.float32  # as they are in memory
    plugins.store(trtp.Tensor(desc, outputs[0].data_ptr), plugins.load(trtp.Tensor(desc, x.data_ptr), stream) * 2)


def test_formats_and_tactics_are_tuned(backend):
    net = Network(backend, rank=4)
    net.finish(net.network.add_plugin(trtp.op.tests.formats(net.before)).get_output(0))
    context = net.engine().create_execution_context()
    CALLS.clear()
    x = SAMPLE((5, 3, 3, 3)).astype(np.float32)
    np.testing.assert_allclose(trt.infer(context, {"x": x})["y"], -2 * np.maximum(x, 0), rtol=1e-6)
    assert all(c[:2] == (trt.TensorFormat.HWC, (27, 1, 9, 3)) and c[2] in (4, 9) for c in CALLS) and CALLS


@trtp.register("tests::raises", lazy_register=True)
def raises(x: trtp.TensorDesc, where: str) -> trtp.TensorDesc:
    if where == "register":
        raise ZeroDivisionError("register was told to fail")
    return x.like()


@trtp.autotune("tests::raises")
def tune_raises(x, where, outputs):
    if where == "autotune":
        raise ZeroDivisionError("autotune was told to fail")
    return [trtp.AutoTuneCombination("FP32, FP32")]


@trtp.impl("tests::raises")
def run_raises(x, where, outputs, stream):
    if where == "impl":
        raise ZeroDivisionError("impl was told to fail")
    plugins.store(outputs[0], plugins.load(x, stream))


@pytest.mark.parametrize("where", ["autotune", "impl"])
def test_functions_that_raise(backend, where):
    net = Network(backend)
    net.finish(net.network.add_plugin(trtp.op.tests.raises(net.before, where=where)).get_output(0))
    plan = net.plan()
    if where == "autotune":
        assert plan is None
    elif plan is not None:
        with pytest.raises(RuntimeError):
            trt.infer(net.load(plan).create_execution_context(), {"x": np.ones((2, 3), np.float32)})
    why = net.logger.take()
    assert f"{where} was told to fail" in why and "decorated_plugin_cases.py" in why, why


def test_nodes_of_a_model_become_decorated_plugins(backend, tmp_path):
    path = node_model(tmp_path / "m.onnx", "blend", plugin_namespace="tests", weight=0.5, times=3, label="a label", on=1, pad=2)
    net = Network(backend)
    parser = trt.OnnxParser(net.network, net.logger)
    assert not parser.parse_from_file(str(path)) and "attribute 'raw' is missing" in net.logger.take()
    net = parsed(backend, node_model(tmp_path / "n.onnx", "raises", plugin_namespace="tests", where="nowhere"))
    check(net.engine(), lambda x: x)


@trtp.register("tests::copied")
def copied(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("tests::copied")
def run_copied(x, outputs, stream):
    CALLS.append(x.shape[0])
    if not x.on_device:
        return plugins.store(outputs[0], plugins.load(x, stream))
    code = plugins.driver().cuMemcpyAsync(*(ctypes.c_uint64(t.data_ptr) for t in (outputs[0], x)), ctypes.c_size_t(4 * x.numel()), ctypes.c_void_p(stream))
    assert code == 0, code


def test_work_on_the_stream_alone_is_recorded(backend):
    net = Network(backend)
    net.finish(net.network.add_plugin(trtp.op.tests.copied(net.before)).get_output(0))
    context = net.engine().create_execution_context()
    CALLS.clear()
    x = SAMPLE((5, 3)).astype(np.float32)
    for _ in range(6):
        np.testing.assert_array_equal(trt.infer(context, {"x": x})["y"], -np.maximum(x, 0))
    assert len(CALLS) == 6 if backend == "cpu" else 1 <= len(CALLS) < 6, CALLS


SOURCE = """
extern "C" __global__ void wootz_kernel(const float* x, int count, int factor, float* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < count) y[i] = x[i] * factor;
}
"""


@trtp.register("tests::stretch")
def stretch(x: trtp.TensorDesc, least: int) -> trtp.TensorDesc:
    return x.like()


@trtp.aot_impl("tests::stretch")
def compile_stretch(x: trtp.TensorDesc, least: int, outputs: Tuple[trtp.TensorDesc], tactic: int):
    CALLS.append("compiled")
    assert x.dtype == trt.float32 and x.has_shape and outputs[0].shape_expr[0] is not None
    count = x.shape_expr.numel()
    launch = trtp.KernelLaunchParams(grid_x=trtp.cdiv(count, 32), block_x=32)
    launch.shared_mem = 0
    extra = trtp.SymIntExprs(2)
    extra[0], extra[1] = trtp.SymInt32(count), trtp.SymInt32(trtp.max(x.shape_expr[0], least))
    return "wootz_kernel", trtp.compile_cuda(SOURCE), launch, extra


def test_a_kernel_that_is_compiled_while_building(backend):
    net = Network(backend)
    layer = net.network.add_plugin(trtp.op.tests.stretch(net.before, least=3), aot=True)
    net.finish(layer.get_output(0))
    plan = net.plan()
    if backend != "cuda":
        assert plan is None and "IPluginV3QuickAOTBuild" in net.logger.take()
        return
    assert plan is not None, net.logger.errors
    engine = net.load(plan)
    assert CALLS == ["compiled"]
    check(engine, lambda x: x * max(len(x), 3))
    check(net.load(bytes(engine.serialize())), lambda x: x * max(len(x), 3))
    refused = trt.Runtime(net.logger)
    assert refused.deserialize_cuda_engine(plan) is None and "engine_host_code" in net.logger.take().lower().replace("enginehostcode", "engine_host_code")


class Written(trt.IPluginV3, trt.IPluginV3QuickCore, trt.IPluginV3QuickAOTBuild):
    """A Quick plugin that is written out: y = x * rows, a thread a block."""

    plugin_name, plugin_namespace, num_outputs, kept = "Written", "tests", 1, None

    def get_output_data_types(self, input_types, ranks):
        return [input_types[0]] if list(ranks) == [2] else None

    def get_output_shapes(self, inputs, shape_inputs, builder):
        return [inputs[0]]

    def get_supported_format_combinations(self, in_out, num_inputs):
        return [d.desc for d in in_out]

    def configure_plugin(self, inp, out):
        pass

    def get_valid_tactics(self):
        return [2]

    def get_aliased_input(self, output):
        return -1

    def set_tactic(self, tactic):
        assert tactic == 2

    def get_kernel(self, inp, out):
        return "wootz_kernel", SOURCE.replace("blockIdx.x * 32 + threadIdx.x", "blockIdx.y * 3 + blockIdx.x").encode()

    def get_launch_params(self, inputs, in_out, num_inputs, launch, extra, builder):
        def argument(expr, dtype=trt.PluginArgDataType.INT32):
            made = trt.ISymExpr()
            assert made.type == trt.PluginArgType.INT and made.dtype == trt.PluginArgDataType.INT32 and made.expr is None
            made.dtype, made.expr = dtype, expr
            return made

        rows, columns, one = argument(inputs[0][0]), argument(inputs[0][1]), argument(builder.constant(1))
        assert launch.grid_x is None
        launch.grid_x, launch.grid_y, launch.grid_z = columns, rows, one
        launch.block_x = launch.block_y = launch.block_z = one
        launch.shared_mem = argument(builder.constant(0))
        assert launch.grid_x is columns and launch.grid_y is rows and launch.block_z is one and launch.shared_mem.expr.get_constant_value() == 0
        extra.nbSymExprs = 2
        extra[0] = argument(builder.operation(trt.DimensionOperation.PROD, inputs[0][0], inputs[0][1]))
        extra[1] = argument(inputs[0][0], trt.PluginArgDataType.INT16)
        assert len(extra) == extra.nbSymExprs == 2 and extra[1].dtype == trt.PluginArgDataType.INT16
        with pytest.raises(IndexError):
            extra[2] = one
        with pytest.raises(ValueError, match="refused"):
            extra.nbSymExprs = -1
        Written.kept = launch, extra, rows.expr


def test_a_quick_plugin_that_is_written_out(backend):
    if backend != "cuda":
        pytest.skip("its kernel is for a GPU")
    net = Network(backend)
    net.finish(net.network.add_plugin_v3([net.before], [], Written()).get_output(0))
    check(net.engine(), lambda x: x * len(x))
    launch, extra, expr = Written.kept
    for use in (lambda: launch.grid_x, lambda: extra[0], lambda: expr.is_constant()):
        with pytest.raises(RuntimeError, match="is over"):
            use()


def test_what_is_asked_for_must_be_there(backend):
    net = Network(backend)
    with pytest.raises(RuntimeError, match="no impl function"):
        net.network.add_plugin(trtp.op.tests.stretch(net.before, least=3), aot=False)
    with pytest.raises(RuntimeError, match="no aot_impl function"):
        net.network.add_plugin(trtp.op.tests.formats(net.before), aot=True)
    with pytest.raises(TypeError, match="wootz.plugin.op"):
        net.network.add_plugin((net.before,))
    flags = 1 << int(trt.NetworkDefinitionCreationFlag.PREFER_AOT_PYTHON_PLUGINS)
    network = net.builder.create_network(flags)
    x = network.add_input("x", trt.float32, (4, 3))
    assert network.add_plugin(lambda: trtp.op.tests.formats(x)).plugin.entry.id == "tests::formats"

"""Classes of the package as Python programs take them: made by calling them, derived from, kept alive; values that are sequences and
buffers; what is wrong raises."""
import gc
import sys
import threading
import time
import weakref

import numpy as np
import onnx
import pytest
import wootz as trt
from onnx import TensorProto, helper

STRONG = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)


@pytest.fixture
def logger():
    return trt.Logger(trt.Logger.INTERNAL_ERROR)


def model(rows=3, values=None):
    weights = np.arange(6, dtype=np.float32).reshape(3, 2) if values is None else values
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 2])],
                              [helper.make_tensor("w", TensorProto.FLOAT, [3, 2], weights.tobytes(), raw=True)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def plan_of(logger, flag=None, data=None):
    builder = trt.Builder(logger)
    network, config = builder.create_network(0), builder.create_builder_config()
    config.set_option("timing", "0")
    if flag is not None:
        config.set_flag(flag)
    assert trt.OnnxParser(network, logger).parse(data or model())
    return builder.build_serialized_network(network, config)


# Classes.

def test_programs_derive_from_classes(logger):
    class MyBuilder(trt.Builder):
        def __init__(self, name):
            super().__init__(logger)
            self.name = name

        def make(self):
            return self.create_network(STRONG)

    class MyParser(trt.OnnxParser):
        pass

    class MyRuntime(trt.Runtime):
        pass

    class MyRefitter(trt.Refitter):
        pass

    class MyParserRefitter(trt.OnnxParserRefitter):
        pass

    builder = MyBuilder("mine")
    network = builder.make()
    assert isinstance(builder, trt.Builder) and builder.name == "mine" and network.builder is builder
    parser = MyParser(network, logger)
    assert isinstance(parser, trt.OnnxParser) and parser.parse(model())
    runtime = MyRuntime(logger)
    engine = runtime.deserialize_cuda_engine(plan_of(logger, trt.BuilderFlag.REFIT))
    refitter = MyRefitter(engine, logger)
    assert isinstance(refitter, trt.Refitter) and isinstance(MyParserRefitter(refitter, logger), trt.OnnxParserRefitter)


def test_a_class_that_was_not_made_is_refused(logger):
    class Forgets(trt.Builder):
        def __init__(self):
            pass

    with pytest.raises(TypeError):
        Forgets().create_network()
    for make in (trt.Builder, trt.Runtime, trt.Refitter, trt.OnnxParser):
        with pytest.raises(TypeError):
            make()
        with pytest.raises(TypeError):
            make(None)
    for name in ("INetworkDefinition", "ICudaEngine", "IExecutionContext", "ITensor", "ILayer", "IBuilderConfig", "IHostMemory"):
        with pytest.raises(TypeError):
            getattr(trt, name)()


def test_with_and_del(logger):
    with trt.Builder(logger) as builder, builder.create_network(STRONG) as network, builder.create_builder_config() as config:
        assert trt.OnnxParser(network, logger).parse(model())
        config.set_option("timing", "0")
        plan = builder.build_serialized_network(network, config)
    builder.__del__()
    assert network.num_layers == len(network) > 0 and builder.num_DLA_cores == 0  # nothing ends before nobody has it
    with trt.Runtime(logger) as runtime, runtime.deserialize_cuda_engine(plan) as engine, engine.create_execution_context() as context:
        assert trt.infer(context, {"x": np.ones((3, 3), np.float32)})["y"].tolist() == [[6, 9]] * 3


def test_children_keep_their_parents(logger):
    def context():
        return trt.Runtime(logger).deserialize_cuda_engine(plan_of(logger)).create_execution_context()

    def tensor():
        network = trt.Builder(trt.Logger(trt.Logger.ERROR)).create_network(STRONG)
        x = network.add_input("x", trt.float32, (2, 3))
        return network.add_identity(x).get_output(0)

    ran, made = context(), tensor()
    gc.collect()
    assert trt.infer(ran, {"x": np.ones((3, 3), np.float32)})["y"].tolist() == [[6, 9]] * 3
    assert ran.engine.name is not None and tuple(made.shape) == (2, 3) and made.dtype == trt.float32


def test_parents_end_with_their_last_child(logger):
    runtime = trt.Runtime(logger)
    engine = runtime.deserialize_cuda_engine(plan_of(logger))
    ends = [weakref.finalize(each, lambda: None) for each in ()]
    before = sys.getrefcount(runtime)
    context = engine.create_execution_context()
    inspector = engine.create_engine_inspector()
    inspector.execution_context = context
    assert inspector.execution_context is context
    with pytest.raises(ValueError, match="another engine"):
        inspector.execution_context = trt.Runtime(logger).deserialize_cuda_engine(plan_of(logger)).create_execution_context()
    inspector.execution_context = None
    del engine, context, inspector
    gc.collect()
    assert sys.getrefcount(runtime) == before - 1 and ends == []


def test_arrays_live_as_long_as_the_network(logger):
    builder = trt.Builder(logger)
    network, config = builder.create_network(STRONG), builder.create_builder_config()
    config.set_option("timing", "0")
    x = network.add_input("x", trt.float32, (1, 2, 3, 3))
    layer = network.add_convolution_nd(x, 2, (1, 1), np.ones(4, np.float32))
    layer.kernel = np.array([1, 2, 3, 4], np.float32)
    network.mark_output(layer.get_output(0))
    name = layer.get_output(0).name
    del layer, x
    gc.collect()
    junk = [np.full(4, 7, np.float32) for _ in range(100)]
    plan = builder.build_serialized_network(network, config)
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    got = trt.infer(context, {"x": np.ones((1, 2, 3, 3), np.float32)})[name]
    assert got[0, :, 0, 0].tolist() == [3, 7] and junk


# Values.

def test_dims_are_sequences():
    dims = trt.Dims([2, 3, 4])
    assert list(dims) == [2, 3, 4] and len(dims) == 3 and dims[-1] == 4 and dims[1:] == (3, 4) and trt.Dims.MAX_DIMS == 8
    dims[0], dims[1:] = 5, (6, 7)
    assert dims == (5, 6, 7) == tuple(dims) and dims == [5, 6, 7] and dims != (5, 6) and str(dims) == "(5, 6, 7)"
    assert np.zeros(dims).shape == (5, 6, 7) and np.prod(dims) == 210 and hash(dims) == hash((5, 6, 7)) and trt.volume(dims) == 210
    assert dims + (1,) == (5, 6, 7, 1) and (1,) + dims == (1, 5, 6, 7)
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="of 3 dimensions"):
            dims[wrong]
    with pytest.raises(ValueError, match="2 dimensions are replaced by 1"):
        dims[:2] = (1,)
    for wrong in (range(9), "12", (1.5,), None):
        with pytest.raises(TypeError):
            trt.Dims(wrong)
    assert len(trt.Dims()) == 0 and trt.Dims(np.array([1, 2])) == (1, 2) and trt.Dims(trt.Dims2(1, 2)) == (1, 2)


def test_dims_of_a_rank():
    assert trt.Dims2(1, 2) == (1, 2) and trt.Dims3((1, 2, 3)) == (1, 2, 3) and trt.Dims4(1, 2, 3, 4)[3] == 4 and trt.Dims4() == (0,) * 4
    hw = trt.DimsHW(5, 6)
    assert (hw.h, hw.w) == (5, 6) and isinstance(hw, trt.Dims2) and isinstance(hw, trt.Dims)
    hw.w = 9
    assert hw == (5, 9) and trt.DimsHW(h=1, w=2) == trt.DimsHW([1, 2])
    with pytest.raises(ValueError, match="3 dimensions are wanted, 2 given"):
        trt.Dims3((1, 2))


def test_an_unknown_rank(logger):
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan_of(logger))
    shape = engine.get_tensor_shape("nothing of this name")
    with pytest.raises(ValueError, match="rank"):
        len(shape)
    assert "not known" in str(shape) and shape != ()


def test_permutations_are_sequences():
    order = trt.Permutation([2, 0, 1])
    assert len(order) == 8 and list(order)[:3] == [2, 0, 1] and order == [2, 0, 1, 0, 0, 0, 0, 0]
    order[1] = 5
    assert order[1] == 5 and list(trt.Permutation()) == [0] * 8
    with pytest.raises(IndexError):
        order[8]


def test_weights():
    array = np.arange(6, dtype=np.float16)
    weights = trt.Weights(array)
    assert (weights.dtype, weights.size, len(weights), weights.nbytes) == (trt.float16, 6, 6, 12)
    view = weights.numpy()
    array[0] = 9
    del weights
    gc.collect()
    assert view.dtype == np.float16 and view[0] == 9 and not view.flags.writeable
    at = trt.Weights(trt.bfloat16, array.ctypes.data, 3)
    assert (at.dtype, at.size, at.nbytes) == (trt.bfloat16, 3, 6) and at.numpy().dtype.name == "bfloat16"
    empty = trt.Weights()
    assert (empty.dtype, empty.size) == (trt.float32, 0) and trt.Weights(trt.int8).dtype == trt.int8
    packed = trt.Weights(trt.int4, array.ctypes.data, 5)
    assert packed.nbytes == 3 and packed.numpy().shape == (3,)
    for wrong in (np.zeros(2, np.float64), np.zeros((4, 4), np.float32).T[1:], "text", 3):
        with pytest.raises(TypeError):
            trt.Weights(wrong)
    with pytest.raises(ValueError, match="negative"):
        trt.Weights(trt.int8, 0, -1)


def test_bfloat16_arrays_are_weights(logger):
    import ml_dtypes
    network = trt.Builder(logger).create_network(STRONG)
    array = np.array([1.5, -2], ml_dtypes.bfloat16)
    layer = network.add_constant((2,), array)
    assert layer.get_output(0).dtype == trt.bfloat16 and layer.weights.numpy().tolist() == [1.5, -2]


def test_host_memory_is_a_buffer(logger):
    plan = plan_of(logger)
    view = memoryview(plan)
    assert view.readonly and view.nbytes == plan.nbytes == len(plan) and bytes(view) == bytes(plan) and plan.dtype == trt.int8
    runtime = trt.Runtime(logger)
    for form in (plan, bytes(plan), bytearray(plan), view, np.frombuffer(plan, np.uint8)):
        assert runtime.deserialize_cuda_engine(form).num_io_tensors == 2
    with pytest.raises(TypeError):
        runtime.deserialize_cuda_engine("a text")
    assert runtime.deserialize_cuda_engine(b"no plan") is None


def test_enumerators_are_numbers_with_names():
    assert str(trt.DataType.FLOAT) == "DataType.FLOAT" and trt.DataType.FLOAT.name == "FLOAT" and int(trt.DataType.HALF) == 1
    assert trt.DataType.FLOAT.itemsize == 4 and trt.DataType.INT4.itemsize == 1 and trt.bool is trt.DataType.BOOL
    assert 1 << trt.BuilderFlag.REFIT == 16 and trt.BuilderFlag.WEIGHTLESS == trt.BuilderFlag.STRIP_PLAN
    assert trt.DataType(2) is trt.int8 and trt.LayerType.KV_CACHE_UPDATE == 54


# Errors.

def test_wrong_arguments_raise(logger):
    builder = trt.Builder(logger)
    network, config = builder.create_network(STRONG), builder.create_builder_config()
    x = network.add_input("x", trt.float32, (2, 3))
    for call in (lambda: network.add_activation(x, 3.5), lambda: network.add_activation(None, trt.ActivationType.RELU),
                 lambda: network.add_concatenation([x, 1]), lambda: network.mark_output("x"), lambda: config.set_flag("FP16"),
                 lambda: network.add_shuffle(x, x), lambda: network.add_input("y", np.float32, (1,)),
                 lambda: builder.build_serialized_network(network, None), lambda: builder.build_serialized_network(network, config, 1)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(IndexError, match="layer 5 of 0"):
        network[5]
    assert network.get_layer(5) is None and network.get_input(3) is None
    profile = builder.create_optimization_profile()
    with pytest.raises(ValueError, match="min <= opt <= max"):
        profile.set_shape("x", (4,), (2,), (1,))
    for name, value in (("builder_optimization_level", "3"), ("l2_limit_for_tiling", 1.5)):
        with pytest.raises(TypeError):
            setattr(config, name, value)
    with pytest.raises(ValueError, match="l2_limit_for_tiling"):
        config.l2_limit_for_tiling = -5
    with pytest.raises(ValueError, match="max_threads"):
        builder.max_threads = -1


# The lock of the interpreter.

def slow_network(logger):
    """Products that take a while, to be timed by the build."""
    builder = trt.Builder(logger)
    network, config = builder.create_network(STRONG), builder.create_builder_config()
    x = network.add_input("x", trt.float32, (512, 512))
    for size in range(12):
        w = network.add_constant((512, 512), np.full((512, 512), size / 1e4, np.float32)).get_output(0)
        x = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, w, trt.MatrixOperation.NONE).get_output(0)
    network.mark_output(x)
    return builder, network, config


def test_other_threads_run_while_the_library_works(logger):
    """A thread that calls the library lets this one run in the meantime."""
    builder, network, config = slow_network(logger)
    made, spans = {}, {}

    def timed(what, call):
        start = time.perf_counter()
        made[what] = call()
        spans[what] = (start, time.perf_counter())

    def work():
        timed("build", lambda: builder.build_serialized_network(network, config))
        timed("load", lambda: trt.Runtime(logger).deserialize_cuda_engine(made["build"]))
        context = made["load"].create_execution_context()
        feeds = {"x": np.ones((512, 512), np.float32)}
        timed("run", lambda: [trt.infer(context, feeds) for _ in range(20)])

    thread, seen = threading.Thread(target=work), []
    thread.start()
    while thread.is_alive():
        seen.append(time.perf_counter())
        time.sleep(0.0005)
    thread.join()
    for what, (start, end) in spans.items():
        inside = sum(start < moment < end for moment in seen)
        print(f"{what}: {1e3 * (end - start):.1f} ms, seen {inside} times")
        assert made[what] is not None and (inside >= 2 or end - start < 0.02)
    assert {"build", "load", "run"} == set(spans) and spans["build"][1] - spans["build"][0] > 0.02


def test_programs_that_walk_over_layers(logger):
    """Kinds of layers, though some have a `type` of their own, and classes that a program gives them."""
    network = trt.Builder(logger).create_network(0)
    x = network.add_input("x", trt.float32, (1, 2, 8, 8))
    relu = network.add_activation(x, trt.ActivationType.RELU)
    pool = network.add_pooling_nd(relu.get_output(0), trt.PoolingType.AVERAGE, (2, 2))
    network.add_convolution_nd(pool.get_output(0), 1, (1, 1), np.ones(2, np.float32))
    kinds = [trt.LayerType.ACTIVATION, trt.LayerType.POOLING, trt.LayerType.CONVOLUTION]
    assert [network.get_layer(i).type for i in range(network.num_layers)] == kinds == [layer.type for layer in network]
    assert all(isinstance(layer.type, trt.LayerType) for layer in network)
    for layer, kind in zip(network, (trt.IActivationLayer, trt.IPoolingLayer, trt.IConvolutionLayer)):
        layer.__class__ = kind
    assert relu.type == trt.ActivationType.RELU and pool.type == trt.PoolingType.AVERAGE
    first, second, third = (network[i] for i in range(3))
    first.__class__, second.__class__ = trt.IActivationLayer, trt.IPoolingLayer
    first.type, second.type = trt.ActivationType.TANH, trt.PoolingType.MAX
    assert (relu.type, pool.type) == (trt.ActivationType.TANH, trt.PoolingType.MAX) and third.num_output_maps == 1

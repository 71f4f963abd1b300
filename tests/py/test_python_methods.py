"""What the methods of the package's classes do, one after the other: builder, network, configuration, engine, context, timing cache. The
layers' are in test_python_layers.py, parsers and refitters in test_python_parsers.py, properties in test_python_members.py."""
import json

import numpy as np
import pytest
import wootz as trt
from test_python_classes import STRONG, model
from wootz import _levels


class Log(trt.ILogger):
    def __init__(self):
        super().__init__()
        self.lines = []

    def log(self, severity, text):
        self.lines.append(text)


@pytest.fixture
def logger():
    return trt.Logger(trt.Logger.INTERNAL_ERROR)


def dynamic(logger):
    """(builder, network, config) of y = x @ w with 1 to 4 rows, and a profile."""
    builder = trt.Builder(logger)
    network, config = builder.create_network(0), builder.create_builder_config()
    config.set_option("timing", "0")
    assert trt.OnnxParser(network, logger).parse(model("n"))
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 3), (2, 3), (4, 3))
    assert config.add_optimization_profile(profile) == 0 and config.num_optimization_profiles == 1
    return builder, network, config


def dynamic_engine(logger, flag=None):
    builder, network, config = dynamic(logger)
    if flag is not None:
        config.set_flag(flag)
    return trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))


# Builder.

def test_builder(logger):
    builder, network, config = dynamic(logger)
    assert builder.is_network_supported(network, config) and builder.logger is logger
    text = []
    plan = builder.build_serialized_network(network, config, text)
    assert plan.nbytes > 256 and len(text) == 1
    engine = builder.build_engine_with_config(network, config)
    assert [*engine] == ["x", "y"] and bytes(engine.serialize())[:8] == bytes(plan)[:8]
    assert builder.max_DLA_batch_size == 0 or builder.num_DLA_cores == 0
    assert {builder.platform_has_fast_fp16, builder.platform_has_fast_int8, builder.platform_has_tf32} <= {True, False}
    assert builder.get_plugin_registry().all_creators is not None
    builder.max_threads = 2
    builder.reset()
    assert builder.max_threads >= 1


# Network and tensors.

def test_network_marks():
    logger = Log()
    builder = trt.Builder(logger)
    network = builder.create_network(STRONG)
    assert network.flags == STRONG and network.get_flag(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    assert not network.has_implicit_batch_dimension
    x = network.add_input("x", trt.float32, (2, 3))
    a, b = (network.add_unary(x, op).get_output(0) for op in (trt.UnaryOperation.EXP, trt.UnaryOperation.ABS))
    network.mark_output(a)
    network.mark_output(b)
    assert network.num_outputs == 2 and network.get_output(1) is b and b.is_network_output and x.is_network_input
    network.unmark_output(b)
    assert network.num_outputs == 1 and not b.is_network_output and b.is_execution_tensor
    assert network.mark_debug(b) and network.is_debug_tensor(b) and network.unmark_debug(b) and not network.is_debug_tensor(b)
    assert network.mark_unfused_tensors_as_debug_tensors() and network.unmark_unfused_tensors_as_debug_tensors()
    shape = network.add_shape(x).get_output(0)
    assert network.mark_output_for_shapes(shape) and shape.is_shape_tensor and network.unmark_output_for_shapes(shape)
    x.set_dimension_name(0, "rows")
    assert x.get_dimension_name(0) == "rows" and not x.get_dimension_name(1)
    layers = network.num_layers
    network.remove_tensor(network.add_identity(x).get_output(0))
    assert network.num_layers <= layers + 1 and network.num_inputs == 1 and network.get_input(0) is x


def test_refittable_weights(logger):
    network = trt.Builder(logger).create_network(STRONG)
    values = np.ones(6, np.float32)
    network.add_constant((2, 3), values)
    assert network.set_weights_name(values, "w") and not network.set_weights_name(np.zeros(6, np.float32), "v")
    assert network.mark_weights_refittable("w") and network.are_weights_marked_refittable("w")
    assert network.unmark_weights_refittable("w") and not network.are_weights_marked_refittable("w")


def test_types_of_layers(logger):
    network = trt.Builder(logger).create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    layer = network.add_identity(x)
    assert not layer.precision_is_set and layer.type == trt.LayerType.IDENTITY and layer.get_output_type(0) == trt.float32
    layer.precision = trt.float16
    assert layer.precision_is_set and layer.precision == trt.float16
    layer.reset_precision()
    layer.set_output_type(0, trt.float16)
    assert not layer.precision_is_set and layer.output_type_is_set(0) and layer.get_output_type(0) == trt.float16
    layer.reset_output_type(0)
    assert not layer.output_type_is_set(0)
    other = network.add_input("other", trt.float32, (4,))
    layer.set_input(0, other)
    assert layer.get_input(0) is other and layer.get_output(0).shape == (4,) and layer.get_output(1) is None
    assert x.dynamic_range is None and x.set_dynamic_range(-1, 2) and x.dynamic_range == (-1, 2)
    x.reset_dynamic_range()
    assert x.dynamic_range is None
    x.dtype = trt.float16
    assert x.dtype == trt.float16


# Configuration.

def test_config(logger):
    builder, network, config = dynamic(logger)
    layer = network.get_layer(0)
    flag, feature = trt.BuilderFlag.DEBUG, trt.PreviewFeature.PROFILE_SHARING_0806
    config.set_flag(flag)
    assert config.get_flag(flag) and config.flags & 1 << int(flag)
    config.clear_flag(flag)
    assert not config.get_flag(flag)
    config.set_preview_feature(feature, True)
    assert config.get_preview_feature(feature)
    assert config.set_tactic_sources(1 << int(trt.TacticSource.JIT_CONVOLUTIONS)) and config.get_tactic_sources() == 16
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 20)
    assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 20
    config.set_device_type(layer, trt.DeviceType.GPU)
    assert config.is_device_type_set(layer) and config.get_device_type(layer) == trt.DeviceType.GPU and not config.can_run_on_DLA(layer)
    config.reset_device_type(layer)
    assert not config.is_device_type_set(layer)
    quantization = trt.QuantizationFlag.CALIBRATE_BEFORE_FUSION
    config.set_quantization_flag(quantization)
    assert config.get_quantization_flag(quantization) and config.quantization_flags == 1
    config.clear_quantization_flag(quantization)
    assert not config.get_quantization_flag(quantization)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (2, 3), (2, 3), (2, 3))
    assert config.set_calibration_profile(profile) and config.get_calibration_profile() is profile
    config.reset()
    assert config.num_optimization_profiles == 0 and config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) != 1 << 20


def test_profiles(logger):
    profile = trt.Builder(logger).create_optimization_profile()
    assert profile.get_shape("x") == [] and profile.get_shape_input("s") == []
    profile.set_shape("x", (1, 2), trt.Dims2(2, 2), [3, 2])
    profile.set_shape_input("s", [1], [2], [4])
    assert profile.get_shape("x") == [(1, 2), (2, 2), (3, 2)] and profile.get_shape_input("s") == [[1], [2], [4]]
    assert bool(profile) and isinstance(profile.get_shape("x")[0], trt.Dims)


def test_timing_caches(logger):
    builder, network, config = dynamic(logger)
    config.set_option("timing", None)
    config.set_flag(trt.BuilderFlag.EDITABLE_TIMING_CACHE)
    cache = config.create_timing_cache(b"")
    assert config.set_timing_cache(cache, False) and config.get_timing_cache() is cache
    assert builder.build_serialized_network(network, config) is not None
    keys = cache.queryKeys()
    assert keys and all(trt.TimingCacheKey.parse(str(key)) == key for key in keys) and len(set(keys)) == len(keys)
    value = cache.query(keys[0])
    assert value.tacticHash != 0 and value.timingMSec >= 0
    assert cache.update(keys[0], trt.TimingCacheValue(value.tacticHash, 0.25)) and not cache.update(keys[0], trt.TimingCacheValue(1, 0.25))
    saved = cache.serialize()
    other = config.create_timing_cache(memoryview(saved))
    assert other.reset() and other.combine(cache, False) and bytes(other.serialize())
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        trt.TimingCacheKey.parse("0x12")


# Runtime and engine.

def test_runtime(logger):
    runtime = trt.Runtime(logger)
    assert runtime.logger is logger and runtime.num_DLA_cores == 0 and runtime.get_plugin_registry().all_creators is not None
    assert runtime.load_runtime("/no/such/library.so") is None
    runtime.tempfile_control_flags = 1 << int(trt.TempfileControlFlag.ALLOW_TEMPORARY_FILES)
    assert runtime.tempfile_control_flags == 2


def test_engine(logger):
    engine = dynamic_engine(logger)
    assert engine.num_io_tensors == len(engine) == 2 and engine[0] == engine.get_tensor_name(0) == "x" and engine[-1] == "y"
    with pytest.raises(IndexError, match="tensor 2 of 2"):
        engine[2]
    assert engine.get_tensor_mode("x") == trt.TensorIOMode.INPUT and engine.get_tensor_dtype("y") == trt.float32
    assert engine.get_tensor_shape("x") == (-1, 3) and engine.get_tensor_location("x") == trt.TensorLocation.DEVICE
    assert engine.get_tensor_profile_shape("x", 0) == [(1, 3), (2, 3), (4, 3)] and engine.get_tensor_profile_values("x", 0) == engine.get_tensor_profile_values(0, "x") == []
    for more in ((), (0,)):
        assert engine.get_tensor_format("x", *more) == trt.TensorFormat.LINEAR and engine.get_tensor_format_desc("x", *more)
        assert engine.get_tensor_vectorized_dim("x", *more) == engine.get_tensor_bytes_per_component("x", *more) == -1
        assert engine.get_tensor_components_per_element("x", *more) == 1
    assert not engine.is_shape_inference_io("x") and not engine.is_debug_tensor("y") and engine.get_aliased_input_tensor("y") in (None, "")
    assert engine.engine_capability == trt.EngineCapability.STANDARD and not engine.refittable and not engine.has_implicit_batch_dimension
    assert engine.hardware_compatibility_level == trt.HardwareCompatibilityLevel.NONE and engine.num_aux_streams == 0
    assert engine.profiling_verbosity == trt.ProfilingVerbosity.LAYER_NAMES_ONLY and engine.tactic_sources >= 0
    assert engine.num_layers > 0 and engine.num_optimization_profiles == 1 and engine.get_engine_stat() >= 24
    assert engine.get_engine_stat(trt.EngineStat.STRIPPED_WEIGHTS_SIZE) == -1  # of a plan that is not stripped
    assert engine.device_memory_size == engine.device_memory_size_v2 >= 0
    assert engine.get_device_memory_size_for_profile(0) == engine.get_device_memory_size_for_profile_v2(0)


def test_weight_streaming(logger):
    builder = trt.Builder(logger)
    network, config = builder.create_network(STRONG), builder.create_builder_config()
    config.set_option("timing", "0")
    config.set_flag(trt.BuilderFlag.WEIGHT_STREAMING)
    x = network.add_input("x", trt.float32, (8, 256))
    for _ in range(2):
        w = network.add_constant((256, 256), np.ones(256 * 256, np.float32)).get_output(0)
        x = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, w, trt.MatrixOperation.NONE).get_output(0)
    network.mark_output(x)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    size = engine.streamable_weights_size
    assert size > 0 and engine.get_weight_streaming_automatic_budget() >= 0 and engine.weight_streaming_scratch_memory_size >= 0
    assert engine.minimum_weight_streaming_budget <= size
    engine.weight_streaming_budget_v2 = 0
    assert engine.weight_streaming_budget_v2 == 0
    with pytest.raises(ValueError, match="weight streaming budget"):
        engine.weight_streaming_budget_v2 = -7


def test_serialization(logger):
    engine = dynamic_engine(logger, trt.BuilderFlag.REFIT)
    config = engine.create_serialization_config()
    flag = trt.SerializationFlag.EXCLUDE_WEIGHTS
    assert config.set_flag(flag) and config.get_flag(flag) and config.flags == 1
    stripped = engine.serialize_with_config(config)
    assert config.clear_flag(flag) and not config.get_flag(flag)
    assert stripped.nbytes != engine.serialize_with_config(config).nbytes
    with pytest.raises(ValueError, match="serialization flags"):
        config.flags = 1 << 20


def test_inspector(logger):
    engine = dynamic_engine(logger)
    inspector = engine.create_engine_inspector()
    assert json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))["Layers"]
    assert inspector.get_layer_information(0, trt.LayerInformationFormat.ONELINE)


# Context.

def test_context_configurations(logger):
    engine = dynamic_engine(logger)
    strategy = trt.ExecutionContextAllocationStrategy
    config = engine.create_runtime_config()
    assert config.get_execution_context_allocation_strategy() == strategy.STATIC
    config.set_execution_context_allocation_strategy(strategy.ON_PROFILE_CHANGE)
    made = engine.create_execution_context(runtime_config=config)
    assert made.get_runtime_config().get_execution_context_allocation_strategy() == strategy.ON_PROFILE_CHANGE
    x = np.ones((2, 3), np.float32)
    for context in (engine.create_execution_context(), engine.create_execution_context(strategy.STATIC), made,
                    engine.create_execution_context(runtime_config=None)):
        assert trt.infer(context, {"x": x})["y"].tolist() == [[6, 9]] * 2
    bare = engine.create_execution_context_without_device_memory()
    memory = np.zeros(max(engine.device_memory_size_v2, 1) + 4096, np.uint8)
    at = memory.ctypes.data + -memory.ctypes.data % 256
    bare.set_device_memory(at, engine.device_memory_size_v2)
    assert bare.device_memory == at and trt.infer(bare, {"x": x})["y"].tolist() == [[6, 9]] * 2
    bare.device_memory = at
    assert bare.update_device_memory_size_for_shapes() >= 0


def test_context(logger):
    context = dynamic_engine(logger).create_execution_context()
    assert not context.all_binding_shapes_specified and not context.all_shape_inputs_specified and context.infer_shapes() == ["x"]
    assert not context.set_input_shape("x", (9, 3)) and context.set_input_shape("x", [2, 3]) and context.set_input_shape("x", trt.Dims2(2, 3))
    assert context.all_binding_shapes_specified and context.all_shape_inputs_specified and context.infer_shapes() == []
    assert context.get_tensor_shape("y") == (2, 2) and context.get_tensor_strides("x") == (3, 1) and context.get_max_output_size("y") >= 16
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 2), np.float32)
    for name, array in (("x", x), ("y", y)):
        assert context.set_tensor_address(name, array.ctypes.data) and context.get_tensor_address(name) == array.ctypes.data
    assert context.execute_async_v3(0) and y.tolist() == [[6, 9]] * 2
    y[:] = 0
    assert context.execute_async_v3(stream_handle=0) and context.execute_v2([x.ctypes.data, y.ctypes.data]) and y.tolist() == [[6, 9]] * 2
    y[:] = 0
    assert context.execute_async_v2(bindings=[x.ctypes.data, y.ctypes.data]) and y.tolist() == [[6, 9]] * 2
    with pytest.raises(ValueError, match="1 addresses given"):
        context.execute_v2([x.ctypes.data])
    assert context.active_optimization_profile == 0 and context.set_optimization_profile_async(0, 0)
    assert not context.set_optimization_profile_async(3, 0)
    context.set_aux_streams([])
    assert context.set_input_consumed_event(0) and context.get_input_consumed_event() == 0
    assert not context.set_tensor_debug_state("y", True) and not context.get_debug_state("y")
    assert context.set_all_tensors_debug_state(False) in (True, False) and not context.unfused_tensors_debug_state
    assert not context.report_to_profiler() and context.set_communicator(None) in (True, False)


# The module, and level 11.

def test_functions(logger):
    assert trt.get_nv_onnx_parser_version() > 0 and trt.init_libnvinfer_plugins(logger, "") and trt.init_libnvinfer_plugins(None, namespace="")
    assert trt.get_plugin_registry().all_creators and trt.get_builder_plugin_registry(trt.EngineCapability.STANDARD).all_creators
    assert trt.volume((2, 3, 4)) == 24 and trt.nptype(trt.float16) == np.float16


def test_attention_at_level_11():
    eleven = _levels.package(11)
    network = eleven.Builder(eleven.Logger(eleven.Logger.ERROR)).create_network(0)
    q = network.add_input("q", eleven.float32, (1, 2, 5, 8))
    layer = network.add_attention_v2(q, q, q, eleven.AttentionNormalizationOp.SOFTMAX, eleven.CausalMaskKind.UPPER_LEFT)
    assert layer.causal_kind == eleven.CausalMaskKind.UPPER_LEFT and layer.query_lengths is None
    layer.query_lengths = None
    with pytest.raises(TypeError):
        network.add_quantize(q, q)
    routes = json.loads(eleven.Builder(eleven.Logger(eleven.Logger.ERROR)).create_builder_config().all_build_routes)
    assert "" in routes and len(routes) > 5

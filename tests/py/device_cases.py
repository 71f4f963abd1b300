"""Python and the command line on an engine's device. Run by test_device.py in a process of its own, with the backends to try in
WOOTZ_CASES ("cpu reference cuda"), on a GPU or on the emulator."""
import gc
import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
import wootz
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"
BACKENDS = os.environ.get("WOOTZ_CASES", "cpu reference").split()
SEED = int.from_bytes(os.urandom(4), "little")
COUNTS = [0, 0, 4, 0, 1, 20, 7, 0, 0, 24, 3]


@pytest.fixture(autouse=True)
def seed():
    print("seed", SEED)


def call(*command, status=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def save(path, nodes, inputs, outputs, constants):
    graph = helper.make_graph(nodes, "device", inputs, outputs, [numpy_helper.from_array(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """y [N, 5] = softmax(relu(x @ w + b)), of any N up to 8."""
    rng = np.random.default_rng(SEED)
    constants = {"w": rng.standard_normal((6, 5)).astype(np.float32), "b": rng.standard_normal(5).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"]),
             helper.make_node("Relu", ["s"], ["r"]), helper.make_node("Softmax", ["r"], ["y"], axis=1)]
    path = save(tmp_path_factory.mktemp("dense") / "dense.onnx", nodes,
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 5])], constants)

    def want(x):
        r = np.maximum(x @ constants["w"] + constants["b"], 0)
        e = np.exp(r - r.max(axis=1, keepdims=True))
        return {"r": r, "y": e / e.sum(axis=1, keepdims=True)}

    return path, want


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    """kept [n, 3]: which of 24 boxes, far from each other, score above a half; rows [n, 5]: those boxes and their scores."""
    constants = {"most": np.array([100], np.int64), "iou": np.array([0.5], np.float32), "least": np.array([0.5], np.float32),
                 "two": np.array([2], np.int64), "three": np.array([3], np.int64), "one": np.array([1], np.int64),
                 "zero": np.array([0], np.int64)}
    nodes = [helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["kept"]),
             helper.make_node("Slice", ["kept", "two", "three", "one"], ["column"]),
             helper.make_node("Squeeze", ["column", "one"], ["index"]), helper.make_node("Squeeze", ["boxes", "zero"], ["flat"]),
             helper.make_node("Gather", ["flat", "index"], ["chosen"], axis=0),
             helper.make_node("Squeeze", ["scores", "zero"], ["score_row"]),
             helper.make_node("Transpose", ["score_row"], ["score_column"], perm=[1, 0]),
             helper.make_node("Gather", ["score_column", "index"], ["best"], axis=0),
             helper.make_node("Concat", ["chosen", "best"], ["rows"], axis=1)]
    return save(tmp_path_factory.mktemp("detector") / "detector.onnx", nodes,
                [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, 24, 4]),
                 helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 1, 24])],
                [helper.make_tensor_value_info("kept", TensorProto.INT64, ["n", 3]),
                 helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 5])], constants)


def detection(rng, count):
    """Inputs of the detector with so many boxes to be found, and what is to be found."""
    corner = np.arange(24, dtype=np.float32)[:, None] * 10 + rng.random((24, 2), np.float32)
    boxes = np.concatenate([corner, corner + 3 + rng.random((24, 2), np.float32)], axis=1).astype(np.float32)
    scores = rng.random(24).astype(np.float32) * 0.4
    scores[rng.permutation(24)[:count]] += 0.55
    order = np.argsort(-scores, kind="stable")[:count]
    rows = np.concatenate([boxes[order], scores[order, None]], axis=1)
    kept = np.stack([np.zeros(count, np.int64), np.zeros(count, np.int64), order.astype(np.int64)], axis=1)
    return {"boxes": boxes[None], "scores": scores[None, None]}, {"kept": kept, "rows": rows}


def plan_of(model, backend, shapes=None, shape_values=None, marked=(), flags=()):
    """A plan of a model, as TensorRT's scripts make it. `marked`: debug tensors."""
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    assert wootz.OnnxParser(network, logger).parse_from_file(str(model))
    for i in range(network.num_layers):
        if (tensor := network.get_layer(i).get_output(0)).name in marked:
            network.mark_debug(tensor)
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    for key, value in {"backend": backend, "timing": "0"}.items():
        config.set_option(key, value)
    for name, ranges in (shapes or {}).items():
        profile.set_shape(name, *ranges)
    for name, ranges in (shape_values or {}).items():
        profile.set_shape_input(name, *ranges)
    if shapes or shape_values:
        config.add_optimization_profile(profile)
    for flag in flags:
        config.set_flag(flag)
    return builder.build_serialized_network(network, config)


def load(model, backend, **options):
    plan = plan_of(model, backend, **options)
    engine = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan)
    assert engine is not None and engine.on_device == (backend == "cuda")
    return engine


SHAPES = {"x": ((1, 6), (4, 6), (8, 6))}
TOLERANCE = {"rtol": 1e-5, "atol": 5e-3}  # products of 6 numbers, in FP32 or TF32


@pytest.mark.parametrize("backend", BACKENDS)
def test_infer(dense, backend):
    model, want = dense
    context = load(model, backend, shapes=SHAPES).create_execution_context()
    rng = np.random.default_rng(SEED)
    for rows in (4, 1, 8, 8, 3):
        x = rng.standard_normal((rows, 6)).astype(np.float32)
        np.testing.assert_allclose(wootz.infer(context, {"x": x})["y"], want(x)["y"], **TOLERANCE)
        strided = np.asfortranarray(x)
        np.testing.assert_allclose(wootz.infer(context, {"x": strided})["y"], want(x)["y"], **TOLERANCE)
    with pytest.raises(ValueError, match="'x'"):
        wootz.infer(context, {"x": np.ones((9, 6), np.float32)})
    x = np.ones((2, 6), np.float32)
    np.testing.assert_allclose(wootz.infer(context, {"x": x})["y"], want(x)["y"], **TOLERANCE)
    assert context.get_tensor_address("x") == 0 and context.get_tensor_address("y") == 0, "of arrays that are gone"
    assert not context.execute_async_v3(0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_detector_that_finds_nothing_and_then_something(detector, backend):
    context = load(detector, backend).create_execution_context()
    rng = np.random.default_rng(SEED)
    for count in COUNTS:
        feeds, want = detection(rng, count)
        have = wootz.infer(context, feeds)
        for name, value in want.items():
            assert have[name].shape == value.shape and have[name].dtype == value.dtype, (count, name)
            np.testing.assert_array_equal(have[name], value, err_msg=f"{count} {name}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_taps_copy_from_the_device(dense, detector, backend):
    model, want = dense
    context = load(model, backend, shapes=SHAPES).create_execution_context()
    x = np.random.default_rng(SEED).standard_normal((3, 6)).astype(np.float32)
    values = wootz.tap(context, {"x": x}, ["x", "y"])
    np.testing.assert_allclose(values["y"], want(x)["y"], **TOLERANCE)
    np.testing.assert_array_equal(values["x"], x)
    every = wootz.tap(context, {"x": x})
    for name in {"r", "y"} & set(every):  # the other may be inside a fused region
        np.testing.assert_allclose(every[name], want(x)[name], **TOLERANCE, err_msg=name)
    assert "y" in every
    np.testing.assert_allclose(wootz.infer(context, {"x": x})["y"], want(x)["y"], **TOLERANCE)
    context = load(detector, backend).create_execution_context()
    for count in (0, 5, 0):
        feeds, want_found = detection(np.random.default_rng(SEED), count)
        np.testing.assert_array_equal(wootz.tap(context, feeds, ["kept"])["kept"], want_found["kept"])


class Listener(wootz.IDebugListener):
    def __init__(self, engine):
        wootz.IDebugListener.__init__(self)
        self.engine, self.values = engine, {}

    def process_debug_tensor(self, addr, location, type, shape, name, stream):
        assert location == wootz.TensorLocation.DEVICE
        self.values[name] = wootz.read_memory(self.engine, addr, wootz.nptype(type), shape, stream)
        return True


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_debug_listener_in_python(dense, backend):
    model, want = dense
    engine = load(model, backend, shapes=SHAPES, marked=["r"])
    assert engine.is_debug_tensor("r")
    context, listener = engine.create_execution_context(), Listener(engine)
    x = np.random.default_rng(SEED).standard_normal((3, 6)).astype(np.float32)
    assert context.set_debug_listener(listener) and context.get_debug_listener() is listener
    wootz.infer(context, {"x": x})
    assert not listener.values
    assert context.set_tensor_debug_state("r", True) and context.get_debug_state("r")
    wootz.infer(context, {"x": x})
    np.testing.assert_allclose(listener.values["r"], want(x)["r"], **TOLERANCE)
    listener.values.clear()
    wootz.tap(context, {"x": x}, ["y"])  # has a listener of its own for as long as it takes
    assert context.get_debug_listener() is listener and not listener.values
    assert context.set_all_tensors_debug_state(False)
    wootz.infer(context, {"x": x})
    assert not listener.values
    with pytest.raises(ValueError):
        context.unfused_tensors_debug_state = True


class Allocator(wootz.IOutputAllocator):
    def __init__(self, engine):
        wootz.IOutputAllocator.__init__(self)
        self.engine, self.memory, self.shape = engine, None, None

    def reallocate_output_async(self, name, memory, size, alignment, stream):
        self.memory = wootz.DeviceMemory(self.engine, size)
        return self.memory.address

    def notify_shape(self, name, shape):
        self.shape = shape


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_output_allocator_in_python(detector, backend):
    engine = load(detector, backend)
    context = engine.create_execution_context()
    allocators = {name: Allocator(engine) for name in ("kept", "rows")}
    for name, allocator in allocators.items():
        assert context.set_output_allocator(name, allocator) and context.get_output_allocator(name) is allocator
    rng = np.random.default_rng(SEED)
    for count in COUNTS:
        feeds, want = detection(rng, count)
        memory = {name: wootz.to_device(engine, value) for name, value in feeds.items()}
        for name, value in memory.items():
            assert context.set_tensor_address(name, value)
        assert context.execute_async_v3(0)
        engine.synchronize()
        for name, allocator in allocators.items():
            assert allocator.shape == want[name].shape
            np.testing.assert_array_equal(allocator.memory.read(want[name].dtype, allocator.shape), want[name])
    # Memory whose size fits nothing in particular is not written to; an address that is a number is the caller's business.
    memory = wootz.DeviceMemory(engine, 24 * 3 * 8)
    assert context.set_output_allocator("kept", None) and context.set_tensor_address("kept", memory)
    with pytest.raises(ValueError, match="the size of 'kept' is data-dependent"):
        context.execute_async_v3(0)
    assert context.set_tensor_address("kept", memory.address) and context.execute_async_v3(0)
    np.testing.assert_array_equal(memory.read(np.int64, want["kept"].shape), want["kept"])
    assert context.set_output_allocator("kept", allocators["kept"])
    feeds, want = detection(rng, 2)
    np.testing.assert_array_equal(wootz.infer(context, feeds)["kept"], want["kept"])
    assert context.get_output_allocator("kept") is allocators["kept"], "infer() has its own and gives it back"


@pytest.mark.parametrize("backend", BACKENDS)
def test_device_memory_by_hand(dense, backend):
    model, want = dense
    engine = load(model, backend, shapes=SHAPES)
    context = engine.create_execution_context()
    values = np.random.default_rng(SEED).standard_normal((8, 6)).astype(np.float32)
    x, y = wootz.DeviceMemory(engine, values.nbytes), wootz.DeviceMemory(engine, 8 * 5 * 4)
    assert x.nbytes == values.nbytes and x.engine is engine and x.address != 0
    for rows in (8, 2, 5):
        part = values[-rows:]
        x.write(part)
        np.testing.assert_array_equal(x.read(np.float32, part.shape), part)
        assert context.set_input_shape("x", part.shape)
        assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
        assert context.execute_async_v3(0)
        engine.synchronize()
        np.testing.assert_allclose(y.read(np.float32, (rows, 5)), want(part)["y"], **TOLERANCE)
    assert context.execute_v2([x, y])
    np.testing.assert_allclose(y.read(np.float32, (5, 5)), want(values[-5:])["y"], **TOLERANCE)
    with pytest.raises(ValueError, match="1 addresses"):
        context.execute_v2([x])
    # Parts of it, and other memory of the device.
    z = wootz.DeviceMemory(engine, 64)
    z.write(np.arange(16, dtype=np.int32))
    z.write(np.array([77], np.int32), offset=8)
    x.write(z, offset=16)
    np.testing.assert_array_equal(x.read(np.int32, 4, offset=16), [0, 1, 77, 3])
    for wrong in (lambda: z.write(np.zeros(17, np.int32)), lambda: z.write(np.zeros(1, np.int32), offset=61),
                  lambda: z.read(np.int32, 17), lambda: z.read(np.int8, 1, offset=64), lambda: z.write(x)):
        with pytest.raises(ValueError, match="of device memory of 64 bytes"):
            wrong()
    empty = wootz.to_device(engine, np.zeros((0, 3), np.float32))
    assert empty.nbytes == 0 and empty.read(np.float32, (0, 3)).shape == (0, 3)
    if engine.on_device:
        with pytest.raises(RuntimeError):
            wootz.DeviceMemory(engine, 1 << 60)


@pytest.mark.parametrize("backend", BACKENDS)
def test_device_memory_lives_as_long_as_it_is_used(dense, backend):
    model, want = dense
    engine = load(model, backend, shapes=SHAPES)
    context = engine.create_execution_context()
    values = np.random.default_rng(SEED).standard_normal((4, 6)).astype(np.float32)
    assert context.set_input_shape("x", values.shape)
    context.set_tensor_address("x", wootz.to_device(engine, values))  # nobody else keeps it
    y = wootz.DeviceMemory(engine, 4 * 5 * 4)
    context.set_tensor_address("y", y)
    gc.collect()
    others = [wootz.to_device(engine, np.full((4, 6), np.nan, np.float32)) for _ in range(8)]
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(y.read(np.float32, (4, 5)), want(values)["y"], **TOLERANCE)
    with pytest.raises(RuntimeError, match="a context has this device memory as an address"):
        y.free()
    # Too little of it for the shape is told before anything is written.
    assert context.set_input_shape("x", (8, 6))
    with pytest.raises(ValueError, match="'x' has 192 bytes; its memory has 96"):
        context.execute_async_v3(0)
    assert context.set_tensor_address("y", None)
    assert context.get_tensor_address("y") == 0
    y.free()
    assert y.freed
    for use in (lambda: y.read(np.float32, 1), lambda: y.write(values), lambda: y.address, lambda: y.nbytes,
                lambda: context.set_tensor_address("y", y)):
        with pytest.raises(ValueError, match="was freed"):
            use()
    with wootz.DeviceMemory(engine, 16) as short:
        assert not short.freed
    assert short.freed
    # The engine stays for its memory, and the memory for its context.
    kept = others[0]
    del engine, context, others
    gc.collect()
    assert np.isnan(kept.read(np.float32, (4, 6))).all()


def test_memory_is_of_the_engines_device(dense):
    if not {"cpu", "cuda"} <= set(BACKENDS):
        pytest.skip("needs a CPU and a GPU engine")
    engines = [load(dense[0], backend, shapes=SHAPES) for backend in ("cpu", "cuda")]
    for one, other in (engines, engines[::-1]):
        context = one.create_execution_context()
        with pytest.raises(ValueError, match="another engine"):
            context.set_tensor_address("x", wootz.DeviceMemory(other, 96))


@pytest.mark.parametrize("backend", BACKENDS)
def test_shape_tensors_are_read_by_the_host(tmp_path, backend):
    model = save(tmp_path / "reshape.onnx",
                 [helper.make_node("Reshape", ["x", "shape"], ["t"]), helper.make_node("Relu", ["t"], ["y"])],
                 [helper.make_tensor_value_info("x", TensorProto.FLOAT, [12]),
                  helper.make_tensor_value_info("shape", TensorProto.INT64, [2])],
                 [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])], {})
    engine = load(model, backend, shape_values={"shape": ((1, 1), (3, 4), (12, 12))})
    context = engine.create_execution_context()
    x = np.random.default_rng(SEED).standard_normal(12).astype(np.float32)
    for shape in ((3, 4), (12, 1), (2, 6)):
        y = wootz.infer(context, {"x": x, "shape": np.array(shape, np.int64)})["y"]
        np.testing.assert_array_equal(y, np.maximum(x.reshape(shape), 0))
    if engine.on_device and engine.get_tensor_location("shape") == wootz.TensorLocation.HOST:
        with pytest.raises(ValueError, match="'shape' is read by the host"):
            context.set_tensor_address("shape", wootz.DeviceMemory(engine, 16))


@pytest.mark.parametrize("backend", BACKENDS)
def test_command_line_dumps_tensors(dense, tmp_path, backend):
    model, want = dense
    plan, x = tmp_path / "dense.plan", np.random.default_rng(SEED).standard_normal((3, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    call(WOOTZ, "build", model, "-o", plan, "--device", backend, "--no-timing", "--minShapes", "x:1x6", "--optShapes", "x:4x6",
         "--maxShapes", "x:8x6")
    done = call(WOOTZ, "run", plan, "--input", f"x={tmp_path / 'x.npy'}", "--dump-tensors", "all,x", "--output-dir",
                tmp_path / "out", "--json")
    report = json.loads(done.stdout)
    files = {t["name"]: t["file"] for t in report["outputs"] + report["tensors"]}
    np.testing.assert_allclose(np.load(files["y"]), want(x)["y"], **TOLERANCE)
    np.testing.assert_array_equal(np.load(files["x"]), x)
    for name in {"r"} & set(files):
        np.testing.assert_allclose(np.load(files[name]), want(x)[name], **TOLERANCE)


@pytest.mark.parametrize("backend", BACKENDS)
def test_command_line_with_empty_outputs(detector, tmp_path, backend):
    plan = tmp_path / "detector.plan"
    call(WOOTZ, "build", detector, "-o", plan, "--device", backend, "--no-timing")
    for count in (0, 6):
        feeds, want = detection(np.random.default_rng(SEED), count)
        inputs = []
        for name, value in feeds.items():
            np.save(tmp_path / f"{name}.npy", value)
            inputs += ["--input", f"{name}={tmp_path / name}.npy"]
        call(WOOTZ, "run", plan, *inputs, "--dump-tensors", "kept", "--output-dir", tmp_path)
        for name, value in want.items():
            np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), value)
        pairs = ",".join(f"{name}:{tmp_path / name}.npy" for name in feeds)
        call(WOOTZ, "exec", f"--loadEngine={plan}", f"--loadInputs={pairs}", "--iterations=5", "--duration=0", "--warmUp=0")
    call(WOOTZ, "bench", plan, "--iterations", "5", "--duration", "0", "--warmUp", "0")

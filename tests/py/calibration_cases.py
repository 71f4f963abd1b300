"""INT8 calibration from Python. Run by test_device.py in a process of its own, with the backends to try in
WOOTZ_CASES ("cpu reference cuda"), on a GPU or on the emulator."""
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
SHAPE = (2, 16, 8, 8)
BASES = {"EntropyCalibration2": wootz.IInt8EntropyCalibrator2, "EntropyCalibration": wootz.IInt8EntropyCalibrator,
         "MinMaxCalibration": wootz.IInt8MinMaxCalibrator, "LegacyCalibration": wootz.IInt8LegacyCalibrator}


@pytest.fixture(autouse=True)
def seed():
    print("seed", SEED)


def call(*command, status=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def save(path, batch):
    """y [N, 10] = mean(relu(conv(x))) @ w."""
    rng = np.random.default_rng(SEED)
    constants = {"f": rng.uniform(-0.2, 0.2, (32, 16, 3, 3)).astype(np.float32), "w": rng.uniform(-0.4, 0.4, (32, 10)).astype(np.float32)}
    node = helper.make_node
    nodes = [node("Conv", ["x", "f"], ["c"], "conv", pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"], "relu"),
             node("ReduceMean", ["r"], ["m"], "mean", axes=[2, 3], keepdims=0), node("MatMul", ["m", "w"], ["y"], "product")]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "calibrated", [info("x", TensorProto.FLOAT, [batch, *SHAPE[1:]])],
                              [info("y", TensorProto.FLOAT, [batch, 10])], [numpy_helper.from_array(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save(tmp_path_factory.mktemp("calibrated") / "model.onnx", SHAPE[0])


@pytest.fixture(scope="module")
def open_model(tmp_path_factory):
    return save(tmp_path_factory.mktemp("calibrated") / "open.onnx", "N")


@pytest.fixture(scope="module")
def samples():
    return np.random.default_rng(SEED + 1).uniform(-1, 1, (8, *SHAPE[1:])).astype(np.float32)


class Kept(wootz.ILogger):
    """Warnings and errors, but for what the emulator lacks."""

    def __init__(self):
        wootz.ILogger.__init__(self)
        self.lines = []

    def log(self, severity, text):
        if int(severity) <= int(wootz.ILogger.Severity.WARNING) and not text.startswith("without cu"):
            self.lines.append(text)


def engine_of(plan):
    runtime = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR))
    return runtime.deserialize_cuda_engine(plan)


def int8_steps(plan):
    """The model's nodes that read 8 bits, which only convolutions and products do here."""
    text = engine_of(plan).create_engine_inspector().get_engine_information(wootz.LayerInformationFormat.JSON)
    return [name for name in ("conv", "product") for layer in json.loads(text)["Layers"]
            if name in layer["Name"] and layer["Inputs"] and "Int8" in layer["Inputs"][0]["Format/Datatype"]]


def infer(plan, x):
    return wootz.infer(engine_of(plan).create_execution_context(), {"x": x})["y"]


def options(backend):
    return {"backend": backend, "timing": "0"}


def build(model, backend, calibrator, logger, plain=False):
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    assert wootz.OnnxParser(network, logger).parse_from_file(model)
    config = builder.create_builder_config()
    config.set_option("backend", backend)
    config.set_option("timing", "0")
    config.profiling_verbosity = wootz.ProfilingVerbosity.DETAILED
    if not plain:
        config.set_flag(wootz.BuilderFlag.INT8)
        config.int8_calibrator = calibrator
        assert config.int8_calibrator is calibrator
    return builder.build_serialized_network(network, config)


def calibrator_of(base, batches, cache=None):
    class Calibrator(base):
        def __init__(self):
            base.__init__(self)
            self.batches, self.written, self.names = list(batches), None, None

        def get_batch_size(self):
            return SHAPE[0]

        def get_batch(self, names):
            self.names = names
            return [self.batches.pop(0)] if self.batches else None

        def read_calibration_cache(self):
            return cache

        def write_calibration_cache(self, cache):
            self.written = bytes(cache)

    return Calibrator()


def parts(samples):
    return [samples[i:i + SHAPE[0]] for i in range(0, len(samples), SHAPE[0])]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("algorithm", BASES)
def test_calibrators_of_every_kind(backend, algorithm, model, samples):
    logger = Kept()
    calibrator = calibrator_of(BASES[algorithm], parts(samples))
    plan = bytes(build(model, backend, calibrator, logger))
    assert int8_steps(plan) == ["conv", "product"] and calibrator.names == ["x"] and calibrator.batches == []
    assert logger.lines == []
    lines = calibrator.written.decode().splitlines()
    assert lines[0] == f"TRT-101600-{algorithm}" and {line.split(": ")[0] for line in lines[1:]} >= {"x", "r", "m"}
    want, got = infer(bytes(build(model, backend, None, logger, plain=True)), samples[:2]), infer(plan, samples[:2])
    assert 0 < np.abs(got - want).max() < 0.1 * np.abs(want).max()
    again = calibrator_of(BASES[algorithm], [], bytearray(calibrator.written))
    assert int8_steps(bytes(build(model, backend, again, logger))) == ["conv", "product"] and again.written is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_may_be_addresses(backend, model, samples):
    want = calibrator_of(wootz.IInt8MinMaxCalibrator, parts(samples))
    logger = Kept()
    plan = bytes(build(model, backend, want, logger))
    if backend == "cuda":
        engine = engine_of(plan)
        kept = [wootz.to_device(engine, part) for part in parts(samples)]
        addresses = [kept[0], kept[1].address, *kept[2:]]
    else:
        kept = parts(samples)
        addresses = [part.ctypes.data for part in kept]
    calibrator = calibrator_of(wootz.IInt8MinMaxCalibrator, addresses)
    assert build(model, backend, calibrator, logger) is not None, logger.lines
    assert calibrator.written == want.written


def raising(name):
    calibrator = calibrator_of(wootz.IInt8EntropyCalibrator2, [])

    def method(*_):
        raise KeyError("no such disk")

    setattr(type(calibrator), name, method)
    return calibrator


WRONG = [  # calibrator, text
    (lambda x: raising("get_batch"), "getBatch failed: KeyError: 'no such disk'"),
    (lambda x: raising("get_batch_size"), "getBatchSize failed: KeyError"),
    (lambda x: raising("read_calibration_cache"), "readCalibrationCache failed: KeyError"),
    (lambda x: raising("get_algorithm"), "getAlgorithm failed: KeyError"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, [x.astype(np.float64)]), "'x': there are 16384 bytes, and f32"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, [x[:1]]), "'x': there are 4096 bytes, and f32"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, ["text"]), "getBatch failed: ValueError"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, [0]), "the address 0"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, []), "neither a batch nor a cache"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, [x], "text"), "readCalibrationCache failed: TypeError"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, [x], b"text"), "the calibration cache: line 1"),
    (lambda x: calibrator_of(wootz.IInt8EntropyCalibrator2, [x], b"TRT-1-EntropyCalibration2\nx: \xff\xfe\n"), "the calibration cache: line 2"),
    (lambda x: wootz.IInt8EntropyCalibrator2(), "failed: "),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_fails_in_a_calibrator_ends_the_build(number, model, samples):
    make, text = WRONG[number]
    logger = Kept()
    assert build(model, BACKENDS[0], make(samples[:2]), logger) is None
    assert any(text in line for line in logger.lines), logger.lines


def test_a_cache_that_is_not_written_ends_the_build(model, samples):
    calibrator, logger = raising("write_calibration_cache"), Kept()
    calibrator.batches = parts(samples)
    assert build(model, BACKENDS[0], calibrator, logger) is None
    assert any("writeCalibrationCache failed: KeyError" in line for line in logger.lines), logger.lines


def test_the_legacy_calibrator_has_its_numbers(model, samples):
    def scale(quantile, cutoff):
        calibrator = calibrator_of(wootz.IInt8LegacyCalibrator, parts(samples))
        calibrator.quantile, calibrator.regression_cutoff = quantile, cutoff
        assert build(model, BACKENDS[0], calibrator, Kept()) is not None
        line = next(line for line in calibrator.written.decode().splitlines() if line.startswith("x: "))
        return np.array(int(line[3:], 16), np.uint32).view(np.float32) * 127

    largest = np.abs(samples).max()
    assert abs(scale(0.5, 0) - np.median(np.abs(samples))) < 0.01
    assert abs(scale(0.5, 0.8) - 0.8 * largest) < 0.001
    assert scale(1, 0) == pytest.approx(largest)


def test_settings_of_config_and_tensors(open_model):
    logger = Kept()
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    assert wootz.OnnxParser(network, logger).parse_from_file(open_model)
    config = builder.create_builder_config()
    assert config.int8_calibrator is None and config.get_calibration_profile() is None
    profile = builder.create_optimization_profile()
    profile.set_shape("x", SHAPE, SHAPE, SHAPE)
    assert config.set_calibration_profile(profile)
    assert config.get_calibration_profile().get_shape("x")[1] == SHAPE
    calibrator = calibrator_of(wootz.IInt8MinMaxCalibrator, [])
    config.int8_calibrator = calibrator
    config.int8_calibrator = None
    assert config.int8_calibrator is None
    assert calibrator.get_algorithm() == wootz.CalibrationAlgoType.MINMAX_CALIBRATION
    config.quantization_flags = 1
    assert config.get_quantization_flag(wootz.QuantizationFlag.CALIBRATE_BEFORE_FUSION)
    x = network.get_input(0)
    assert x.dynamic_range is None
    x.dynamic_range = (-2, 2)
    assert x.dynamic_range == (-2, 2)
    assert x.set_dynamic_range(-1, 1) and x.dynamic_range == (-1, 1)
    with pytest.raises(ValueError, match="'x'"):
        x.dynamic_range = (2, -2)
    x.reset_dynamic_range()
    assert x.dynamic_range is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_ranges_alone_are_enough(backend, model, samples):
    logger = Kept()
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    assert wootz.OnnxParser(network, logger).parse_from_file(model)
    network.get_input(0).dynamic_range = (-1, 1)
    config = builder.create_builder_config()
    config.profiling_verbosity = wootz.ProfilingVerbosity.DETAILED
    for key, value in options(backend).items():
        config.set_option(key, value)
    config.set_flag(wootz.BuilderFlag.INT8)
    assert int8_steps(bytes(builder.build_serialized_network(network, config))) == ["conv"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_build_takes_data_as_it_comes(backend, model, samples, tmp_path):
    np.save(tmp_path / "all.npy", samples)
    np.savez(tmp_path / "all.npz", x=samples)
    (tmp_path / "folder").mkdir()
    for number, part in enumerate(parts(samples)):
        np.save(tmp_path / "folder" / f"{number}.npy", part)
    forms = [samples, {"x": samples}, parts(samples), ({"x": part} for part in parts(samples)), tmp_path / "all.npy", str(tmp_path / "all.npz"),
             tmp_path / "folder", [tmp_path / "folder", tmp_path / "all.npz"]]
    caches = []
    for number, form in enumerate(forms):
        cache = tmp_path / f"cache{number}"
        assert wootz.build(model, options=options(backend), calibration_data=form, calibration_cache=cache, calibration_algorithm="minmax")
        caches.append(cache.read_bytes())
    assert caches[0].startswith(b"TRT-101600-MinMaxCalibration\n") and set(caches) == {caches[0]}
    # From the cache, whose algorithm need not be said again.
    logger = Kept()
    assert wootz.build(model, options=options(backend), calibration_cache=tmp_path / "cache0", logger=logger)
    assert logger.lines == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_networks_of_other_inputs_and_outputs(backend, tmp_path):
    """A product of rows that numbers choose, added where a flag says so, and where it is positive: as many as there are."""
    rng = np.random.default_rng(SEED)
    constants = {"e": rng.normal(0, 1, (50, 32)).astype(np.float32), "w": rng.normal(0, 1, (32, 16)).astype(np.float32), "zero": np.float32(0)}
    node, info = helper.make_node, helper.make_tensor_value_info
    nodes = [node("Gather", ["e", "ids"], ["rows"]), node("MatMul", ["rows", "w"], ["p"], "product"), node("Where", ["flag", "p", "zero"], ["s"]),
             node("Greater", ["s", "zero"], ["above"]), node("NonZero", ["above"], ["y"])]
    graph = helper.make_graph(nodes, "chosen", [info("ids", TensorProto.INT64, [4]), info("flag", TensorProto.BOOL, [])],
                              [info("y", TensorProto.INT64, None)], [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    data = [{"ids": rng.integers(0, 50, 4), "flag": np.array(i % 2 == 0)} for i in range(6)]
    cache = tmp_path / "cache"
    assert wootz.build(model, options={**options(backend), "host_steps": "1"}, calibration_data=data, calibration_cache=cache, calibration_algorithm="minmax")
    seen = constants["e"][np.concatenate([item["ids"] for item in data])]
    line = next(line for line in cache.read_text().splitlines() if line.startswith("rows: "))
    assert np.array(int(line[6:], 16), np.uint32).view(np.float32) * 127 == pytest.approx(np.abs(seen).max())


def test_build_cuts_by_the_optimum_and_fills_the_last_batch_up(open_model, samples, tmp_path):
    class Counting(wootz.ILogger):
        def __init__(self):
            wootz.ILogger.__init__(self)
            self.text = ""

        def log(self, _, text):
            self.text += text + "\n"

    logger = Counting()
    shapes = {"x": ((1, *SHAPE[1:]), (3, *SHAPE[1:]), (8, *SHAPE[1:]))}
    wootz.build(open_model, shapes=shapes, options=options(BACKENDS[0]), calibration_data=samples, calibration_cache=tmp_path / "cache", logger=logger)
    assert "LeastErrorCalibration from 3 batches" in logger.text


BAD = [  # arguments, text
    (lambda x, d: dict(calibration_data=x.astype(np.float64)), "'x' is float64, the network takes float32"),
    (lambda x, d: dict(calibration_data=x[:, :3]), r"'x' is \(8, 3, 8, 8\), the network takes \(2, 16, 8, 8\)"),
    (lambda x, d: dict(calibration_data={"z": x}), r"\['z'\] are given, the inputs are \['x'\]"),
    (lambda x, d: dict(calibration_data=d / "none.npy"), "none.npy"),
    (lambda x, d: dict(calibration_data=d), "no .npy and no .npz"),
    (lambda x, d: dict(calibration_data=[]), "the build failed"),
    (lambda x, d: dict(calibration_cache=d / "none"), "is not there"),
    (lambda x, d: dict(calibration_data=x, calibration_algorithm="best"), "'best' is none of least_error, entropy2"),
    (lambda x, d: dict(calibration_algorithm="minmax"), "neither calibration_data"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_build_refuses_other_data(number, model, samples, tmp_path):
    make, text = BAD[number]
    with pytest.raises((ValueError, wootz.BuildError), match=text):
        wootz.build(model, options=options(BACKENDS[0]), **make(samples, tmp_path))

"""The snippets beside this file, as documents about TensorRT print them, run through the package `tensorrt`: each in a process of
its own, `scenes.py SCENE`, with what its document says that there is."""
import concurrent.futures
import os
import pathlib
import sys
import types

import numpy as np
import onnx
import tensorrt as trt
from onnx import TensorProto, helper, numpy_helper

from memory import cuda

HERE = pathlib.Path(__file__).parent
WEIGHTS = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)


def run(name, **given):
    """The names that a snippet leaves, when it has run with these."""
    names = {"trt": trt, "np": np, "os": os, "cuda": cuda, "concurrent": concurrent, **given}
    exec(compile((HERE / f"{name}.py").read_text(), f"{name}.py", "exec"), names)
    return types.SimpleNamespace(**{key: value for key, value in names.items() if key != "__builtins__"})


def write_model(batch, path="model.onnx"):
    """Means of pictures' channels, times WEIGHTS."""
    nodes = [helper.make_node("GlobalAveragePool", ["input"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("MatMul", ["f", "w"], ["output"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "pictures", [value("input", TensorProto.FLOAT, [batch, 3, 224, 224])],
                              [value("output", TensorProto.FLOAT, [batch, 5])], [numpy_helper.from_array(WEIGHTS, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def pictures(batch, seed=0):
    return np.random.default_rng(seed).standard_normal((batch, 3, 224, 224)).astype(np.float32)


def expect(got, images, tolerance=1e-4):
    wanted = images.mean((2, 3), dtype=np.float64) @ WEIGHTS
    worst = np.abs(np.asarray(got, np.float64).reshape(wanted.shape) - wanted).max() / np.abs(wanted).max()
    assert worst <= tolerance, worst


def parts(batch):
    """A builder, a network of the model, and a config."""
    write_model(batch)
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(pathlib.Path("model.onnx").read_bytes())
    return types.SimpleNamespace(logger=logger, builder=builder, network=network, parser=parser, config=builder.create_builder_config())


def engine_of(p):
    plan = p.builder.build_serialized_network(p.network, p.config)
    assert plan is not None
    return trt.Runtime(p.logger).deserialize_cuda_engine(plan)


def infer(engine, images):
    context = engine.create_execution_context()
    assert context.set_input_shape("input", images.shape)
    x, y = cuda.mem_alloc(images.nbytes), cuda.mem_alloc(len(images) * 5 * 4)
    cuda.memcpy_htod(x, images)
    assert context.execute_v2([int(x), int(y)])
    out = np.empty((len(images), 5), np.float32)
    cuda.memcpy_dtoh(out, y)
    return out


def build_and_run():
    write_model(4)
    built = run("004_01")
    images, out = pictures(4), np.empty((4, 5), np.float32)
    ran = run("004_05", logger=built.logger, batch_size=4, input_data=images, output_data=out)
    expect(out, images)
    timed = run("004_06", config=built.config, context=ran.context, bindings=ran.bindings, batch_size=4)
    assert timed.latency > 0 and timed.throughput > 0


def flags():
    p = parts(4)
    run("004_02", config=p.config)
    assert p.config.get_flag(trt.BuilderFlag.FP16) and not p.config.get_flag(trt.BuilderFlag.TF32)
    images = pictures(4)
    p.config.clear_flag(trt.BuilderFlag.INT8)  # for which there is no calibrator
    expect(infer(engine_of(p), images), images, 1e-2)


def profiles():
    p = parts("n")
    run("003_03", builder=p.builder, config=p.config)
    engine = engine_of(p)
    for batch in (1, 32):
        expect(infer(engine, pictures(batch)), pictures(batch))
    p = parts("n")
    run("004_04", builder=p.builder, config=p.config)
    assert engine_of(p).num_optimization_profiles == 3


class Loader(list):
    batch_size = 2


def loader():
    return Loader(types.SimpleNamespace(numpy=lambda seed=seed: pictures(2, seed)) for seed in range(3))


def calibrator():
    p = parts(2)
    made = run("004_03", config=p.config, calibration_loader=loader())
    images = pictures(2)
    expect(infer(engine_of(p), images), images, 0.2)
    assert os.path.getsize("calibration.cache") and made.calibrator.read_calibration_cache()


def build_function():
    write_model(2)
    logger = trt.Logger(trt.Logger.WARNING)
    made = run("003_04", TRT_LOGGER=logger, EXPLICIT_BATCH=1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH),
               calibration_data=loader(), create_calibrator=lambda data: run(
                   "004_03", config=types.SimpleNamespace(set_flag=lambda flag: None), calibration_loader=data).calibrator)
    runtime = trt.Runtime(logger)
    for precision, tolerance in (("fp16", 1e-2), ("int8", 0.2)):
        engine = runtime.deserialize_cuda_engine(made.build_engine("model.onnx", precision))
        expect(infer(engine, pictures(2)), pictures(2), tolerance)
    pathlib.Path("bad.onnx").write_bytes(b"no model")
    assert made.build_engine("bad.onnx") is None


def allocate_buffers(engine):
    """As TensorRT's samples have it: pairs of an array and memory, and all addresses."""
    inputs, outputs, bindings = [], [], []
    for name in map(engine.get_tensor_name, range(engine.num_io_tensors)):
        array = np.empty(tuple(engine.get_tensor_shape(name)), trt.nptype(engine.get_tensor_dtype(name)))
        pair = types.SimpleNamespace(host=array, device=cuda.mem_alloc(array.nbytes))
        bindings.append(int(pair.device))
        (inputs if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT else outputs).append(pair)
    return inputs, outputs, bindings


def inference():
    made = run("003_05", allocate_buffers=allocate_buffers)
    engines = [engine_of(parts(2)) for _ in range(2)]
    expect(made.inference(engines[0], pictures(2)), pictures(2))
    several = run("003_09", inference=made.inference)
    expect(several.multi_gpu_inference(engines, pictures(4)), pictures(4))


def profiler():
    p = parts(2)
    p.config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    engine = engine_of(p)
    _, _, bindings = allocate_buffers(engine)
    run("003_08", config=p.config, engine=engine, bindings=bindings)  # prints the layers' times


def verbose():
    p = parts(2)
    run("003_10", layer_is_supported=lambda layer: bool(layer.name)).check_network_support(p.network)
    run("001_01", config=p.config)
    assert p.config.max_aux_streams == 7


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("done")

"""INT8 by a calibrator of one's own that keeps what it found in a file; the second build reads the file and asks for no batch."""
import os
import pathlib
import tempfile

import cudart
import numpy as np
import tensorrt as trt

import models
from common import LOGGER, TO_DEVICE, Buffers, check, expect


class Batches(trt.IInt8EntropyCalibrator2):
    def __init__(self, batches, cache_file):
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.batches, self.cache_file, self.served = iter(batches), cache_file, 0
        self.memory = check(cudart.cudaMalloc(4 * 8 * 4))

    def get_batch_size(self):
        return 4

    def get_batch(self, names):
        assert names == ["x"]
        batch = next(self.batches, None)
        if batch is None:
            return None
        check(cudart.cudaMemcpy(self.memory, batch.ctypes.data, batch.nbytes, TO_DEVICE))
        self.served += 1
        return [int(self.memory)]

    def read_calibration_cache(self):
        if os.path.exists(self.cache_file):
            with open(self.cache_file, "rb") as file:
                return file.read()
        return None

    def write_calibration_cache(self, cache):
        with open(self.cache_file, "wb") as file:
            file.write(cache)


def build(onnx_model, calibrator):
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(onnx_model)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = calibrator
    return builder.build_serialized_network(network, config)


onnx_model, reference = models.mlp(seed=3)
cache_file = pathlib.Path(tempfile.mkdtemp()) / "calibration.cache"
generator = np.random.default_rng(0)
samples = [generator.standard_normal((4, 8)).astype(np.float32) for _ in range(16)]
first = Batches(samples, cache_file)
plan = build(onnx_model, first)
assert plan is not None and first.served == 16 and cache_file.exists()
again = Batches(samples, cache_file)
assert build(onnx_model, again) is not None and again.served == 0, "the cache was not used"
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
context = engine.create_execution_context()
with Buffers(engine, context) as buffers:
    x = generator.standard_normal((4, 8)).astype(np.float32)
    expect(buffers.infer(context, x=x)["y"], reference(x), "in 8 bits", tolerance=0.1)

"""A build that is watched, and the time of every layer: a progress monitor and a profiler of one's own."""
import numpy as np
import tensorrt as trt

import models
from common import LOGGER, Buffers, expect


class Monitor(trt.IProgressMonitor):
    def __init__(self):
        trt.IProgressMonitor.__init__(self)
        self.started, self.finished = [], []

    def phase_start(self, phase_name, parent_phase, num_steps):
        self.started.append(phase_name)

    def step_complete(self, phase_name, step):
        return True  # False: give up

    def phase_finish(self, phase_name):
        self.finished.append(phase_name)


class Times(trt.IProfiler):
    def __init__(self):
        trt.IProfiler.__init__(self)
        self.layers = {}

    def report_layer_time(self, layer_name, ms):
        self.layers[layer_name] = self.layers.get(layer_name, 0) + ms


onnx_model, reference = models.mlp(seed=9)
builder = trt.Builder(LOGGER)
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert parser.parse(onnx_model)
config = builder.create_builder_config()
config.progress_monitor = monitor = Monitor()
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
assert monitor.started and sorted(monitor.started) == sorted(monitor.finished)
print(f"{len(monitor.started)} phases, the first of them {monitor.started[0]}")
context = engine.create_execution_context()
context.profiler = times = Times()
with Buffers(engine, context) as buffers:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    expect(buffers.infer(context, x=x)["y"], reference(x), "while it is profiled")
assert times.layers and all(ms >= 0 for ms in times.layers.values())
for name, ms in times.layers.items():
    print(f"  {name}: {ms:.4f} ms")

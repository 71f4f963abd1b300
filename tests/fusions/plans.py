"""Plans of ONNX graphs: built with passes left out or not, their steps, what they compute, how long they take."""
import json
import time

import numpy as np
import onnxruntime
import wootz


class Plan:
    def __init__(self, model, disabled=(), timing=False, threads=0, tactic=""):
        """Shapes that the model leaves open are 2."""
        logger = wootz.Logger(wootz.Logger.ERROR)
        builder = wootz.Builder(logger)
        network = builder.create_network(0)
        parser = wootz.OnnxParser(network, logger)
        if not parser.parse(model.SerializeToString()):
            raise wootz.BuildError("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
        config = builder.create_builder_config()
        config.profiling_verbosity = wootz.ProfilingVerbosity.DETAILED
        config.set_option("disable_passes", ",".join(disabled))
        config.set_option("backend", "cpu")
        config.set_option("threads", str(threads))
        if tactic:
            config.set_option("tactic", tactic)
        if not timing:
            config.set_option("timing", "0")
        profile = builder.create_optimization_profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            if -1 in list(tensor.shape):
                shape = [2 if d == -1 else d for d in tensor.shape]
                profile.set_shape(tensor.name, shape, shape, shape)
        config.add_optimization_profile(profile)
        data = builder.build_serialized_network(network, config)
        if data is None:
            raise wootz.BuildError("the build failed: see the log")
        self.engine = wootz.Runtime(logger).deserialize_cuda_engine(data)
        self.context = self.engine.create_execution_context()
        text = self.engine.create_engine_inspector().get_engine_information(wootz.LayerInformationFormat.JSON)
        self.layers = json.loads(text)["Layers"]

    @property
    def kernels(self):
        """Full names, in order, without changes of layout, which are the tuner's."""
        names = [layer["TacticName"].split("?")[0] for layer in self.layers]
        return [name for name in names if name.split(":")[1].split("_")[0] != "reformat"]

    @property
    def steps(self):
        """Their families. What only the reference runs keeps that name."""
        return [name if name.startswith("reference:") else name.split(":")[1].split("_")[0] for name in self.kernels]

    def infer(self, feeds):
        return wootz.infer(self.context, feeds)

    def prepare(self, feeds):
        """A function that runs once on these inputs, and little else."""
        self.held = {name: np.ascontiguousarray(value) for name, value in feeds.items()}
        for name, value in self.infer(feeds).items():
            self.held[name] = np.empty_like(np.ascontiguousarray(value))
        for name, value in self.held.items():
            if name in feeds:
                self.context.set_input_shape(name, value.shape)
            self.context.set_tensor_address(name, value.ctypes.data)
        return lambda: self.context.execute_async_v3(0)


def random_feeds(model, seed=3):
    random = np.random.default_rng(seed)
    feeds = {}
    for value in model.graph.input:
        shape = [d.dim_value if d.HasField("dim_value") else 2 for d in value.type.tensor_type.shape.dim]
        dtype = {1: np.float32, 10: np.float16, 7: np.int64}[value.type.tensor_type.elem_type]
        feeds[value.name] = random.standard_normal(shape).astype(dtype)
    return feeds


def onnxruntime_outputs(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def difference(actual, expected):
    """Largest difference in units of the largest value; infinite where NaN is in only one."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(e)):
        return float("inf")
    return float(np.nanmax(np.abs(a - e), initial=0) / max(1e-30, np.nanmax(np.abs(e), initial=0)))


def interleaved(first, second, rounds=40, seconds=0.5):
    """Median CPU times of two functions in seconds, of the calling thread, taken in turn. Other work on the machine hardly
    shows: what is not running does not count."""
    times = ([], [])
    first(), second()
    begin = time.perf_counter()
    while len(times[0]) < rounds or time.perf_counter() - begin < seconds:
        order = ((first, times[0]), (second, times[1]))
        for run, kept in order if len(times[0]) % 2 else order[::-1]:
            start = time.thread_time()
            run()
            kept.append(time.thread_time() - start)
    return float(np.median(times[0])), float(np.median(times[1]))

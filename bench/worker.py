"""One runtime with one model in a process of its own: commands come as JSON lines, answers go as JSON lines.

    {"cmd": "build", "model": PATH, "plan": PATH, "shapes": {input: [min, opt, max]}, "options": {}}      Wootz: writes the plan
    {"cmd": "load", "runtime": "wootz" | "ort" | "ort_plain" | "ort_exact" | "openvino" | "openvino_bf16" | "openvino_dynamic", "model": PATH, "plan": PATH, "threads": 2}
    {"cmd": "feed", "inputs": FILE.npz}          inputs by name
    {"cmd": "time", "seconds": 0.4}              median and least ms of back-to-back runs
    {"cmd": "outputs", "file": FILE.npz}
    {"cmd": "quit"}
"""
import json
import os
import re
import sys
import time

import numpy as np


def peak_kib():
    # Not getrusage: its figure is inherited from the process that started this one.
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\s*(\d+)", status.read()).group(1))


ERRORS = []  # what Wootz logged, for the answer when something fails


def wootz_logger():
    import wootz as trt

    class Logger(trt.ILogger):
        def log(self, severity, text):
            if severity <= trt.ILogger.ERROR:
                ERRORS.append(text)

    return Logger()


def keep_addresses(context, inputs, found):
    """Gives a context `inputs` and memory for outputs like those `found`, which it returns; None: only running tells their sizes."""
    shapes = {name: tuple(context.get_tensor_shape(name)) for name in found}
    if any(min(shape, default=0) < 0 for shape in shapes.values()):
        return None
    memory = {name: np.empty(shapes[name], value.dtype) for name, value in found.items()}
    for name, value in {**inputs, **memory}.items():
        if not context.set_tensor_address(name, value.ctypes.data):
            raise RuntimeError(f"the address of '{name}' was refused")
    return memory


class Wootz:
    def __init__(self, model, plan, threads):
        import wootz as trt

        self.trt = trt
        self.ready()
        trt.set_thread_pool(threads)
        start = time.perf_counter()
        self.logger = wootz_logger()
        self.runtime = trt.Runtime(self.logger)
        self.engine = trt.load_engine(self.runtime, plan)
        self.context = self.engine.create_execution_context()
        self.load_ms = (time.perf_counter() - start) * 1e3

    def ready(self):
        self.base_kib = peak_kib()

    def feed(self, inputs):
        """One inference, then memory of our own for the ones that are timed: infer() keeps none."""
        self.inputs = {name: np.ascontiguousarray(value) for name, value in inputs.items()}
        found = self.result = self.trt.infer(self.context, self.inputs)
        for name, value in self.inputs.items():
            self.context.set_input_shape(name, value.shape)
        self.memory = keep_addresses(self.context, self.inputs, found)

    def run(self):
        if self.memory is None:
            self.result = self.trt.infer(self.context, self.inputs)
        elif not self.context.execute_async_v3(0):
            raise RuntimeError("the inference failed")

    def outputs(self):
        self.run()
        return self.result if self.memory is None else self.memory


class Ort:
    optimized, exact = True, False

    def __init__(self, model, plan, threads):
        import onnxruntime as ort

        self.base_kib = peak_kib()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        level = ort.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if self.optimized else level.ORT_DISABLE_ALL
        options.log_severity_level = 4
        if self.exact:
            options.add_session_config_entry("session.x64quantprecision", "1")
            options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        start = time.perf_counter()
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.load_ms = (time.perf_counter() - start) * 1e3

    def feed(self, inputs):
        self.inputs = inputs
        self.run()

    def run(self):
        self.last = self.session.run(None, self.inputs)

    def outputs(self):
        return dict(zip([o.name for o in self.session.get_outputs()], self.session.run(None, self.inputs)))


class OrtPlain(Ort):
    """Its optimizer off: the model as it stands, node by node."""

    optimized = False


class OrtExact(Ort):
    """Where the processor has no sums of 8-bit products, the default saturates pairs of them in 16 bits; and products with weights of
    few bits round their other operand to 8 bits, which the model does not say."""

    exact = True


class OpenVino:
    precision, more = "f32", {}

    def __init__(self, model, plan, threads):
        import openvino as ov

        self.ov = ov
        self.base_kib = peak_kib()
        self.threads, self.model = threads, model
        self.start = time.perf_counter()
        self.core = ov.Core()
        self.network = self.core.read_model(model)
        self.load_ms = None

    def feed(self, inputs):
        self.inputs = inputs
        self.network.reshape({name: list(a.shape) for name, a in inputs.items()})
        compiled = self.core.compile_model(self.network, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": self.threads,
                                                                 "INFERENCE_PRECISION_HINT": self.precision, **self.more})
        self.load_ms = (time.perf_counter() - self.start) * 1e3
        self.names = [o.get_any_name() for o in compiled.outputs]
        self.request = compiled.create_infer_request()
        for name, array in inputs.items():
            self.request.set_tensor(name, self.ov.Tensor(array, shared_memory=True))
        self.run()

    def run(self):
        self.request.infer()

    def outputs(self):
        self.run()
        return {n: self.request.get_output_tensor(i).data.copy() for i, n in enumerate(self.names)}


class OpenVinoBf16(OpenVino):
    precision = "bf16"  # its default where the processor has it


class OpenVinoDynamic(OpenVino):
    """Of models with weights in 8 bits: activations in 8 bits by groups, of as many elements as its default or this variable says."""

    more = {"DYNAMIC_QUANTIZATION_GROUP_SIZE": os.environ.get("OPENVINO_GROUP", "32")}


RUNTIMES = {"wootz": Wootz, "ort": Ort, "ort_plain": OrtPlain, "ort_exact": OrtExact, "openvino": OpenVino, "openvino_bf16": OpenVinoBf16, "openvino_dynamic": OpenVinoDynamic}


def build(model, plan, shapes, options):
    import wootz

    ranges = {name: tuple(map(tuple, r)) for name, r in shapes.items()}
    with open(plan, "wb") as file:
        file.write(wootz.build(model, shapes=ranges, options=options, logger=wootz_logger()))


def main():
    runtime = None
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {}
            if command["cmd"] == "build":
                build(command["model"], command["plan"], command["shapes"], command["options"])
            elif command["cmd"] == "load":
                runtime = RUNTIMES[command["runtime"]](command["model"], command.get("plan"), command["threads"])
                answer["load_ms"] = runtime.load_ms
            elif command["cmd"] == "feed":
                runtime.feed(dict(np.load(command["inputs"])))
                answer["load_ms"] = runtime.load_ms
            elif command["cmd"] == "time":
                times, stop = [], time.perf_counter() + command["seconds"]
                while time.perf_counter() < stop or len(times) < 3:
                    start = time.perf_counter()
                    runtime.run()
                    times.append(time.perf_counter() - start)
                answer["ms"], answer["least_ms"] = float(np.median(times)) * 1e3, min(times) * 1e3
            elif command["cmd"] == "outputs":
                np.savez(command["file"], **{str(i): a for i, a in enumerate(runtime.outputs().values())})
            elif command["cmd"] == "quit":
                break
            if runtime is not None:
                answer["rss_mib"] = (peak_kib() - runtime.base_kib) / 1024
        except Exception as error:  # the driver shows it and goes on with the others
            answer = {"error": "\n".join([f"{type(error).__name__}: {error}", *ERRORS])}
            ERRORS.clear()
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()

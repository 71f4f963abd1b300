"""Many threads with a context each, on one engine: results are those of one thread, while builds, callbacks and arrays of Python's go on beside
them. Under a free-threaded Python nothing but the package's own locks keeps them apart."""
import sys
import threading

import numpy as np
import pytest
import wootz
from callback_network import SEED

THREADS = CONTEXTS = 8
CALLS = 25
SHAPE = (4, 3, 16, 16)


def plan_of(weights):
    """Convolution, ReLU, product and softmax, added by layers: a free-threaded Python need not have the package onnx."""
    builder = wootz.Builder(wootz.Logger(wootz.Logger.ERROR))
    network, config, profile = builder.create_network(0), builder.create_builder_config(), builder.create_optimization_profile()
    x = network.add_input("x", wootz.float32, (-1, *SHAPE[1:]))
    layer = network.add_convolution_nd(x, 8, (3, 3), weights["k"])
    layer.padding_nd = (1, 1)
    y = network.add_activation(layer.get_output(0), wootz.ActivationType.RELU).get_output(0)
    w = network.add_constant((1, 1, 16, 10), weights["w"]).get_output(0)
    y = network.add_matrix_multiply(y, wootz.MatrixOperation.NONE, w, wootz.MatrixOperation.NONE).get_output(0)
    layer = network.add_softmax(y)
    layer.axes = 1 << 3
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile.set_shape("x", (1, *SHAPE[1:]), SHAPE, (8, *SHAPE[1:]))
    config.add_optimization_profile(profile)
    for key, value in {"timing": "0", "threads": "1"}.items():
        config.set_option(key, value)
    return builder.build_serialized_network(network, config)


class Counting(wootz.IProfiler):
    def __init__(self):
        super().__init__()
        self.layers = 0

    def report_layer_time(self, name, ms):
        self.layers += 1


@pytest.fixture(scope="module")
def case():
    print(f"WOOTZ_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    weights = {"k": rng.normal(0, 1, (8, 3, 3, 3)).astype(np.float32), "w": rng.normal(0, 1, (16, 10)).astype(np.float32)}
    build = lambda: plan_of(weights)
    engine = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(build())
    feeds = [rng.normal(0, 1, (n, *SHAPE[1:])).astype(np.float32) for n in (1, 8, 4, 2)]
    context = engine.create_execution_context()
    return engine, build, feeds, [wootz.infer(context, {"x": x})["y"].copy() for x in feeds]


def at_once(functions):
    """Runs them in threads that begin together; what one raises is raised here."""
    problems, barrier = [], threading.Barrier(len(functions))

    def guarded(function):
        try:
            barrier.wait()
            function()
        except BaseException as error:  # noqa: BLE001: shown by the thread that waits
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(f,), daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
    assert not any(thread.is_alive() for thread in threads), "a deadlock"
    if problems:
        raise problems[0]


def test_each_thread_has_contexts_of_its_own(case):
    engine, _, feeds, wanted = case

    def run(start):
        contexts = [engine.create_execution_context() for _ in range(CONTEXTS)]
        for i in range(CALLS * CONTEXTS):
            k = (start + i) % len(feeds)
            np.testing.assert_array_equal(wootz.infer(contexts[i % CONTEXTS], {"x": feeds[k]})["y"], wanted[k])

    at_once([lambda start=i: run(start) for i in range(THREADS)])


def test_one_context_serves_threads_in_turns(case):
    """A context is one caller's; those who share one take a lock, as with TensorRT."""
    engine, _, feeds, wanted = case
    context, lock = engine.create_execution_context(), threading.Lock()

    def run(start):
        for i in range(CALLS):
            k = (start + i) % len(feeds)
            with lock:
                got = wootz.infer(context, {"x": feeds[k]})["y"].copy()
            np.testing.assert_array_equal(got, wanted[k])

    at_once([lambda start=i: run(start) for i in range(THREADS)])


def test_builds_loads_callbacks_and_inferences_beside_each_other(case):
    engine, build, feeds, wanted = case

    def builds():
        for _ in range(3):
            loaded = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(build())
            np.testing.assert_array_equal(wootz.infer(loaded.create_execution_context(), {"x": feeds[0]})["y"], wanted[0])
            with pytest.raises(wootz.BuildError, match="cannot be read"):
                wootz.build(b"no model", logger=wootz.Logger(wootz.Logger.INTERNAL_ERROR))

    def profiled():
        context, profiler = engine.create_execution_context(), Counting()
        context.profiler = profiler
        for i in range(CALLS):
            np.testing.assert_array_equal(wootz.infer(context, {"x": feeds[i % 4]})["y"], wanted[i % 4])
        assert profiler.layers >= CALLS

    def looked_at():
        for _ in range(CALLS):
            names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
            assert names == ["x", "y"] and tuple(engine.get_tensor_shape("x")) == (-1, *SHAPE[1:])
            assert engine.create_engine_inspector().get_engine_information(wootz.LayerInformationFormat.JSON)

    at_once([builds, profiled, looked_at, builds, profiled, looked_at, profiled, profiled])


def test_the_package_leaves_a_free_threaded_python_free():
    if not hasattr(sys, "_is_gil_enabled"):
        pytest.skip("this Python has no free-threaded kind")
    import sysconfig

    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python is not free-threaded")
    assert not sys._is_gil_enabled()

"""Arrays in and out of the CPU's engines without copies, asyncio, threads, and what callbacks and inferences leave behind. array_cases.py has
the other backends."""
import asyncio
import gc
import os
import resource
import threading
import time

import numpy as np
import pytest
import wootz as trt
from callback_network import SEED, SHAPE, TOLERANCE, Heard, Recorder, make, plan, seed, want, x  # noqa: F401


@pytest.fixture
def engine():
    heard = Heard()
    return trt.Runtime(heard).deserialize_cuda_engine(plan(heard, dynamic=True))


class Space:
    """An array namespace, as the array API has it."""

    @staticmethod
    def from_dlpack(array):
        return Mine(np.from_dlpack(array))


class Mine:
    def __init__(self, array):
        self.array = array

    def __array_namespace__(self, api_version=None):
        return Space

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(Mine):
    def __dlpack_device__(self):
        return (2, 0)


class Plain:
    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


def test_results_are_of_the_kind_of_the_inputs(engine, x):
    context = engine.create_execution_context()
    y = trt.infer(context, {"x": x})["y"]
    assert type(y) is np.ndarray and hasattr(y, "__dlpack__")
    mine = trt.infer(context, {"x": Mine(x)})["y"]
    assert type(mine) is Mine
    np.testing.assert_array_equal(mine.array, y)
    np.testing.assert_array_equal(trt.infer(context, {"x": Plain(x)})["y"], y)
    np.testing.assert_allclose(y, want(x), **TOLERANCE)
    with pytest.raises(ValueError, match="input 'x': the array is in memory of a device"):
        trt.infer(context, {"x": Elsewhere(x)})


def test_inputs_are_not_copied_and_results_are_nobodys(engine, x):
    context, seen = engine.create_execution_context(), []

    class Profiler(trt.IProfiler):
        def report_layer_time(self, layer_name, ms):
            seen.append((context.get_tensor_address("x"), context.get_tensor_address("y")))

    context.profiler = Profiler()
    for array, given in ((x, x), (x, Mine(x)), (x, Plain(x))):
        seen.clear()
        y = trt.infer(context, {"x": given})["y"]
        y = getattr(y, "array", y)
        assert seen[0] == (array.ctypes.data, y.ctypes.data)
        assert context.get_tensor_address("x") == 0 and context.get_tensor_address("y") == 0
    first = trt.infer(context, {"x": x})["y"]
    trt.infer(context, {"x": -x})
    np.testing.assert_allclose(first, want(x), **TOLERANCE)


def test_what_does_not_fit_is_named(engine, x):
    context = engine.create_execution_context()
    for feeds, text in (({}, "input 'x' is missing"), ({"x": x, "z": x}, r"no input named \['z'\]"), ({"z": x}, r"no input named \['z'\]"),
                        ({"x": x.astype(np.float64)}, "input 'x': dtype float64"), ({"x": x.astype(">f4")}, "input 'x': dtype >f4"),
                        ({"x": x.reshape(3, 4)}, r"input 'x': shape \(3, 4\) is not accepted"),
                        ({"x": np.zeros((65, 6), np.float32)}, r"input 'x': shape \(65, 6\) is not accepted"),
                        ({"x": Mine(x.astype(np.int32))}, "input 'x': dtype int32")):
        with pytest.raises(ValueError, match=text):
            trt.infer(context, feeds)
        np.testing.assert_allclose(trt.infer(context, {"x": x})["y"], want(x), **TOLERANCE)
    big = np.random.default_rng(SEED).standard_normal((2 * 40, 12)).astype(np.float32)
    for other in (big[::2, ::2], big[:40, 6:], np.asfortranarray(big[:3, :6]), big[:1, :6]):  # and shapes that come and go
        np.testing.assert_allclose(trt.infer(context, {"x": other})["y"], want(other), **TOLERANCE)


def test_it_is_with_what_was_set_by_hand(engine, x):
    """Shapes, addresses and allocators that are set between inferences count."""
    context = engine.create_execution_context()
    trt.infer(context, {"x": x})
    assert context.set_input_shape("x", (5, SHAPE[1]))
    np.testing.assert_allclose(trt.infer(context, {"x": x})["y"], want(x), **TOLERANCE)
    y = np.empty(SHAPE, np.float32)
    assert context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(y, want(x), **TOLERANCE)


# asyncio.


class Slow(trt.IProfiler):
    """Makes an inference take a while, with Python's lock let go."""

    def __init__(self):
        super().__init__()
        self.began, self.running, self.together = 0, 0, 0

    def report_layer_time(self, layer_name, ms):
        self.began, self.running = self.began + 1, self.running + 1
        self.together = max(self.together, self.running)
        time.sleep(0.03)
        self.running -= 1


def test_the_event_loop_goes_on(engine, x):
    slow = Slow()
    contexts = [engine.create_execution_context() for _ in range(2)]
    for context in contexts:
        context.profiler = slow
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    async def everything():
        clock = asyncio.create_task(tick())
        found = await asyncio.gather(*(c.infer_async({"x": (i + 1) * x}) for i, c in enumerate(contexts)))
        clock.cancel()
        return found

    for i, results in enumerate(asyncio.run(everything())):
        np.testing.assert_allclose(results["y"], want((i + 1) * x), **TOLERANCE)
    assert ticks >= 5 and slow.together == 2, "the contexts run side by side"


def test_a_cancelled_inference_is_waited_for(engine, x):
    context, slow = engine.create_execution_context(), Slow()
    context.profiler = slow

    async def everything():
        first = asyncio.create_task(context.infer_async({"x": x.copy()}))
        while slow.began == 0:
            await asyncio.sleep(0.001)
        second = asyncio.create_task(context.infer_async({"x": x.copy()}))
        await asyncio.sleep(0)
        for task in (first, second):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        gc.collect()
        np.testing.assert_allclose((await context.infer_async({"x": 3 * x}))["y"], want(3 * x), **TOLERANCE)

    asyncio.run(everything())
    np.testing.assert_allclose(trt.infer(context, {"x": x})["y"], want(x), **TOLERANCE)
    assert slow.together == 1


# Threads and memory.


def test_eight_threads_with_eight_contexts(engine):
    contexts, problems = [engine.create_execution_context() for _ in range(8)], []

    def run(number):
        rng = np.random.default_rng(SEED + number)
        try:
            for round in range(25):
                for context in contexts[number:] + contexts[:number]:  # in another order than the others
                    given = rng.standard_normal((1 + (round + number) % 9, SHAPE[1])).astype(np.float32)
                    np.testing.assert_allclose(trt.infer(context, {"x": given})["y"], want(given), **TOLERANCE)
        except BaseException as error:  # noqa: B036
            problems.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not problems, problems


def cycle(x):
    """A build, an inference, and the end of all objects, with every callback set."""
    heard = Heard(trt.ILogger.VERBOSE)
    builder, network, config = make(heard, data_dependent=True)

    class Monitor(trt.IProgressMonitor):
        def phase_start(self, *_):
            pass

        def step_complete(self, *_):
            return True

        def phase_finish(self, *_):
            pass

    class Selector(trt.IAlgorithmSelector):
        def select_algorithms(self, context, choices):
            return [0]

        def report_algorithms(self, contexts, choices):
            self.kept = (contexts, choices)

    class Profiler(trt.IProfiler):
        def report_layer_time(self, *_):
            pass

    class Listener(trt.IDebugListener):
        def process_debug_tensor(self, *_):
            return True

    class Allocator(trt.IGpuAllocator):
        def __init__(self):
            super().__init__()
            self.live = {}

        def allocate(self, size, alignment, flags):
            memory = np.empty(size + alignment, np.uint8)
            address = -(-memory.ctypes.data // alignment) * alignment
            self.live[address] = memory
            return address

        def deallocate(self, memory):
            return self.live.pop(memory, None) is not None

    config.progress_monitor, config.algorithm_selector = Monitor(), Selector()
    runtime, recorder = trt.Runtime(heard), Recorder()
    for each in (builder, network, runtime):
        each.error_recorder = recorder
    runtime.gpu_allocator = Allocator()
    engine = runtime.deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    context.profiler, context.temporary_allocator = Profiler(), Allocator()
    context.set_debug_listener(Listener())
    context.set_all_tensors_debug_state(True)
    np.testing.assert_allclose(trt.infer(context, {"x": x})["y"], want(x), **TOLERANCE)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_nothing_is_left_behind(x):
    cycles = int(os.environ.get("WOOTZ_LEAK_CYCLES", "500"))  # so many that what an allocator keeps once is little of each
    for _ in range(100):
        cycle(x)
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(cycles):
        cycle(x)
    gc.collect()
    grown = (resident() - before) / cycles
    print(f"{cycles} cycles: {grown:.0f} bytes each, {len(gc.get_objects()) - objects} objects more")
    assert len(gc.get_objects()) - objects < 50
    assert grown < 8192, "of a plan, an engine and a context, far less than one of them"

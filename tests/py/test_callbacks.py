"""What applications implement in Python: that it is called, kept alive, and may raise. CPU; device_cases.py has the other backends.

Why so long: each kind of callback is tried in the same three ways.
"""
import ctypes
import gc
import io
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import wootz as trt
from callback_network import SEED, SHAPE, TOLERANCE, Heard, Recorder, make, plan, seed, want, x  # noqa: F401


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def engine(heard):
    return trt.Runtime(heard).deserialize_cuda_engine(plan(heard))


def works(context, x):
    np.testing.assert_allclose(trt.infer(context, {"x": x})["y"], want(x), **TOLERANCE)


def raised(heard, where):
    """The one error that says which method raised what, and where."""
    found = [line for line in heard.lines if where in line]
    assert len(found) >= 1, heard.lines
    assert "KeyError: 'on purpose'" in found[0] and "test_callbacks.py, line " in found[0], found
    heard.lines.clear()


def fail(*_):
    raise KeyError("on purpose")


class Slab(trt.IGpuAllocator):
    """Memory of the host, by ctypes; `live` is what is not freed yet."""

    def __init__(self):
        super().__init__()
        self.live, self.calls = {}, []

    def allocate(self, size, alignment, flags):
        self.calls.append((size, alignment, flags))
        memory = ctypes.create_string_buffer(size + alignment)
        address = -(-ctypes.addressof(memory) // alignment) * alignment
        self.live[address] = memory
        return address

    def deallocate(self, memory):
        return self.live.pop(memory, None) is not None


class AsyncSlab(trt.IGpuAsyncAllocator):
    def __init__(self):
        super().__init__()
        self.slab = Slab()

    def allocate_async(self, size, alignment, flags, stream):
        return self.slab.allocate(size, alignment, flags)

    def deallocate_async(self, memory, stream):
        return self.slab.deallocate(memory)


# Loggers.


def test_a_logger_hears_and_may_raise(x):
    heard = Heard(trt.ILogger.VERBOSE)
    blob = plan(heard)
    assert any("built in" in line for line in heard.lines)
    unraisable = []
    before, sys.unraisablehook = sys.unraisablehook, lambda what: unraisable.append(what.exc_value)
    try:
        heard.log = fail
        type(heard).log, kept = fail, type(heard).log
        try:
            built = plan(heard)
        finally:
            type(heard).log = kept
    finally:
        sys.unraisablehook = before
    assert len(built) == len(blob) and unraisable and isinstance(unraisable[0], KeyError)
    works(trt.Runtime(Heard()).deserialize_cuda_engine(built).create_execution_context(), x)


def test_a_logger_of_the_packages_may_be_a_base(capfd):
    class Mine(trt.Logger):
        def __init__(self):
            super().__init__(trt.Logger.WARNING)
            self.lines = []

        def log(self, severity, msg):
            self.lines.append((severity, msg))
            super().log(severity, msg)

    mine = Mine()
    assert trt.Runtime(mine).deserialize_cuda_engine(b"not a plan") is None
    assert mine.lines[0][0] == trt.Logger.ERROR and mine.lines[0][1] in capfd.readouterr().err
    plain = trt.Logger(trt.Logger.ERROR)
    plain.log(trt.Logger.INFO, "not shown")
    plain.min_severity = trt.Logger.INFO
    plain.log(trt.Logger.INFO, "shown")
    assert capfd.readouterr().err == "[wootz] [I] shown\n" and isinstance(plain, trt.ILogger)


def test_a_method_that_is_not_there_is_named():
    with pytest.raises(NotImplementedError, match=r"ILogger.log"):
        trt.ILogger().log(trt.ILogger.ERROR, "x")
    for cls, call in ((trt.IProfiler, lambda o: o.report_layer_time("a", 1.0)), (trt.IErrorRecorder, lambda o: o.num_errors()),
                      (trt.IProgressMonitor, lambda o: o.phase_start("a", None, 1)), (trt.IGpuAllocator, lambda o: o.allocate(1, 1, 0)),
                      (trt.IGpuAsyncAllocator, lambda o: o.allocate(1, 1, 0)), (trt.IStreamReader, lambda o: o.read(None, 1)),
                      (trt.IStreamReaderV2, lambda o: o.seek(0, trt.SeekPosition.SET)), (trt.IStreamWriter, lambda o: o.write(b"", 0)),
                      (trt.IAlgorithmSelector, lambda o: o.select_algorithms(None, [])),
                      (trt.IInt8MinMaxCalibrator, lambda o: o.get_batch(["x"])),
                      (trt.IDebugListener, lambda o: o.process_debug_tensor(0, trt.TensorLocation.HOST, trt.float32, (), "a", 0))):
        with pytest.raises(NotImplementedError, match=cls.__name__):
            call(cls())


def test_interfaces_tell_their_version():
    allocator = Slab()
    assert isinstance(allocator, trt.IVersionedInterface) and allocator.api_language == trt.APILanguage.PYTHON
    info = allocator.interface_info
    assert (info.kind, info.major, info.minor) == ("IGpuAllocator", 1, 0) and isinstance(info, trt.InterfaceInfo)
    info.kind, info.major, info.minor = "other" + str(SEED), 2, 3
    assert (info.kind, info.major, info.minor) == ("other" + str(SEED), 2, 3)


# Builds.


class Monitor(trt.IProgressMonitor):
    def __init__(self, stop=None):
        super().__init__()
        self.stop, self.started, self.finished, self.steps = stop, [], [], 0

    def phase_start(self, phase_name, parent_phase, num_steps):
        self.started.append((phase_name, parent_phase, num_steps))

    def step_complete(self, phase_name, step):
        self.steps += 1
        return self.steps != self.stop

    def phase_finish(self, phase_name):
        self.finished.append(phase_name)


def test_a_progress_monitor(heard):
    builder, network, config = make(heard)
    config.progress_monitor = monitor = Monitor()
    assert config.progress_monitor is monitor
    assert builder.build_serialized_network(network, config) is not None
    assert monitor.started[0][1] is None and monitor.started[1][1] == monitor.started[0][0] and monitor.steps > 0
    assert sorted(monitor.finished) == sorted(name for name, _, _ in monitor.started)
    config.progress_monitor = Monitor(stop=1)
    assert builder.build_serialized_network(network, config) is None
    config.progress_monitor = None
    assert config.progress_monitor is None and builder.build_serialized_network(network, config) is not None


@pytest.mark.parametrize("method", ["phase_start", "step_complete", "phase_finish"])
def test_a_progress_monitor_that_raises_stops_the_build(heard, method):
    builder, network, config = make(heard)
    monitor = config.progress_monitor = type("Bad", (Monitor,), {method: fail})()
    done = builder.build_serialized_network(network, config)
    raised(heard, f"Bad.{method} raised")
    assert (done is None) == (method != "phase_finish")
    assert config.progress_monitor is monitor
    config.progress_monitor = Monitor()
    assert builder.build_serialized_network(network, config) is not None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_in_a_callback_is_raised_when_the_build_returns(heard):
    def interrupted(*_):
        raise KeyboardInterrupt

    builder, network, config = make(heard)
    config.progress_monitor = type("Bad", (Monitor,), {"step_complete": interrupted})()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests run in the background, it is ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            builder.build_serialized_network(network, config)
            for _ in range(1000):
                pass
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_whole_traceback_is_verbose(x):
    heard = Heard(trt.ILogger.VERBOSE)
    builder, network, config = make(heard)
    config.progress_monitor = type("Bad", (Monitor,), {"step_complete": fail})()
    assert builder.build_serialized_network(network, config) is None
    assert any("Traceback (most recent call last)" in line and "in fail" in line for line in heard.lines)


class Selector(trt.IAlgorithmSelector):
    def __init__(self):
        super().__init__()
        self.offered, self.reported = {}, {}

    def select_algorithms(self, context, choices):
        self.offered[context.name] = (context, choices)
        return [len(choices) - 1]

    def report_algorithms(self, contexts, choices):
        self.reported = {c.name: a for c, a in zip(contexts, choices)}


def test_an_algorithm_selector(heard):
    builder, network, config = make(heard)
    selector = config.algorithm_selector = Selector()
    assert config.algorithm_selector is selector
    assert builder.build_serialized_network(network, config) is not None, heard.lines
    del builder, network
    gc.collect()  # what was shown is the program's
    assert selector.offered and selector.reported.keys() == selector.offered.keys()
    for name, (context, choices) in selector.offered.items():
        assert context.name == name and context.num_inputs >= 1 and context.num_outputs == 1
        assert [tuple(s) for s in context.get_shape(0)] == [SHAPE] * 3
        with pytest.raises(IndexError):
            context.get_shape(context.num_inputs + context.num_outputs)
        taken, last = selector.reported[name], choices[-1]
        assert (taken.algorithm_variant.implementation, taken.algorithm_variant.tactic) == \
            (last.algorithm_variant.implementation, last.algorithm_variant.tactic)
        assert taken.timing_msec >= 0 and taken.workspace_size >= 0
        io = last.get_algorithm_io_info(0)
        assert io.dtype == trt.float32 and tuple(io.strides) == (SHAPE[1], 1)
        assert io.vectorized_dim == -1 and io.components_per_element == 1
        assert last.get_algorithm_io_info(99) is None and last.get_algorithm_io_info(-1) is None
    config.algorithm_selector = None
    assert config.algorithm_selector is None


@pytest.mark.parametrize("method, answer", [("select_algorithms", fail), ("report_algorithms", fail), ("select_algorithms", lambda *_: None),
                                            ("select_algorithms", lambda _, context, choices: [0] * (len(choices) + 1))])
def test_an_algorithm_selector_that_raises(heard, method, answer):
    builder, network, config = make(heard)
    config.algorithm_selector = type("Bad", (Selector,), {method: answer})()
    built = builder.build_serialized_network(network, config)
    assert (built is None) == (method == "select_algorithms")
    assert any(f"Bad.{method}" in line for line in heard.lines), heard.lines
    config.algorithm_selector = Selector()
    assert builder.build_serialized_network(network, config) is not None


def calibrator(base=trt.IInt8MinMaxCalibrator, **methods):
    class Calibrator(base):
        def __init__(self):
            super().__init__()
            self.left, self.names, self.written, self.array = 3, None, None, None

        def get_batch_size(self):
            return SHAPE[0]

        def get_batch(self, names):
            self.names, self.left = names, self.left - 1
            self.array = np.random.default_rng(SEED + self.left).standard_normal(SHAPE).astype(np.float32)
            return [self.array.ctypes.data] if self.left >= 0 else []

        def read_calibration_cache(self):
            return None

        def write_calibration_cache(self, cache):
            self.written = bytes(cache)

    for name, method in methods.items():
        setattr(Calibrator, name, method)
    return Calibrator()


@pytest.mark.parametrize("base, algorithm", [(trt.IInt8EntropyCalibrator2, "ENTROPY_CALIBRATION_2"), (trt.IInt8MinMaxCalibrator, "MINMAX_CALIBRATION"),
                                             (trt.IInt8EntropyCalibrator, "ENTROPY_CALIBRATION"), (trt.IInt8LegacyCalibrator, "LEGACY_CALIBRATION")])
def test_calibrators(heard, base, algorithm):
    builder, network, config = make(heard)
    config.set_flag(trt.BuilderFlag.INT8)
    mine = config.int8_calibrator = calibrator(base)
    assert config.int8_calibrator is mine and isinstance(mine, trt.IInt8Calibrator)
    assert mine.get_algorithm() == getattr(trt.CalibrationAlgoType, algorithm)
    assert builder.build_serialized_network(network, config) is not None, heard.lines
    assert list(mine.names) == ["x"] and mine.written
    # The cache, as any kind of bytes, is enough for the next build.
    cached = config.int8_calibrator = calibrator(base, read_calibration_cache=lambda _: memoryview(mine.written), get_batch=fail)
    assert builder.build_serialized_network(network, config) is not None, heard.lines
    assert cached.names is None


@pytest.mark.parametrize("method", ["get_batch_size", "get_batch", "read_calibration_cache", "write_calibration_cache", "get_algorithm"])
def test_a_calibrator_that_raises_fails_the_build(heard, method):
    builder, network, config = make(heard)
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = calibrator(**{method: fail})
    assert builder.build_serialized_network(network, config) is None
    assert any("KeyError: 'on purpose'" in line and "test_callbacks.py, line" in line for line in heard.lines), heard.lines
    config.int8_calibrator = calibrator()
    assert builder.build_serialized_network(network, config) is not None


# Plans by pieces.


class Writer(trt.IStreamWriter):
    def __init__(self):
        super().__init__()
        self.data = b""

    def write(self, data):
        self.data += data
        return len(data)


class Reader(trt.IStreamReader):
    def __init__(self, data, most=1 << 20):
        super().__init__()
        self.file, self.most = io.BytesIO(data), most

    def read(self, size):
        return self.file.read(min(size, self.most))


class ReaderV2(trt.IStreamReaderV2):
    def __init__(self, data, most=1 << 20):
        super().__init__()
        self.file, self.most = io.BytesIO(data), most

    def read(self, num_bytes, stream):
        return bytearray(self.file.read(min(num_bytes, self.most)))

    def seek(self, offset, where):
        self.file.seek(offset, int(where))


def test_plans_go_to_writers_and_come_from_readers(heard, x):
    builder, network, config = make(heard)
    writer = Writer()
    assert builder.build_serialized_network_to_stream(network, config, writer) is True
    whole = bytes(builder.build_serialized_network(network, config))
    assert len(writer.data) == len(whole)
    runtime = trt.Runtime(heard)
    for cls in (Reader, ReaderV2):
        for most in (1 << 20, 100):  # an answer in pieces
            works(runtime.deserialize_cuda_engine(cls(writer.data, most)).create_execution_context(), x)
        assert runtime.deserialize_cuda_engine(cls(whole[:-1])) is None
    works(runtime.deserialize_cuda_engine(stream_reader=Reader(whole)).create_execution_context(), x)
    works(runtime.deserialize_cuda_engine(stream_reader_v2=ReaderV2(whole)).create_execution_context(), x)
    works(runtime.deserialize_cuda_engine(serialized_engine=whole).create_execution_context(), x)
    with pytest.raises((TypeError, BufferError)):
        runtime.deserialize_cuda_engine(3)


def test_writers_and_readers_that_raise(heard, x):
    builder, network, config = make(heard)
    for bad in (fail, lambda *_: None, lambda *_: -1, lambda _, data: len(data) - 1):
        assert builder.build_serialized_network_to_stream(network, config, type("Bad", (Writer,), {"write": bad})()) is False
        if bad is fail:
            raised(heard, "Bad.write raised")
    writer, runtime = Writer(), trt.Runtime(heard)
    assert builder.build_serialized_network_to_stream(network, config, writer)
    for cls in (Reader, ReaderV2):
        assert runtime.deserialize_cuda_engine(type("Bad", (cls,), {"read": fail})(writer.data)) is None
        raised(heard, "Bad.read raised")
        assert runtime.deserialize_cuda_engine(type("Bad", (cls,), {"read": lambda _, size, *__: bytes(size + 1)})(b"")) is None
        assert any("bytes, and is asked for" in line for line in heard.lines)
        works(runtime.deserialize_cuda_engine(cls(writer.data)).create_execution_context(), x)


# Errors.


def test_error_recorders_are_told_and_kept(heard, x):
    assert trt.IErrorRecorder.MAX_DESC_LENGTH == 127
    builder, network, config = make(heard)
    blob = bytes(builder.build_serialized_network(network, config))
    runtime = trt.Runtime(heard)
    engine = runtime.deserialize_cuda_engine(blob)
    context, inspector = engine.create_execution_context(), engine.create_engine_inspector()
    for each in (builder, network, runtime, engine, context, inspector):
        assert each.error_recorder is None
        recorder = Recorder()
        gone = weakref.ref(recorder)
        each.error_recorder = recorder
        assert each.error_recorder is recorder
        del recorder
        gc.collect()
        assert gone() is not None, "what reports to it keeps it"
        each.error_recorder = None
        gc.collect()
        assert each.error_recorder is None and gone() is None
    context.error_recorder = recorder = Recorder()
    assert not context.set_input_shape("x", (9, 9))
    assert recorder.num_errors() == 1 and recorder.errors[0][0] == trt.ErrorCodeTRT.INVALID_ARGUMENT
    assert recorder.get_error_code(0) == trt.ErrorCodeTRT.INVALID_ARGUMENT and "setInputShape" in recorder.get_error_desc(0)
    works(context, x)


def test_what_a_runtime_makes_reports_to_its_recorder(heard):
    runtime = trt.Runtime(heard)
    runtime.error_recorder = recorder = Recorder()
    assert runtime.deserialize_cuda_engine(b"nonsense") is None and recorder.num_errors() == 1
    context = runtime.deserialize_cuda_engine(plan(heard)).create_execution_context()
    gone = weakref.ref(recorder)
    del runtime, recorder
    gc.collect()
    assert isinstance(gone(), Recorder)
    assert not context.set_input_shape("nothing", (1,)) and gone().num_errors() == 2
    del context
    gc.collect()
    assert gone() is None


def test_an_error_recorder_that_raises(heard, x, engine):
    context = engine.create_execution_context()
    context.error_recorder = type("Bad", (Recorder,), {"report_error": fail})()
    assert not context.set_input_shape("x", (9, 9))
    raised(heard, "Bad.report_error raised")
    works(context, x)


def test_a_refitter_has_a_recorder(heard):
    builder, network, config = make(heard)
    config.set_flag(trt.BuilderFlag.REFIT)
    engine = trt.Runtime(heard).deserialize_cuda_engine(bytes(builder.build_serialized_network(network, config)))
    refitter = trt.Refitter(engine, heard)
    refitter.error_recorder = recorder = Recorder()
    assert refitter.error_recorder is recorder
    assert not refitter.set_named_weights("nothing", np.zeros(1, np.float32)) and recorder.num_errors() == 1


# Memory.


@pytest.mark.parametrize("kind", [Slab, AsyncSlab])
def test_an_allocator_gives_an_engines_memory(heard, x, kind):
    runtime = trt.Runtime(heard)
    assert runtime.gpu_allocator is None
    runtime.gpu_allocator = allocator = kind()
    assert runtime.gpu_allocator is allocator
    slab = getattr(allocator, "slab", allocator)
    engine = runtime.deserialize_cuda_engine(plan(heard))
    context = engine.create_execution_context()
    works(context, x)
    assert slab.calls and slab.live and all(size > 0 and alignment & (alignment - 1) == 0 for size, alignment, _ in slab.calls)
    # Another one that is set later does not get what this one gave, and this one lives as long as that is there.
    runtime.gpu_allocator = None
    gone = weakref.ref(allocator)
    del allocator, runtime
    gc.collect()
    assert gone() is not None
    works(context, x)
    del context, engine
    gc.collect()
    assert not slab.live


def test_a_context_has_a_temporary_allocator(heard, x, engine):
    context = engine.create_execution_context()
    assert context.temporary_allocator is None
    context.temporary_allocator = allocator = Slab()
    assert context.temporary_allocator is allocator
    works(context, x)
    context.temporary_allocator = None
    assert context.temporary_allocator is None
    works(context, x)
    builder = trt.Builder(heard)
    builder.gpu_allocator = allocator
    assert builder.gpu_allocator is allocator


@pytest.mark.parametrize("bad", [fail, lambda *_: None, lambda *_: 0, lambda *_: "here"])
def test_an_allocator_that_refuses_or_raises(heard, x, bad):
    runtime = trt.Runtime(heard)
    runtime.gpu_allocator = type("Bad", (Slab,), {"allocate": bad})()
    blob = plan(heard)
    engine = runtime.deserialize_cuda_engine(blob)
    context = None if engine is None else engine.create_execution_context()
    if context is not None:
        with pytest.raises(RuntimeError):
            trt.infer(context, {"x": x})
    if bad is fail:
        raised(heard, "Bad.allocate raised")
    assert heard.lines or bad is fail
    runtime.gpu_allocator = type("Leaks", (Slab,), {"deallocate": fail})()
    engine = runtime.deserialize_cuda_engine(blob)
    context = engine.create_execution_context()
    works(context, x)
    heard.lines.clear()
    del context, engine
    gc.collect()
    raised(heard, "Leaks.deallocate raised")


def test_an_output_allocator(heard, x):
    class Outputs(trt.IOutputAllocator):
        def __init__(self):
            super().__init__()
            self.memory, self.shape = None, None

        def reallocate_output(self, name, memory, size, alignment):
            self.memory = np.empty(max(size, 1) + 64, np.uint8)
            return -(-self.memory.ctypes.data // 64) * 64

        def notify_shape(self, name, shape):
            self.shape = tuple(shape)

    context = trt.Runtime(heard).deserialize_cuda_engine(plan(heard, data_dependent=True)).create_execution_context()
    y = np.empty(SHAPE, np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    for method in ("reallocate_output", "reallocate_output_async"):
        assert context.set_output_allocator("kept", type("Bad", (Outputs,), {method: fail})())
        assert context.execute_async_v3(0) is False
        raised(heard, f"Bad.{method} raised")
    assert context.set_output_allocator("kept", type("Bad", (Outputs,), {"notify_shape": fail})())
    context.execute_async_v3(0)
    raised(heard, "Bad.notify_shape raised")
    outputs = Outputs()
    assert context.set_output_allocator("kept", outputs) and context.get_output_allocator("kept") is outputs
    assert context.execute_async_v3(0) and outputs.shape == (2, np.count_nonzero(x > 0))
    np.testing.assert_allclose(y, want(x), **TOLERANCE)


# Inferences.


def test_profilers(heard, x, engine, capfd):
    class Profiler(trt.IProfiler):
        def __init__(self):
            super().__init__()
            self.times = {}

        def report_layer_time(self, layer_name, ms):
            self.times[layer_name] = ms

    context = engine.create_execution_context()
    assert context.profiler is None
    context.profiler = profiler = Profiler()
    assert context.profiler is profiler
    works(context, x)
    assert profiler.times and all(ms >= 0 for ms in profiler.times.values())
    context.profiler = type("Bad", (Profiler,), {"report_layer_time": fail})()
    works(context, x)
    raised(heard, "Bad.report_layer_time raised")
    context.profiler = trt.Profiler()
    assert isinstance(context.profiler, trt.IProfiler)
    works(context, x)
    printed = capfd.readouterr().out
    assert all(name in printed for name in profiler.times) and "ms" in printed
    context.profiler = type("Mine", (trt.Profiler,), {"report_layer_time": lambda self, *args: profiler.times.update({"mine": 1})})()
    works(context, x)
    assert profiler.times["mine"] == 1
    context.profiler = None
    assert context.profiler is None
    works(context, x)


def test_a_debug_listener(heard, x, engine):
    class Listener(trt.IDebugListener):
        def __init__(self):
            super().__init__()
            self.values = {}

        def process_debug_tensor(self, addr, location, type, shape, name, stream):
            count = int(np.prod(tuple(shape)))
            self.values[name] = np.ctypeslib.as_array((ctypes.c_float * count).from_address(addr)).reshape(tuple(shape)).copy()

    context, listener = engine.create_execution_context(), Listener()
    assert context.set_debug_listener(listener) and context.set_tensor_debug_state("r", True)
    works(context, x)
    np.testing.assert_allclose(listener.values["r"], np.maximum(2 * x, 0), **TOLERANCE)
    for bad in (fail, lambda *_: False):
        context.set_debug_listener(type("Bad", (Listener,), {"process_debug_tensor": bad})())
        with pytest.raises(RuntimeError):
            trt.infer(context, {"x": x})
        if bad is fail:
            raised(heard, "Bad.process_debug_tensor raised")
    assert context.set_debug_listener(None)
    works(context, x)


# Threads.


def test_builds_and_inferences_in_threads_with_callbacks(x):
    """Python's lock is released by whoever waits, and taken by whoever calls back."""
    heard, problems = Heard(trt.ILogger.VERBOSE), []
    engine = trt.Runtime(heard).deserialize_cuda_engine(plan(heard))
    stop = threading.Event()

    def build():
        try:
            for _ in range(10):
                builder, network, config = make(heard)
                config.set_option("timing", "1")
                config.progress_monitor = Monitor()
                assert builder.build_serialized_network(network, config) is not None
        except BaseException as error:  # noqa: B036
            problems.append(error)
        finally:
            stop.set()

    def run():
        try:
            context = engine.create_execution_context()
            context.profiler = type("Mine", (trt.IProfiler,), {"report_layer_time": lambda *_: None})()
            while not stop.is_set():
                works(context, x)
        except BaseException as error:  # noqa: B036
            problems.append(error)

    threads = [threading.Thread(target=f, daemon=True) for f in (build, run, run)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a deadlock"
    assert not problems, problems


def library():
    """The library that the extension has loaded."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        return ctypes.CDLL(next(path for path in (line.split()[-1] for line in maps) if path.endswith(("/libwootz.so", "/_wootz.abi3.so")) or "/libwootz.so." in path))


def test_a_context_that_goes_lets_its_callbacks_end(x, engine):
    lib = library()
    lib.wootz_stream_create.restype, lib.wootz_stream_destroy.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    stream, told = lib.wootz_stream_create(), []

    class Slow(trt.IProfiler):
        def report_layer_time(self, layer_name, ms):
            time.sleep(0.05)
            told.append(layer_name)

    context, y = engine.create_execution_context(), np.empty(SHAPE, np.float32)
    context.profiler = Slow()
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(stream)
    del context  # with its last inference under way
    assert told
    np.testing.assert_allclose(y, want(x), **TOLERANCE)
    assert lib.wootz_stream_destroy(stream) == 0

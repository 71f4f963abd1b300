"""Memory over many cycles of building, running and destroying from Python: what a cycle takes, it gives back."""
import gc
import os
import pathlib
import subprocess
import sys

import pytest
from callback_network import SEED
from conftest import FIGURES

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
EMULATOR = BUILD / "emulator"
CYCLES, SETTLED = 1000, 200
MOST_GROWTH = 0.01  # of the resident memory after the cycles by which allocators and caches have settled


def resident():
    """Bytes of memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def model(rng):
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    weights = {"w": rng.normal(0, 1, (64, 64)).astype(np.float32), "k": rng.normal(0, 1, (4, 4, 3, 3)).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "k"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("MatMul", ["r", "w"], ["y"])]
    shaped = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4, 16, 64])
    graph = helper.make_graph(nodes, "steady", [shaped("x")], [shaped("y")], [numpy_helper.from_array(a, n) for n, a in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()


def cycle(onnx_model, feeds):
    """All that a program makes of a model, with objects that Python frees by themselves and some that are in circles."""
    import wootz

    class Profiler(wootz.IProfiler):
        def report_layer_time(self, name, ms):
            pass

    profiler, logger = Profiler(), wootz.Logger(wootz.Logger.ERROR)
    profiler.itself = profiler
    plan = wootz.build(onnx_model, shapes={"x": ((1, 4, 16, 64), (2, 4, 16, 64), (3, 4, 16, 64))}, options={"timing": "0"}, logger=logger)
    engine = wootz.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    context.profiler = profiler
    results = [wootz.infer(context, {"x": x})["y"] for x in feeds]
    assert engine.create_engine_inspector().get_engine_information(wootz.LayerInformationFormat.JSON)
    for bad in (b"no model", onnx_model[:-7]):
        with pytest.raises(wootz.BuildError):
            wootz.build(bad, logger=wootz.Logger(wootz.Logger.INTERNAL_ERROR))
    return results


def cycles(count, settled, backend):
    """Run in a process of its own: prints what was resident at either time."""
    import numpy as np

    os.environ["WOOTZ_BACKEND"] = backend
    rng = np.random.default_rng(SEED)
    onnx_model, feeds = model(rng), [rng.normal(0, 1, (n, 4, 16, 64)).astype(np.float32) for n in (1, 3, 2)]
    first = cycle(onnx_model, feeds)
    for i in range(1, count):
        results = cycle(onnx_model, feeds)
        if i == settled:
            gc.collect()
            before = resident()
    gc.collect()
    after = resident()
    for got, want in zip(results, first):
        np.testing.assert_array_equal(got, want)
    print(before, after)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["cpu", "emulator"])
def test_a_thousand_cycles_leave_nothing(place):
    if place == "emulator" and not EMULATOR.is_dir():
        pytest.skip("this build has no cuda backend")
    print(f"WOOTZ_SEED={SEED}")
    env = {**os.environ, "WOOTZ_SEED": str(SEED)}
    if place == "emulator":
        env.update(LD_LIBRARY_PATH=str(EMULATOR), WOOTZ_CUDA_CACHE="")
    code = f"import test_steady; test_steady.cycles({CYCLES}, {SETTLED}, {'cpu' if place == 'cpu' else 'cuda'!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1200, env=env, cwd=pathlib.Path(__file__).parent)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    before, after = map(int, done.stdout.split()[-2:])
    FIGURES.append(f"{CYCLES} cycles from Python on the {place}: {before / 2**20:.1f} MiB after {SETTLED}, {after / 2**20:.1f} MiB at the end")
    assert after <= before * (1 + MOST_GROWTH), FIGURES[-1]

"""ONNX's own backend suite through wootz.onnx_backend. Cases run in forked children: a crash or a hang costs one case, and fails
the test. The count is printed; it may only grow."""
import os
import signal
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt, Runner

import wootz.onnx_backend as backend
from conftest import FIGURES

LEAST = 1890  # without the nine models of kind "real"; drawn numbers (Bernoulli) may pass by chance
SECONDS_A_CASE = 60


def cases():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in ("node", "simple", "pytorch-operator", "pytorch-converted"):
            yield from loader.load_model_tests(kind=kind)


def values(folder, prefix, model):
    found = []
    while os.path.exists(path := os.path.join(folder, f"{prefix}_{len(found)}.pb")):
        infos = model.graph.input if prefix == "input" else model.graph.output
        if infos[len(found)].type.WhichOneof("value") != "tensor_type":
            raise BackendIsNotSupposedToImplementIt("no tensor")
        tensor = TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        found.append(numpy_helper.to_array(tensor))
    return found


def run(case):
    """'passed', 'unsupported', or what went wrong."""
    try:
        model = case.model or onnx.load(os.path.join(case.model_dir, "model.onnx"))
        rep = backend.prepare(model)
        sets = case.data_sets
        if sets is None:
            folders = [os.path.join(case.model_dir, d) for d in sorted(os.listdir(case.model_dir)) if d.startswith("test_data_set")]
            sets = [(values(f, "input", model), values(f, "output", model)) for f in folders]
        plain = lambda x: numpy_helper.to_array(x) if isinstance(x, TensorProto) else np.asarray(x) if isinstance(x, np.generic) else x
        for inputs, outputs in sets:
            got = rep.run([plain(x) for x in inputs])
            Runner.assert_similar_outputs([plain(x) for x in outputs], got, case.rtol, case.atol, case.model_dir)
        return "passed"
    except BackendIsNotSupposedToImplementIt:
        return "unsupported"
    except Exception as error:
        return f"failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]


def run_all(todo):
    """{name: result}: a child works through the list and reports each case by a line; where it dies, another goes on behind."""
    results, at = {}, 0
    while at < len(todo):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with os.fdopen(write, "w") as out, np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for case in todo[at:]:
                    signal.alarm(SECONDS_A_CASE)
                    print(run(case).replace("\n", " "), file=out, flush=True)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as lines:
            for line in lines:
                results[todo[at].name] = line.strip()
                at += 1
        _, status = os.waitpid(child, 0)
        if at < len(todo):
            results[todo[at].name] = f"crashed or hung (status {status})"
            at += 1
    return results


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_onnx_backend_suite_slow():
    results = run_all(list(cases()))
    passed = sum(r == "passed" for r in results.values())
    unsupported = sum(r == "unsupported" for r in results.values())
    crashed = {n: r for n, r in results.items() if r.startswith("crashed")}
    failed = {n: r for n, r in results.items() if r.startswith("failed")}
    FIGURES.append(f"ONNX backend suite: {passed} of {len(results)} passed, {len(failed)} failed, {unsupported} not supported")
    for name, reason in failed.items():
        print(f"  {name}: {reason}")
    assert not crashed, crashed
    assert passed >= LEAST

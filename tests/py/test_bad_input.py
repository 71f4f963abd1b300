"""Bad input to the command line: a message that names the place, exit status 1, nothing left half written."""
import os
import pathlib
import resource
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"


def call(*command, cwd=None, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, cwd=cwd, **kwargs)


def save(path, nodes, inputs=(("x", [2, 3]),), weights=(), opset=17, dtype=TensorProto.FLOAT, out="y"):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(out, dtype, None)], list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def bias(values=6):
    return numpy_helper.from_array(np.arange(values, dtype=np.float32).reshape(-1, 3), "b")


def good(folder, shape=(2, 3)):
    add = helper.make_node("Add", ["x", "b"], ["y"], name="add0")
    return save(folder / "good.onnx", [add], [("x", list(shape))], [bias(3)])


def external(folder, location, length=24, offset=0):
    """A model whose weight 'b' of 24 bytes lies in another file."""
    path = save(folder / "external.onnx", [helper.make_node("Add", ["x", "b"], ["y"], name="add0")])
    model = onnx.load(path, load_external_data=False)
    tensor = model.graph.initializer.add(name="b", data_type=TensorProto.FLOAT, dims=[2, 3],
                                         data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    return path


def write(path, data):
    path.write_bytes(data)
    return path


def linked(folder):
    outside = folder / "outside"
    outside.mkdir()
    write(outside / "secret.bin", bytes(24))
    inside = folder / "model"
    inside.mkdir()
    (inside / "w.bin").symlink_to(outside / "secret.bin")
    return external(inside, "w.bin")


def short(folder):
    write(folder / "w.bin", bytes(20))
    return external(folder, "w.bin")


def mismatched(folder):
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("MatMul", ["r", "b"], ["y"], name="product7")]
    return save(folder / "shapes.onnx", nodes, [("x", [2, 4])], [bias()])


# What `wootz build MODEL -o out.plan` is given, and what stderr must name.
MODELS = {
    "missing file": (lambda f: f / "nowhere.onnx", ["nowhere.onnx", "No such file"]),
    "a folder": (lambda f: f, ["not a regular file"]),
    "empty file": (lambda f: write(f / "empty.onnx", b""), ["empty.onnx"]),
    "text file": (lambda f: write(f / "text.onnx", b"This is no model, it is a letter.\n" * 20), ["text.onnx"]),
    "zeros": (lambda f: write(f / "zeros.onnx", bytes(1000)), ["zeros.onnx"]),
    "truncated": (lambda f: write(f / "cut.onnx", good(f).read_bytes()[:-20]), ["cut.onnx"]),
    "unknown operator": (lambda f: save(f / "m.onnx", [helper.make_node("Frobnicate", ["x"], ["y"], name="frob3")]),
                         ["m.onnx", "Frobnicate", "frob3"]),
    "unknown domain": (lambda f: save(f / "m.onnx", [helper.make_node("Relu", ["x"], ["y"], name="r1", domain="my.ops")]),
                       ["my.ops", "r1"]),
    "opset of the future": (lambda f: save(f / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], opset=99), ["99"]),
    "opset 0": (lambda f: save(f / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], opset=0), ["opset"]),
    "unknown input of a node": (lambda f: save(f / "m.onnx", [helper.make_node("Relu", ["ghost"], ["y"], name="r2")]),
                                ["ghost", "r2"]),
    "shapes that do not fit": (mismatched, ["product7", "4", "3"]),
    "two errors": (lambda f: save(f / "m.onnx", [helper.make_node("Nope", ["x"], ["a"], name="n1"),
                                                 helper.make_node("Nada", ["x"], ["y"], name="n2")]),
                   ["Nope", "n1", "Nada", "n2"]),
    "external data above the folder": (lambda f: external(f, "../w.bin"), ["'b'", "../w.bin"]),
    "external data by absolute path": (lambda f: external(f, "/etc/passwd"), ["'b'", "/etc/passwd"]),
    "external data missing": (lambda f: external(f, "gone.bin"), ["'b'", "gone.bin"]),
    "external data by a link": (linked, ["'b'", "w.bin", "link"]),
    "external data too short": (short, ["'b'", "w.bin", "20"]),
    "external data beyond the end": (lambda f: write(f / "w.bin", bytes(24)) and external(f, "w.bin", offset=8),
                                     ["'b'", "w.bin"]),
    "external data of another size": (lambda f: write(f / "w.bin", bytes(64)) and external(f, "w.bin", length=28),
                                      ["'b'", "28", "24"]),
    "shape not given": (lambda f: good(f, ("N", 3)), ["'x'", "--shapes"]),
}


def expect_refusal(done, words):
    assert done.returncode == 1, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "wootz: " in done.stderr or "FAILED" in done.stdout
    for word in words:
        assert word in done.stderr, f"{word!r} is not named in:\n{done.stderr}"
    assert len(done.stderr) < 4000


@pytest.mark.parametrize("case", MODELS)
def test_models(case, tmp_path):
    make, words = MODELS[case]
    model = make(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    expect_refusal(call(WOOTZ, "build", model, "-o", out / "out.plan", "--no-timing"), words)
    assert not list(out.iterdir()), "something was left"


@pytest.mark.parametrize("case", ["missing file", "text file", "unknown operator", "shape not given"])
def test_models_by_the_other_commands(case, tmp_path):
    make, words = MODELS[case]
    model = make(tmp_path)
    if model.suffix == ".onnx":
        expect_refusal(call(WOOTZ, "bench", model, "--no-timing", "--duration", "0"), words)
    if case != "shape not given":  # which trtexec takes as 1
        done = call(WOOTZ, "exec", f"--onnx={model}", f"--saveEngine={tmp_path / 'out.plan'}", "--skipInference")
        assert done.returncode == 1, done.stdout
        for word in words:
            assert word in done.stderr + done.stdout
    assert not (tmp_path / "out.plan").exists()


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "good.plan"
    done = call(WOOTZ, "build", good(tmp_path, ("N", 3)), "-o", path, "--no-timing", "--minShapes", "x:1x3", "--optShapes",
                "x:2x3", "--maxShapes", "x:4x3")
    assert done.returncode == 0, done.stderr
    return path


def npy(folder, array):
    path = folder / "x.npy"
    np.save(path, array)
    return path


def changed(plan, at, data):
    content = bytearray(plan.read_bytes())
    content[at : at + len(data)] = data
    return write(plan.parent / "changed.plan", bytes(content))


# Arguments of `wootz run` from the plan and its folder, and what stderr must name.
RUNS = {
    "missing plan": (lambda p, f: [f / "gone.plan"], ["gone.plan"]),
    "a folder as plan": (lambda p, f: [f], ["no regular file"]),
    "empty plan": (lambda p, f: [write(f / "e.plan", b"")], ["e.plan"]),
    "text as plan": (lambda p, f: [write(f / "t.plan", b"not a plan\n" * 100)], ["t.plan"]),
    "truncated plan": (lambda p, f: [write(f / "cut.plan", p.read_bytes()[:-100])], ["cut.plan"]),
    "changed weight": (lambda p, f: [changed(p, len(p.read_bytes()) - 60, b"\x55")], ["changed.plan", "digest"]),
    "changed header": (lambda p, f: [changed(p, 200, b"\x55")], ["changed.plan"]),
    "plan of another version": (lambda p, f: [changed(p, 8, (7).to_bytes(4, "little"))],
                                ["changed.plan", "format 7", "reads"]),
    "shape above the profile": (lambda p, f: [p, "-i", f"x={npy(f, np.zeros((5, 3), np.float32))}"],
                                ["'x'", "5x3", "[1, 4]"]),
    "shape of another rank": (lambda p, f: [p, "-i", f"x={npy(f, np.zeros((5,), np.float32))}"], ["'x'", "rank 2"]),
    "shape outside, by --shapes": (lambda p, f: [p, "--shapes", "x:9x3"], ["'x'", "9x3", "[1, 4]"]),
    "wrong fixed dimension": (lambda p, f: [p, "--shapes", "x:2x4"], ["'x'", "2x4", "3"]),
    "wrong type": (lambda p, f: [p, "-i", f"x={npy(f, np.zeros((2, 3), np.float64))}"], ["'x'", "float64", "float32"]),
    "other type": (lambda p, f: [p, "-i", f"x={npy(f, np.zeros((2, 3), np.int32))}"], ["'x'", "int32", "float32"]),
    "Fortran order": (lambda p, f: [p, "-i", f"x={npy(f, np.asfortranarray(np.zeros((2, 3), np.float32)))}"],
                      ["x.npy", "Fortran"]),
    "no such input": (lambda p, f: [p, "-i", f"q={npy(f, np.zeros((2, 3), np.float32))}"], ["'q'"]),
    "missing array": (lambda p, f: [p, "-i", f"x={f / 'gone.npy'}"], ["gone.npy"]),
    "array that is none": (lambda p, f: [p, "-i", f"x={write(f / 'x.npy', b'text')}"], ["x.npy", "not a .npy"]),
    "array cut short": (lambda p, f: [p, "-i", f"x={write(f / 'c.npy', npy(f, np.zeros((2, 3), np.float32)).read_bytes()[:-4])}"],
                        ["c.npy", "fewer bytes"]),
    "array of impossible size": (
        lambda p, f: [p, "-i", "x=" + str(write(f / "h.npy", npy(f, np.zeros((2, 3), np.float32)).read_bytes().replace(
            b"(2, 3), }           ", b"(2, 999999999999), }")))], ["h.npy", "fewer bytes"]),
}


@pytest.mark.parametrize("case", RUNS)
def test_runs(case, plan, tmp_path):
    make, words = RUNS[case]
    out = tmp_path / "out"
    out.mkdir()
    expect_refusal(call(WOOTZ, "run", *make(plan, tmp_path), "--output-dir", out), words)
    assert not list(out.iterdir()), "something was left"


@pytest.mark.parametrize("command", ["bench", "inspect"])
@pytest.mark.parametrize("case", ["missing plan", "text as plan", "changed weight", "plan of another version"])
def test_plans_by_the_other_commands(command, case, plan, tmp_path):
    make, words = RUNS[case]
    expect_refusal(call(WOOTZ, command, *make(plan, tmp_path)), words)


def test_plan_for_instructions_that_the_machine_lacks(tmp_path):
    """As on a lesser processor: WOOTZ_ISA caps what this one has."""
    made = call(WOOTZ, "build", good(tmp_path), "-o", tmp_path / "p.plan", "--no-timing")
    assert made.returncode == 0, made.stderr
    if "avx512" not in call(WOOTZ, "inspect", tmp_path / "p.plan").stdout:
        pytest.skip("this machine has no AVX-512")
    done = call(WOOTZ, "run", tmp_path / "p.plan", "--output-dir", tmp_path, env={**os.environ, "WOOTZ_ISA": "avx2"})
    expect_refusal(done, ["needs avx512", "avx2", "layer"])


def test_wrong_device(tmp_path):
    done = call(WOOTZ, "build", good(tmp_path), "-o", tmp_path / "p.plan", "--device", "abacus")
    expect_refusal(done, ["abacus", "cpu"])
    done = call(WOOTZ, "build", good(tmp_path), "-o", tmp_path / "p.plan", "--device", write(tmp_path / "d.json", b"{]"))
    expect_refusal(done, ["d.json"])
    assert not (tmp_path / "p.plan").exists()


def test_bad_timing_cache(tmp_path):
    cache = write(tmp_path / "cache", b"no cache at all")
    done = call(WOOTZ, "build", good(tmp_path), "-o", tmp_path / "p.plan", "--timing-cache", cache)
    expect_refusal(done, [str(cache), "timing cache"])
    assert cache.read_bytes() == b"no cache at all"
    assert not (tmp_path / "p.plan").exists()
    expect_refusal(call(WOOTZ, "build", good(tmp_path), "-o", tmp_path / "p.plan", "--timing-cache", tmp_path),
                   [str(tmp_path), "regular file"])


def limited(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return {"preexec_fn": limit, "restore_signals": False}  # Python's ignored SIGXFSZ: writing fails, as on a full disk


def test_disk_full_while_saving(plan, tmp_path):
    weights = numpy_helper.from_array(np.ones((64, 64, 3), np.float32), "b")
    big = save(tmp_path / "big.onnx", [helper.make_node("Add", ["x", "b"], ["y"])], [("x", [64, 64, 3])], [weights])
    out = tmp_path / "out"
    out.mkdir()
    old = write(out / "old.plan", b"the old one")
    for target in (out / "new.plan", old):
        done = call(WOOTZ, "build", big, "-o", target, "--no-timing", **limited(8192))
        expect_refusal(done, [str(target), "cannot be written"])
    assert list(out.iterdir()) == [old] and old.read_bytes() == b"the old one"
    # The results of a run, too.
    made = call(WOOTZ, "build", big, "-o", tmp_path / "big.plan", "--no-timing")
    assert made.returncode == 0, made.stderr
    results = tmp_path / "results"
    expect_refusal(call(WOOTZ, "run", tmp_path / "big.plan", "--output-dir", results, **limited(8192)),
                   ["y.npy", "cannot be written"])
    assert not list(results.iterdir())


def test_disk_full_for_real(plan, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or call("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", small).returncode != 0:
        pytest.skip("mounting needs root")
    try:
        model = tmp_path / "good.onnx"
        done = call(WOOTZ, "build", model, "-o", small / "p.plan", "--no-timing", "--shapes", "x:2x3")
        expect_refusal(done, ["p.plan", "No space left"])
        assert not list(small.iterdir())
    finally:
        call("umount", small)


def test_targets_that_are_no_files(tmp_path):
    model = good(tmp_path)
    expect_refusal(call(WOOTZ, "build", model, "-o", "/dev/full", "--no-timing"), ["/dev/full", "No space left"])
    assert pathlib.Path("/dev/full").is_char_device()
    assert call(WOOTZ, "build", model, "-o", "/dev/null", "--no-timing").returncode == 0
    assert pathlib.Path("/dev/null").is_char_device()
    expect_refusal(call(WOOTZ, "build", model, "-o", tmp_path / "no/such/p.plan", "--no-timing"), ["no/such/p.plan"])
    expect_refusal(call(WOOTZ, "build", model, "-o", tmp_path, "--no-timing"), [str(tmp_path), "cannot be written"])
    # A link keeps its place; what it points to is replaced.
    write(tmp_path / "real.plan", b"old")
    (tmp_path / "link.plan").symlink_to("real.plan")
    assert call(WOOTZ, "build", model, "-o", tmp_path / "link.plan", "--no-timing").returncode == 0
    assert (tmp_path / "link.plan").is_symlink() and (tmp_path / "real.plan").stat().st_size > 100


@pytest.mark.parametrize("arguments", [["frobnicate"], ["build"], ["build", "m.onnx", "-o", "p", "--shapes", "x=1"],
                                       ["run", "p.plan", "-i", "x"], ["bench", "p.plan", "--iterations", "many"]])
def test_wrong_usage_is_status_2(arguments, tmp_path):
    done = call(WOOTZ, *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr and not list(tmp_path.iterdir())


def test_messages_outlive_the_logger_that_python_forgot():
    """What is told of the process goes to the last logger, whose owner may be gone."""
    code = ("import gc, wootz\n"
            "class Mine(wootz.ILogger):\n"
            "    def log(self, severity, msg): print('told', msg)\n"
            "wootz.Builder(Mine())\n"
            "gc.collect(); junk = [bytes(200) for _ in range(100000)]\n"
            "try: wootz.backend_libraries('h300')\n"
            "except ValueError: print('refused')\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "refused" in done.stdout and "told" in done.stdout, (done.returncode, done.stdout, done.stderr[-2000:])

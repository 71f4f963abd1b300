"""What the user guide says, against the program: links, operators, options, examples."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")),
         ROOT / "examples/README.md", ROOT / "examples/gallery/README.md"]
WOOTZ = BUILD / "bin" / "wootz"


def call(*command, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **kwargs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_source_files_exist(page):
    """Names like `src/base/limits.h`; not patterns, and not what a recipe leaves open with <>."""
    for name in re.findall(r"`((?:src|tools|tests|python|include|shims|cmake|docs)/[\w./-]+)`", page.read_text()):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


def test_the_measured_figures_are_those_of_the_results():
    done = call(sys.executable, ROOT / "bench/summary.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_listed_operators_are_supported():
    import wootz
    rows = re.findall(r"^\| (\w+) \| ([\w.]*) \| [\d, ]+ \|", (ROOT / "docs/supported-ops.md").read_text(), re.M)
    assert len(rows) > 150
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    parser = wootz.OnnxParser(network, logger)
    unknown = [op for op, domain in rows if domain == "" and not parser.supports_operator(op)]
    assert not unknown, f"docs/supported-ops.md lists {unknown}: run tools/docs/supported_ops.py"


@pytest.mark.parametrize("command", ["build", "run", "bench", "refit", "devices", "inspect", "diff", "compare", "quantize"])
def test_command_line_options_exist(command):
    text = (ROOT / "docs/command-line.md").read_text()
    section = re.search(rf"^## wootz {command}\b.*?(?=^## |\Z)", text, re.M | re.S)[0]
    rows = " ".join(re.findall(r"^\| (`-.*?) \|", section, re.M))
    named = set(re.findall(r"`(--?[\w-]+)", rows))
    help_text = call(WOOTZ, command, "--help").stdout
    known = set(re.findall(r"--?[A-Za-z][\w-]*", help_text))
    if command in ("diff", "compare"):  # which take those of build as well
        known -= set(re.findall(r"--?[A-Za-z][\w-]*", call(WOOTZ, "build", "--help").stdout)) - {"--help", "-h"}
    assert named <= known, f"wootz {command} has no {named - known}"
    if named:
        assert known - named <= {"-h", "--help", "-o", "--output", "--verbose"}, f"not described: {known - named}"


def test_every_option_of_a_build_is_described_and_reached_from_the_command_line(model, tmp_path):
    command = ["build", model, "-o", tmp_path / "plan", "--shapes", "x:2x3", "--device", "cpu"]
    refused = call(WOOTZ, *command, "--option", "no_such=1")
    keys = set(re.search(r"the options are: ([\w, ]+)", refused.stderr)[1].strip().split(", "))
    assert refused.returncode != 0 and len(keys) > 10
    told = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/python.md").read_text(), re.M))
    assert keys <= told, f"docs/python.md lacks {keys - told}"
    header = set(re.findall(r"^///   (\w+)  ", (ROOT / "include/wootz/extensions.h").read_text(), re.M))
    assert keys <= header, f"include/wootz/extensions.h lacks {keys - header}"
    assert call(WOOTZ, *command, "--option", "timing=0", "--option", "threads=1").returncode == 0
    assert call(WOOTZ, *command, "--option", "timing").returncode == 2


@pytest.fixture
def model(tmp_path):
    """y = relu(x * w), with x of n x 3."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["s"]), helper.make_node("Relu", ["s"], ["y"])], "docs",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(np.array([[1, -1], [2, 0], [3, -1]], np.float32), "w")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_python_page(model):
    short, long, waiting, device = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/python.md").read_text(), re.M | re.S)
    code = short + "\nassert outputs['y'].tolist() == [[6, 0]] * 2, outputs\n"
    code += "x, y = np.full((4, 3), 2, np.float32), np.empty((4, 2), np.float32)\n" + long
    code += "assert y.tolist() == [[12, 0]] * 4, y\n" + waiting
    code += "assert first['y'].tolist() == [[6, 0]] * 2 and second['y'].tolist() == [[12, 0]] * 2, (first, second)\n" + device
    code += "assert result.tolist() == [[12, 0]] * 4, result\nprint('done')\n"
    path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
    done = call(sys.executable, "-c", code, cwd=model.parent, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr


def test_command_line_from_model_to_result(model, tmp_path):
    x = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    plan, out = tmp_path / "model.plan", tmp_path / "out"
    refused = call(WOOTZ, "build", model, "-o", plan)
    assert refused.returncode == 1 and "input 'x' has dynamic dimensions (-1x3)" in refused.stderr, refused.stderr
    built = call(WOOTZ, "build", model, "-o", plan, "--minShapes", "x:1x3", "--optShapes", "x:4x3", "--maxShapes", "x:8x3")
    assert built.returncode == 0, built.stderr
    ran = call(WOOTZ, "run", plan, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", out)
    assert ran.returncode == 0, ran.stderr
    expected = np.maximum(x @ np.array([[1, -1], [2, 0], [3, -1]], np.float32), 0)
    np.testing.assert_allclose(np.load(out / "y.npy"), expected, rtol=1e-5, atol=1e-6)
    damaged = bytearray(plan.read_bytes())
    damaged[700] ^= 1
    plan.write_bytes(damaged)
    refused = call(WOOTZ, "inspect", plan)
    assert refused.returncode == 1 and "damaged (its digest does not match)" in refused.stderr, refused.stderr
    assert call(WOOTZ, "build", model).returncode == 2


def test_every_example_is_built_and_described():
    """A program of examples/ is in its CMake list, and a row of its page."""
    folder = ROOT / "examples"
    listed = set(re.search(r"set\(programs ([^)]*)\)", (folder / "CMakeLists.txt").read_text())[1].split())
    sources = {file.stem for file in folder.glob("*.cpp") if "int main(" in file.read_text()}
    rows = set(re.findall(r"^\| \[(\w+)\]\(\w+\.cpp\)", (folder / "README.md").read_text(), re.M))
    assert sources == listed == rows


def test_examples_know_nothing_of_ours():
    for file in sorted((ROOT / "examples").glob("*.[ch]*")):
        headers = re.findall(r'^#include [<"]([^>"]+)[>"]', file.read_text(), re.M)
        own = [h for h in headers if "/" in h or h.endswith(".h") and not h.startswith(("Nv", "cuda_"))
               and not (ROOT / "examples" / h).exists()]
        assert not own, f"{file.name} includes {own}"

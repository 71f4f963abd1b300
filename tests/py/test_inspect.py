"""Reports, comparisons and taps: by command line, from Python, and the page in a real browser."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"


def call(*command, status=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Convolutions with batch normalization, a residual, an identity, a squeeze-and-excite and a product."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(7)
    weights, nodes = [], []

    def weight(name, *shape, positive=False):
        value = rng.standard_normal(shape).astype(np.float32) * 0.3
        weights.append(numpy_helper.from_array(np.abs(value) + 0.5 if positive else value, name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output.upper(), **attributes))
        return output

    def conv_bn(x, name, channels, out, kernel=3):
        c = node("Conv", [x, weight(name + "_w", out, channels, kernel, kernel)], name + "_conv", pads=[kernel // 2] * 4)
        parameters = [weight(name + "_s", out, positive=True), weight(name + "_b", out), weight(name + "_m", out),
                      weight(name + "_v", out, positive=True)]
        return node("BatchNormalization", [c, *parameters], name + "_bn")

    a = node("Relu", [conv_bn("x", "first", 3, 8)], "first_relu")
    a = node("Identity", [a], "same")
    b = node("Relu", [conv_bn(a, "second", 8, 8)], "second_relu")
    c = node("Relu", [node("Add", [conv_bn(b, "third", 8, 8), a], "residual")], "sum_relu")
    g = node("GlobalAveragePool", [c], "pooled")
    g = node("Sigmoid", [node("Conv", [g, weight("gate_w", 8, 8, 1, 1)], "gate_conv")], "gate")
    c = node("Mul", [c, g], "gated")
    p = node("Concat", [c, a], "both", axis=1)
    f = node("Flatten", [node("GlobalAveragePool", [p], "mean")], "flat")
    node("Softmax", [node("MatMul", [f, weight("head_w", 16, 5)], "logits")], "y", axis=1)
    graph = helper.make_graph(nodes, "inspected", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])], weights)
    path = tmp_path_factory.mktemp("inspect") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture(scope="module")
def built(model):
    """The plan, its report as JSON and as a page."""
    plan, page = model.with_suffix(".plan"), model.with_suffix(".html")
    done = call(WOOTZ, "build", model, "-o", plan, "--no-timing", "--json", "--report", page)
    return plan, json.loads(done.stdout), page


def test_stages_are_dumped_as_text(model, tmp_path):
    call(WOOTZ, "build", model, "-o", tmp_path / "m.plan", "--device", "cpu", "--no-timing", "--dump-stages", tmp_path / "stages")
    listed = json.loads((tmp_path / "stages" / "stages.json").read_text())
    times = {stage["name"]: stage["ms"] for stage in listed["stages"]}
    assert {"infer", "passes", "lower", "choose", "pack", "report"} <= set(times) and all(ms >= 0 for ms in times.values())
    names = [entry["file"] for entry in listed["files"]]
    assert names == sorted(names) and names[0] == "00.import.graph.txt"
    assert {path.name for path in (tmp_path / "stages").glob("*.txt")} == set(names)
    assert (tmp_path / "stages" / names[0]).read_text().startswith("graph ")
    program = (tmp_path / "stages" / names[-1]).read_text()
    assert program.startswith("program ") and "FIRST" in program


def test_build_report_has_the_keys(built, model):
    plan, report, page = built
    assert (report["operation"], report["status"]) == ("build-engine", "success")
    assert (report["input_model"], report["output_engine"]) == (str(model), str(plan))
    assert report["configuration"]["precision"] == ["FP32"] and report["configuration"]["dynamic_shapes"] is False
    assert "workspace_mb" in report["configuration"]
    assert report["optimization"]["layer_fusions"] >= 3
    assert report["optimization"]["reformats_eliminated"] >= 0
    assert report["optimization"]["tactics_selected"] == len(report["layers"])
    assert report["performance"]["build_time_s"] > 0 and report["performance"]["estimated_latency_ms"] > 0
    assert report["performance"]["engine_size_mb"] == pytest.approx(plan.stat().st_size / 2**20)
    fates = {n["Name"]: n for n in report["nodes"]}
    assert set(fates) >= {"FIRST_CONV", "FIRST_BN", "SAME", "BOTH", "Y"}
    steps = {n: layer["Name"] for layer in report["layers"] for n in layer["Nodes"]}
    assert steps["FIRST_CONV"] == steps["FIRST_BN"] == steps["FIRST_RELU"]
    assert steps["THIRD_CONV"] == steps["RESIDUAL"] == steps["SUM_RELU"]


def test_failed_build_is_told_as_json(tmp_path):
    (tmp_path / "bad.onnx").write_text("no model")
    done = call(WOOTZ, "build", tmp_path / "bad.onnx", "-o", tmp_path / "p.plan", "--json", status=1)
    report = json.loads(done.stdout)
    assert (report["operation"], report["status"]) == ("build-engine", "failed") and "bad.onnx" in report["error"]


def test_inspect(built, tmp_path):
    plan, report, _ = built
    text = call(WOOTZ, "inspect", plan).stdout
    assert "FIRST_CONV + FIRST_BN + FIRST_RELU" in text
    layers = json.loads(call(WOOTZ, "inspect", plan, "--json").stdout)
    assert layers["Bindings"] == ["x", "y"]
    for layer in layers["Layers"]:
        for key in ("Name", "LayerType", "Inputs", "Outputs", "TacticName", "TacticValue", "Metadata", "StreamId"):
            assert key in layer, f"{layer['Name']} has no {key}"
        for tensor in layer["Inputs"] + layer["Outputs"]:
            assert {"Name", "Location", "Dimensions", "Format/Datatype"} <= set(tensor)
    full = json.loads(call(WOOTZ, "inspect", plan, "--json", "--full").stdout)
    assert full["layers"] == report["layers"] and full["nodes"] == report["nodes"]
    svg = tmp_path / "graph.svg"
    call(WOOTZ, "inspect", plan, "--graph", svg)
    root = xml.etree.ElementTree.parse(svg).getroot()
    regions = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("class", "").startswith("region")]
    assert len(regions) == len(report["layers"])
    call(WOOTZ, "inspect", plan, "--graph", tmp_path / "graph.png", status=2)


def test_diff(built, model, tmp_path):
    plan = built[0]
    other = tmp_path / "unfused.plan"
    call(WOOTZ, "build", model, "-o", other, "--no-timing", "--disable-passes", "all")
    assert "The same." in call(WOOTZ, "diff", plan, plan, "--exit-code").stdout
    assert json.loads(call(WOOTZ, "diff", plan, model, "--no-timing", "--json").stdout)["same"] is True
    text = call(WOOTZ, "diff", plan, other).stdout
    assert "FIRST_CONV + FIRST_BN + FIRST_RELU" in text and "They differ." in text
    found = json.loads(call(WOOTZ, "diff", plan, other, "--json", "--exit-code", status=3).stdout)
    assert any({"FIRST_CONV", "FIRST_RELU"} <= set(f["nodes"]) for f in found["fusion"])
    narrow = tmp_path / "narrow.plan"
    call(WOOTZ, "build", model, "-o", narrow, "--no-timing", "--isa", "avx2")
    changes = json.loads(call(WOOTZ, "diff", plan, narrow, "--json").stdout)
    assert all("tactic" in s["changes"] or "layout" in s["changes"] for s in changes["steps"])
    call(WOOTZ, "diff", plan, tmp_path / "missing.plan", status=1)
    call(WOOTZ, "diff", plan, status=2)


def reference_values(model, feeds):
    """Every value of the model, by the onnx package's own evaluator."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    proto = onnx.load(model)
    names = [o for n in proto.graph.node for o in n.output]
    del proto.graph.output[:]
    proto.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    return dict(zip(names, ReferenceEvaluator(proto).run(None, feeds)))


def test_taps_by_command_line(built, model, tmp_path):
    plan = built[0]
    x = np.random.default_rng(3).standard_normal((1, 3, 16, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    done = call(WOOTZ, "run", plan, "-i", f"x={tmp_path / 'x.npy'}", "--dump-tensors", "all", "--output-dir", tmp_path, "--json")
    want = reference_values(model, {"x": x})
    dumped = {t["name"]: np.load(t["file"]) for t in json.loads(done.stdout)["tensors"]}
    assert {"first_relu", "same", "second_relu", "sum_relu", "both"} <= set(dumped)
    for name, value in dumped.items():
        np.testing.assert_allclose(value, want[name], rtol=1e-4, atol=1e-4, err_msg=name)
    states = {v["name"]: v for v in json.loads(call(WOOTZ, "inspect", plan, "--values", "--json").stdout)}
    assert {n for n, v in states.items() if v["state"] == "tensor"} == set(dumped) | {"y"}
    inside = call(WOOTZ, "run", plan, "--dump-tensors", "first_conv", "--output-dir", tmp_path, status=1).stderr
    assert "'first_conv'" in inside and "'FIRST_CONV + FIRST_BN + FIRST_RELU + SAME'" in inside and "inputs 'x'" in inside
    assert "first_conv: inside 'FIRST_CONV" in call(WOOTZ, "inspect", plan, "--values").stdout
    unknown = call(WOOTZ, "run", plan, "--dump-tensors", "first_reluu", "--output-dir", tmp_path, status=1).stderr
    assert "no value 'first_reluu'" in unknown and "'first_relu'" in unknown


def test_a_line_for_each_quantization(tmp_path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = [numpy_helper.from_array(np.random.default_rng(1).integers(-90, 90, (8, 8, 3, 3)).astype(np.int8), "w"),
               numpy_helper.from_array(np.float32(0.02), "s"), numpy_helper.from_array(np.int8(0), "z")]
    nodes = [helper.make_node(op, [i, "s", "z"], [o], name=o.upper()) for op, i, o in [
        ("QuantizeLinear", "x", "xq"), ("DequantizeLinear", "xq", "xd"), ("DequantizeLinear", "w", "wd"),
        ("QuantizeLinear", "r", "rq"), ("DequantizeLinear", "rq", "y")]]
    nodes[3:3] = [helper.make_node("Conv", ["xd", "wd"], ["c"], name="CONV"), helper.make_node("Relu", ["c"], ["r"], name="RELU")]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None if name == "y" else [1, 8, 9, 9])
    graph = helper.make_graph(nodes, "quantized", [value("x")], [value("y")], weights)
    path = tmp_path / "q.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    report = json.loads(call(WOOTZ, "build", path, "-o", tmp_path / "q.plan", "--no-timing", "--json").stdout)
    notes = {n["Node"]: n for n in report["notes"]}
    assert set(notes) == {"XQ", "XD", "WD", "RQ", "Y"}
    names = {layer["Name"] for layer in report["layers"]}
    for note in notes.values():
        assert note["Kind"] in ("Quantize", "Dequantize") and note["Fate"] in ("fused", "folded", "kept", "removed") and note["Reason"]
        assert note["Step"] in names or note["Fate"] in ("removed", "folded")
    int8 = [layer for layer in report["layers"] if "CONV" in layer["Nodes"] and "Int8" in layer["Inputs"][0]["Format/Datatype"]]
    if int8:  # a processor that multiplies 8 bits
        assert notes["XD"]["Fate"] == "fused" and notes["XD"]["Step"] == int8[0]["Name"]
        assert report["configuration"]["precision"] == ["FP32", "INT8"]


def test_nodes_known_while_reading_the_model(tmp_path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    node = lambda op, inputs, output, **attrs: helper.make_node(op, inputs, [output], name=output.upper(), **attrs)
    nodes = [node("Shape", ["x"], "shape"), node("Gather", ["shape", "zero"], "batch", axis=0),
             node("Concat", ["batch", "rest"], "target", axis=0), node("Exp", ["x"], "e"), node("Reshape", ["e", "target"], "y")]
    ints = lambda name, *v: numpy_helper.from_array(np.array(v, np.int64), name)
    graph = helper.make_graph(nodes, "folded", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 12])], [ints("zero", 0), ints("rest", -1)])
    path = tmp_path / "folded.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    report = json.loads(call(WOOTZ, "build", path, "-o", tmp_path / "f.plan", "--no-timing", "--json").stdout)
    fate = {n["Name"]: (n["Fate"], n.get("RemovedBy")) for n in report["nodes"]}
    assert set(fate) == {"SHAPE", "BATCH", "TARGET", "E", "Y"}
    assert all(fate[n] == ("removed", "import") for n in ("SHAPE", "BATCH", "TARGET")) and fate["E"][0] == "step"


def test_python(model, tmp_path):
    import wootz
    page = tmp_path / "report.html"
    plan = wootz.build(str(model), options={"timing": "0"}, report=page)
    assert "<!DOCTYPE html>" in page.read_text(encoding="utf-8")
    engine = wootz.Runtime(wootz.Logger(wootz.Logger.INTERNAL_ERROR)).deserialize_cuda_engine(plan)
    report = json.loads(engine.report("json"))
    assert report["optimization"]["layer_fusions"] >= 3
    assert "<svg" in engine.report("svg") and "FIRST_CONV" in engine.report()
    assert json.loads(wootz.compare_reports(json.dumps(report), json.dumps(report), "json"))["same"] is True
    with pytest.raises(RuntimeError):
        engine.report("pdf")
    with pytest.raises(ValueError):
        wootz.build(str(model), report=tmp_path / "report.doc")
    context = engine.create_execution_context()
    assert engine.num_aux_streams == 0  # the CPU has none
    context.set_aux_streams([])
    x = np.random.default_rng(4).standard_normal((1, 3, 16, 16)).astype(np.float32)
    want = reference_values(model, {"x": x})
    values = wootz.tap(context, {"x": x}, ["sum_relu", "y"])
    assert list(values) == ["sum_relu", "y"]
    for name, value in wootz.tap(context, {"x": x}).items():
        np.testing.assert_allclose(value, want[name], rtol=1e-4, atol=1e-4, err_msg=name)
    with pytest.raises(ValueError, match="first_conv"):
        wootz.tap(context, {"x": x}, ["first_conv"])
    np.testing.assert_allclose(wootz.infer(context, {"x": x})["y"], want["y"], rtol=1e-4, atol=1e-5)


# The page in a browser.

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """
<script>
addEventListener("load", () => {
  const seen = {}, $$ = s => [...document.querySelectorAll(s)];
  try {
    seen.regions = $$(".canvas .region").length;
    seen.edges = $$(".canvas .edge").length;
    seen.chips = $$(".canvas .chip").map(c => c.textContent.trim());
    seen.cards = $$(".card").map(c => c.innerText);
    const column = n => $$("#layer-table tbody tr.layer").map(r => r.cells[n].textContent);
    seen.order = column(1);
    document.querySelector('th[data-key="name"]').click();
    seen.byName = column(1);
    document.querySelector('th[data-key="name"]').click();
    seen.byNameDown = column(1);
    document.querySelector('th[data-key="written"]').click();
    seen.byWritten = $$("#layer-table tbody tr.layer").map(r => layers[+r.dataset.step].BytesWritten);
    document.querySelector('th[data-key="i"]').click();
    const row = $$("#layer-table tbody tr.layer").find(r => layers[+r.dataset.step].Tactics);
    row.click();
    seen.detail = document.querySelector("tr.open").innerText;
    seen.panel = document.querySelector("#panel").innerText;
    const filter = document.querySelector("#layer-filter");
    filter.value = "FIRST_CONV";
    filter.dispatchEvent(new Event("input"));
    seen.filtered = column(1);
    const region = document.querySelector(".canvas .region");
    region.dispatchEvent(new MouseEvent("click", {bubbles: true}));
    seen.selected = region.classList.contains("on");
    const before = document.querySelector(".canvas svg").style.transform;
    document.querySelector("#in").click();
    seen.zoomed = before !== document.querySelector(".canvas svg").style.transform;
    const theme = document.documentElement.dataset.theme;
    document.querySelector("#theme").click();
    seen.themes = [theme, document.documentElement.dataset.theme];
    seen.plots = ["#live", "#map"].map(id => document.querySelectorAll(id + " svg rect").length);
    seen.nodes = document.querySelectorAll("#node-table tbody tr").length;
    seen.requests = performance.getEntriesByType("resource").map(r => r.name);
  } catch (error) {
    seen.error = String(error.stack);
  }
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: ./dev setup installs it")
def test_page_in_a_browser(built, tmp_path):
    _, report, page = built
    probe = tmp_path / "probe.html"
    probe.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>"), encoding="utf-8")
    done = call(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1500,1200",
                f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000",
                "--dump-dom", probe.as_uri())
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line or "Uncaught" in line]
    assert not console, console
    text = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)[1]
    seen = json.loads(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert "error" not in seen, seen["error"]
    names = [layer["Name"] for layer in report["layers"]]
    assert seen["regions"] == len(names) and seen["edges"] >= len(names) - 1
    assert any("FIRST_CONV" in chip for chip in seen["chips"]) and any("FIRST_RELU" in chip for chip in seen["chips"])
    assert any("Fused regions" in card for card in seen["cards"])
    assert seen["order"] == names and seen["byName"] != seen["byNameDown"]
    assert sorted(seen["byName"]) == sorted(names) and seen["byName"] == seen["byNameDown"][::-1]
    assert seen["byWritten"] == sorted(seen["byWritten"], reverse=True)
    assert "chosen" in seen["detail"] and "Tactics considered" in seen["detail"]
    assert seen["filtered"] and all("FIRST_CONV" in name for name in seen["filtered"])
    assert seen["selected"] and seen["zoomed"] and set(seen["themes"]) == {"light", "dark"}
    assert seen["plots"][0] == len(names) and seen["plots"][1] >= 1
    assert seen["nodes"] == len(report["nodes"])
    assert seen["requests"] == [], "the page fetched something"


def test_limit_of_auxiliary_streams():
    import wootz
    builder = wootz.Builder(wootz.Logger(wootz.Logger.ERROR))
    config = builder.create_builder_config()
    assert config.max_aux_streams == -1  # the builder decides
    config.max_aux_streams = 2
    assert config.max_aux_streams == 2

"""# What is in a plan

Which nodes of the model became one step, which kernel runs it, how long that takes, and where the memory goes: all of it is in the build's report, as a page
for the eye (`report="model.html"`) and as JSON for programs (`report="model.json"`). An engine gives the same of itself later, to TensorRT's
`IEngineInspector` and to `wootz inspect`.

The model is the line classifier of PP-OCR, from the PyPI package `rapidocr-onnxruntime`.

**What to look at:** the first picture has the slowest steps by name; `+` stands between nodes that one kernel computes together. The second one shows the memory for
intermediate results, step by step: the columns are the bytes alive at that step, and the plan takes little more than the highest of them, although
all results together are many times that. The program also writes the report's page, `inspecting.html`, and checks that the
inspector counts as many layers, and that every node of the model is accounted for.
"""
import collections
import json

import onnx

import common
import wootz


def report_of(file, folder, options):
    """The plan, and the report as JSON; the page is written as well."""
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network, config = builder.create_network(0), builder.create_builder_config()
    common.expect(wootz.OnnxParser(network, logger).parse_from_file(file), "the model is read")
    config.profiling_verbosity = wootz.ProfilingVerbosity.DETAILED
    for key, value in options.items():
        config.set_option(key, value)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", *((1, 3, 48, 192),) * 3)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    (folder / "inspecting.html").write_text(builder.report("html"))
    return plan, json.loads(builder.report("json"))


def main():
    chosen = common.arguments()
    file = str(common.package("rapidocr_onnxruntime") / "models/ch_ppocr_mobile_v2.0_cls_infer.onnx")
    plan, report = report_of(file, chosen.out, chosen.options)
    engine = common.load(plan)
    inspector = engine.create_engine_inspector()
    layers = json.loads(inspector.get_engine_information(wootz.LayerInformationFormat.JSON))["Layers"]
    common.expect(len(layers) == engine.num_layers == len(report["layers"]), "the inspector and the report have the same layers")
    fates = collections.Counter(node["Fate"] for node in report["nodes"])
    common.expect(all(node["Steps"] for node in report["nodes"] if node["Fate"] == "step"), "what became a step names it")
    steps = report["layers"]
    passes = collections.Counter(fusion["Pass"] for fusion in report["fusions"])
    print(f"{len(onnx.load(file).graph.node)} nodes in the file, {len(report['nodes'])} in the report, {len(steps)} steps")
    print("fates of nodes: " + ", ".join(f"{fate} {count}" for fate, count in fates.most_common()))
    print("fusions: " + ", ".join(f"{name} {count}" for name, count in passes.most_common(5)))
    slowest = sorted(steps, key=lambda step: -step["TimeUs"])[:8]
    page = common.Picture(1000, 80 + 28 * len(slowest))
    short = lambda name: name if len(name) <= 50 else name[:47] + "..."
    page.bars(24, 34, 940, f"The slowest of {len(steps)} steps", [(short(step["Name"]), step["TimeUs"], 0) for step in slowest], " us")
    page.save(chosen.out / "inspecting.svg")
    alive = [count / 1e3 for count in report["memory"][0]["AliveBytes"]]
    page = common.Picture(1000, 330)
    plot = common.Plot(page, (80, 50, 890, 210), (0, len(alive)), (0, max(alive) * 1.1), "Bytes alive at each step, in KB", "step")
    plot.columns([i + 0.5 for i in range(len(alive))], alive, 0.8, 2)
    page.save(chosen.out / "inspecting_memory.svg")


if __name__ == "__main__":
    main()

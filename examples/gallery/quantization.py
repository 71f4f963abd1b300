"""# Quantization: what 8 and 4 bits cost, and what they save

A network that tells digits apart goes from 32-bit floats to 8-bit integers, and its weights to 4 bits. Three ways are shown:

- `wootz.build(..., calibration_data=...)` makes an INT8 plan from a model in floats and some inputs, by which it finds the range of every value;
- `wootz.quantize(..., format="int8")` writes the quantized **model** as ONNX, with QuantizeLinear and DequantizeLinear, which other runtimes read too;
- `wootz.quantize(..., format="int4")` packs the weights of products in 4 bits, with a scale for each block of 32, and leaves the arithmetic in floats.

The digits are drawn with noise, tilted and shifted. The three convolutions have random weights; only the last product is trained, by least squares on what a
plan of the convolutions gives: an engine is a function from arrays to arrays, so that training can use it as well.

**What to look at:** accuracy on digits that neither training nor calibration have seen stays within a few in a thousand, while time and size go down.
The second picture counts results (the ten scores of each digit) by how far they are from those in floats. The program checks the plan in floats against ONNX Runtime, the
quantized model likewise, and that no accuracy falls by more than two points.
"""
import pathlib
import tempfile

import numpy as np
from onnx import helper
from PIL import Image, ImageDraw, ImageFont

import common
import wootz

SIDE, BATCH = 28, 100
CHANNELS = (1, 32, 64, 192)


def digits(random, count):
    """Images [count, 1, SIDE, SIDE] and what they show."""
    font = ImageFont.load_default(20)
    labels = random.integers(0, 10, count)
    images = random.normal(0, 0.15, (count, 1, SIDE, SIDE)).astype(np.float32)
    for image, label in zip(images, labels):
        page = Image.new("L", (SIDE, SIDE))
        ImageDraw.Draw(page).text(random.uniform(6.5, 9.5, 2), str(label), fill=255, font=font)
        image[0] += np.asarray(page.rotate(random.uniform(-10, 10), Image.BILINEAR), np.float32) / 255 * random.uniform(0.6, 1.2)
    return images, labels


def network(weights):
    """Three convolutions, each with ReLU and pooling, and, where there is one, the product that is trained."""
    nodes, x = [], "x"
    for i in range(3):
        nodes += [helper.make_node("Conv", [x, f"f{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]), helper.make_node("Relu", [f"c{i}"], [f"r{i}"]),
                  helper.make_node("MaxPool", [f"r{i}"], [f"p{i}"], kernel_shape=[2, 2], strides=[2, 2])]
        x = f"p{i}"
    nodes.append(helper.make_node("Flatten", [x], ["features"]))
    outputs = {"features": [BATCH, CHANNELS[3] * (SIDE // 8) ** 2]}
    if "w" in weights:
        nodes.append(helper.make_node("Gemm", ["features", "w", "b"], ["y"], "product"))
        outputs = {"y": [BATCH, 10]}
    return common.model(nodes, {"x": [BATCH, 1, SIDE, SIDE]}, outputs, weights, opset=21)


def run(plan, images):
    context = common.load(plan).create_execution_context()
    (name,) = wootz.infer(context, {"x": images[:BATCH]})
    return np.concatenate([wootz.infer(context, {"x": images[i:i + BATCH]})[name] for i in range(0, len(images), BATCH)])


def train(random, count, options):
    """The weights: random filters, and the product by least squares, a little damped."""
    weights = {f"f{i}": random.standard_normal((CHANNELS[i + 1], CHANNELS[i], 3, 3), np.float32) * np.sqrt(2 / (9 * CHANNELS[i]), dtype=np.float32) for i in range(3)}
    images, labels = digits(random, count)
    features = run(wootz.build(network(weights), options=options), images).astype(np.float64)
    mean = features.mean(0)
    centred = features - mean
    wanted = np.eye(10)[labels] - 0.1
    w = np.linalg.solve(centred.T @ centred + (centred**2).sum() / len(mean) * np.eye(len(mean)), centred.T @ wanted)
    return {**weights, "w": w.astype(np.float32), "b": (0.1 - mean @ w).astype(np.float32)}, images


def picture(rows, differences, path):
    page = common.Picture(1000, 490)
    y = 36
    for title, key, unit in (("Right answers", "accuracy", " %"), ("Plan", "kilobytes", " KB"), (f"Time of {BATCH} digits", "ms", " ms")):
        y = page.bars(30, y, 900, title, [(name, row[key], i) for i, (name, row) in enumerate(rows.items())], unit)
    page.save(path.with_suffix(".svg"))
    page = common.Picture(1000, 360)
    edges = np.linspace(-5, 0, 26)
    logs = [np.log10(np.maximum(np.abs(d).ravel(), 1e-12)) for d in differences.values()]
    counts = [np.histogram(values, edges)[0] for values in logs]
    plot = common.Plot(page, (90, 50, 870, 240), (-5, 0), (0, max(map(max, counts)) * 1.25), "Scores by their distance from those in 32 bits",
                       "power of ten of the difference (right answers score 1, others 0)", "scores")
    for i, (name, count) in enumerate(zip(differences, counts)):
        plot.columns((edges[1:] + edges[:-1]) / 2, count, 0.17, i + 2, name, fill_opacity=0.55)
    page.save(path.with_name(path.name + "_errors.svg"))


def main():
    chosen = common.arguments()
    random = np.random.default_rng(3)
    weights, samples = train(random, 800 if chosen.quick else 6000, chosen.options)
    images, labels = digits(random, 300 if chosen.quick else 4000)
    with tempfile.TemporaryDirectory() as scratch:
        files = {name: pathlib.Path(scratch) / f"{name}.onnx" for name in ("float", "int8", "int4")}
        files["float"].write_bytes(network(weights))
        build = lambda name, **more: wootz.build(str(files[name]), options=chosen.options, **more)
        for name, more in (("int8", {"data": {"x": samples[:500]}}), ("int4", {"block": 32})):
            wootz.quantize(str(files["float"]), str(files[name]), format=name, options={"backend": "cpu", "timing": "0"}, **more)
        plans = {"32-bit floats": build("float"), "INT8, calibrated": build("float", calibration_data={"x": samples[:500]}),
                 "INT8, the model": build("int8"), "INT4 weights": build("int4")}
        for name, plan in (("float", "32-bit floats"), ("int8", "INT8, the model")):
            theirs = common.onnxruntime_session(str(files[name]), as_written=True).run(None, {"x": images[:BATCH]})[0]
            # A value beside a rounding boundary may be rounded to either side: 8 bits are compared less closely.
            common.agree(run(plans[plan], images[:BATCH]), theirs, f"{plan} against ONNX Runtime", chosen.tolerance if name == "float" else 0.05)
    contexts = {name: common.load(plan).create_execution_context() for name, plan in plans.items()}
    times = common.milliseconds({name: lambda c=c: wootz.infer(c, {"x": images[:BATCH]}) for name, c in contexts.items()}, 2 if chosen.quick else 30)
    scores = {name: run(plan, images) for name, plan in plans.items()}
    rows = {name: {"accuracy": 100 * (scores[name].argmax(1) == labels).mean(), "kilobytes": len(plan) / 1e3, "ms": times[name]} for name, plan in plans.items()}
    for name, row in rows.items():
        print(f"{name:18s} right {row['accuracy']:5.1f} %   plan {row['kilobytes']:6.0f} KB   {BATCH} digits in {row['ms']:.2f} ms")
    least = rows["32-bit floats"]["accuracy"]
    common.expect(least > 90, "digits are told apart")
    common.expect(all(row["accuracy"] > least - 2 for row in rows.values()), "8 and 4 bits cost less than two points")
    shown = {"INT8": "INT8, the model", "INT4 weights": "INT4 weights"}
    picture(rows, {name: scores[row] - scores["32-bit floats"] for name, row in shown.items()}, chosen.out / "quantization")


if __name__ == "__main__":
    main()

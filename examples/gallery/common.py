"""What the gallery's examples share: their arguments, engines, comparisons and times, and a small writer of SVG pictures."""
import argparse
import base64
import importlib.util
import io
import pathlib
import statistics
import time
from xml.sax.saxutils import escape

import numpy as np

import wootz


def arguments():
    """--out, --quick and --backend of the command line, with the options of builds and a tolerance; the folder is made."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder for pictures")
    parser.add_argument("--quick", action="store_true", help="less to compute, and kernels chosen without measuring them")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    chosen.options = {"backend": chosen.backend, **({"timing": "0"} if chosen.quick else {})}
    chosen.tolerance = 1e-4 if chosen.backend == "cpu" else 2e-3  # of 32-bit floats: a GPU multiplies them in TF32
    return chosen


def package(name):
    """The folder of an installed package, which is not imported."""
    found = importlib.util.find_spec(name)
    if found is None:
        raise SystemExit(f"this example needs the package {name}")
    return pathlib.Path(found.submodule_search_locations[0])


def model(nodes, inputs, outputs, weights, opset=18):
    """The bytes of an ONNX model: inputs and outputs by name, as shapes or (type, shape)."""
    from onnx import TensorProto, helper, numpy_helper

    def values(named):
        typed = {name: what if isinstance(what, tuple) else (TensorProto.FLOAT, what) for name, what in named.items()}
        return [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in typed.items()]

    constants = [numpy_helper.from_array(np.asarray(array, order="C"), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "gallery", values(inputs), values(outputs), constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def load(plan):
    return wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan)


def onnxruntime_session(onnx_model, threads=0, as_written=False):
    """as_written: node by node, so that no sums of 8-bit products saturate, as they do on processors without instructions for them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if as_written:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(onnx_model, options, providers=["CPUExecutionProvider"])


def agree(got, wanted, what, tolerance=1e-4):
    """The largest difference as a part of the largest value. Ends the program where that is more than the tolerance, or no number."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    if got.shape != wanted.shape:
        raise SystemExit(f"{what}: shape {got.shape} in place of {wanted.shape}")
    difference = np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-30)
    if not difference <= tolerance:
        raise SystemExit(f"{what}: differs by {difference:.2g} of the scale, more than {tolerance:g}")
    return difference


def expect(condition, what):
    """An assertion that `python -O` keeps."""
    if not condition:
        raise SystemExit(f"not as expected: {what}")


def milliseconds(calls, rounds):
    """The median time of each function; they take turns, so that a slow moment of the machine meets all of them."""
    times = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


STYLE = """
svg { --paper:#fff; --ink:#1f2328; --soft:#59636e; --grid:#dfe3e8; --c0:#1f6feb; --c1:#c2570c; --c2:#1a7f37; --c3:#8250df; --c4:#8c959f }
@media (prefers-color-scheme: dark) {
svg { --paper:#151b23; --ink:#e6edf3; --soft:#9198a1; --grid:#30363d; --c0:#58a6ff; --c1:#f0883e; --c2:#3fb950; --c3:#bc8cff; --c4:#6e7681 } }
text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink) }
.title { font-size: 15px; font-weight: 600 } .soft { fill: var(--soft); font-size: 12px } .code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre }
.grid { stroke: var(--grid) } .paper { fill: var(--paper) }
""" + "".join(f".c{i} {{ fill: var(--c{i}) }} .s{i} {{ stroke: var(--c{i}); fill: none; stroke-width: 2 }}\n" for i in range(5))


class Picture:
    """An SVG file on a background of its own, light or dark as the viewer is. Colours are numbers from 0 to 4."""

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []
        self.rect(0, 0, width, height, "paper", rx=8)

    def put(self, tag, content=None, **attributes):
        named = " ".join(f'{key.rstrip("_").replace("_", "-")}="{escape(str(value), {chr(34): "&quot;"})}"' for key, value in attributes.items())
        self.parts.append(f"<{tag} {named}/>" if content is None else f"<{tag} {named}>{content}</{tag}>")

    def rect(self, x, y, width, height, kind, **attributes):
        self.put("rect", x=round(x, 1), y=round(y, 1), width=round(width, 1), height=round(height, 1), class_=kind, **attributes)

    def text(self, x, y, words, kind="", anchor="start", **attributes):
        self.put("text", escape(str(words)), x=round(x, 1), y=round(y, 1), class_=kind, text_anchor=anchor, **attributes)

    def line(self, points, kind, **attributes):
        self.put("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind, **attributes)

    def image(self, pixels, x, y, width, height):
        """An array of bytes, [H, W] or [H, W, 3], as a PNG inside the file, or as a JPEG where noise makes that large."""
        from PIL import Image

        kind, file = "png", io.BytesIO()
        image = Image.fromarray(np.asarray(pixels, np.uint8))
        image.save(file, kind, optimize=True)
        if file.tell() > 100_000:
            kind, file = "jpeg", io.BytesIO()
            image.save(file, kind, quality=80)
        data = f"data:image/{kind};base64," + base64.b64encode(file.getvalue()).decode()
        self.put("image", x=x, y=y, width=width, height=height, href=data, preserveAspectRatio="none")
        self.rect(x, y, width, height, "grid", fill="none")

    def bars(self, x, y, width, title, rows, unit="", most=None):
        """A bar a row: (label, value, colour). Returns where the next thing may stand."""
        self.text(x, y, title, "title")
        most = most or max(value for _, value, _ in rows)
        label = max(8.0 * len(str(name)) for name, _, _ in rows) + 10
        for i, (name, value, colour) in enumerate(rows):
            top = y + 14 + 28 * i
            length = (width - label - 80) * value / most
            self.text(x, top + 16, name)
            self.rect(x + label, top + 2, max(length, 1), 20, f"c{colour}", rx=3)
            self.text(x + label + length + 6, top + 16, f"{value:.4g}{unit}", "soft")
        return y + 14 + 28 * len(rows) + 30

    def save(self, path):
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}">'
        path.write_text("\n".join([head, f"<style>{STYLE}</style>", *self.parts, "</svg>\n"]))
        print(f"wrote {path.name}")


class Plot:
    """Axes in a rectangle of a picture, and curves and columns by the data's numbers."""

    def __init__(self, picture, box, across, up, title="", x_label="", y_label=""):
        self.picture, (self.x, self.y, self.width, self.height), self.across, self.up, self.labels = picture, box, across, up, 0
        picture.text(self.x, self.y - 14, title, "title")
        for at in ticks(*up):
            picture.line([self.at(across[0], at), self.at(across[1], at)], "grid")
            picture.text(self.x - 8, self.at(across[0], at)[1] + 4, f"{at:g}", "soft", "end")
        for at in ticks(*across):
            picture.text(self.at(at, up[0])[0], self.y + self.height + 18, f"{at:g}", "soft", "middle")
        picture.text(self.x + self.width / 2, self.y + self.height + 38, x_label, "soft", "middle")
        middle = self.y + self.height / 2
        picture.text(self.x - 46, middle, y_label, "soft", "middle", transform=f"rotate(-90 {self.x - 46} {middle})")

    def at(self, x, y):
        return (self.x + self.width * (x - self.across[0]) / (self.across[1] - self.across[0]),
                self.y + self.height * (1 - (y - self.up[0]) / (self.up[1] - self.up[0])))

    def label(self, words, colour):
        """A line of the legend, inside the plot at the upper left."""
        top = self.y + 14 + 18 * self.labels
        self.picture.rect(self.x + 10, top - 10, 12, 12, f"c{colour}", rx=2)
        self.picture.text(self.x + 28, top, words, "soft")
        self.labels += 1

    def curve(self, xs, ys, colour, label="", **attributes):
        self.picture.line([self.at(x, y) for x, y in zip(xs, ys)], f"s{colour}", **attributes)
        if label:
            self.label(label, colour)

    def columns(self, xs, ys, width, colour, label="", **attributes):
        """From the axis (0, or the lowest value) to each y, around each x."""
        for x, y in zip(xs, ys):
            left, top = self.at(x - width / 2, y)
            right, bottom = self.at(x + width / 2, self.up[0])
            self.picture.rect(left, top, right - left, bottom - top, f"c{colour}", **attributes)
        if label:
            self.label(label, colour)


def ticks(low, high, about=5):
    """Round numbers from low to high."""
    raw = (high - low) / about
    unit = 10.0 ** np.floor(np.log10(raw))
    step = unit * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * unit >= raw * 0.999)
    first = np.ceil(low / step - 1e-9)
    return [float(step * i) + 0.0 for i in np.arange(first, np.floor(high / step + 1e-9) + 1)]  # and no -0

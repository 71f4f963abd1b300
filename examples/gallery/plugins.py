"""# A layer of your own, in Python and in C

The Kuwahara filter smooths a picture and leaves its edges alone: around each pixel it looks at four squares, one in each direction, and takes the mean of
the one that varies least. No ONNX operator does that. Two plugins do:

- **a decorated function** in numpy: `register` says what comes out, `impl` computes it, on views of the engine's memory;
- **one function of C**, by `wootz.kernel`: it is compiled while building and travels in the plan, which needs neither Python nor a compiler where it
  is loaded. The same lines, with another frame around them, are CUDA C++ for a GPU.

Both stand in the same network, with ordinary layers behind them: the details that the filter took away (input minus result) are a second output.

**What to look at:** noise is gone and outlines are sharp; the third picture is what was taken away: noise, and tips of trees that are narrower than the squares. The times are those of the whole
network. The two plugins and numpy outside of any network have to agree. With `--backend cuda` the kernel runs alone, since numpy has no arrays there;
[cupy and torch](../../docs/python-plugins.md) have.
"""
import numpy as np
from PIL import Image, ImageDraw

import common
import wootz as trt
import wootz.plugin as trtp

RADIUS = 4

PIXEL = """
FUNCTION float smooth(const float* plane, int rows, int columns, int row, int column) {
  double least = 1e300, result = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const int first_row = row - (quarter & 2 ? 0 : RADIUS), first_column = column - (quarter & 1 ? 0 : RADIUS);
    double sum = 0, squares = 0;
    for (int r = first_row; r <= first_row + RADIUS; ++r)
      for (int c = first_column; c <= first_column + RADIUS; ++c) {
        const int inside_r = r < 0 ? 0 : r >= rows ? rows - 1 : r, inside_c = c < 0 ? 0 : c >= columns ? columns - 1 : c;
        const double value = plane[inside_r * columns + inside_c];
        sum += value;
        squares += value * value;
      }
    const double mean = sum / ((RADIUS + 1) * (RADIUS + 1)), variance = squares / ((RADIUS + 1) * (RADIUS + 1)) - mean * mean;
    if (variance < least) {
      least = variance;
      result = mean;
    }
  }
  return (float)result;
}
""".replace("RADIUS", str(RADIUS))
IN_C = "#include <stdint.h>\n#define FUNCTION static\n" + PIXEL + """
void kuwahara(const float* x, int64_t planes, int64_t rows, int64_t columns, float* y) {
  for (int64_t i = 0; i < planes * rows * columns; ++i)
    y[i] = smooth(x + i / (rows * columns) * rows * columns, rows, columns, i / columns % rows, i % columns);
}
"""
IN_CUDA = "#define FUNCTION __device__\n" + PIXEL + """
__global__ void kuwahara(const float* x, int planes, int rows, int columns, float* y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < planes * rows * columns)
    y[i] = smooth(x + i / (rows * columns) * rows * columns, rows, columns, i / columns % rows, i % columns);
}
"""
compiled = trt.kernel("gallery::kuwahara", {"cpu": IN_C, "cuda": IN_CUDA}, arguments=lambda x: tuple(x.shape_expr[i] for i in range(3)))


def smooth(planes, radius):
    """The same in numpy, of planes [n, rows, columns]."""
    wide = np.pad(planes.astype(np.float64), ((0, 0), (radius, radius), (radius, radius)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(wide, (radius + 1, radius + 1), axis=(1, 2))
    mean, variance = windows.mean((3, 4)), windows.var((3, 4))
    rows, columns = planes.shape[1:]
    places = [(slice(a, a + rows), slice(b, b + columns)) for a in (0, radius) for b in (0, radius)]
    best = np.argmin([variance[:, r, c] for r, c in places], axis=0)
    return np.choose(best, [mean[:, r, c] for r, c in places])


@trtp.register("gallery::smooth")
def describe(x: trtp.TensorDesc, radius: int) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("gallery::smooth")
def run(x: trtp.Tensor, radius: int, outputs: tuple, stream: int):
    outputs[0].numpy()[...] = smooth(x.numpy(), radius)


def context_with(plugin, shape, options):
    """A network of the plugin and a subtraction, and a context of it."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(0), builder.create_builder_config()
    for key, value in options.items():
        config.set_option(key, value)
    x = network.add_input("x", trt.float32, shape)
    y = network.add_plugin(plugin(x)).get_output(0)
    details = network.add_elementwise(x, y, trt.ElementWiseOperation.SUB).get_output(0)
    for tensor, name in ((y, "smooth"), (details, "details")):
        tensor.name = name
        network.mark_output(tensor)
    runtime = trt.Runtime(logger)
    runtime.engine_host_code_allowed = True  # the plan brings code of its own
    return runtime.deserialize_cuda_engine(builder.build_serialized_network(network, config)).create_execution_context()


def drawing(rows, columns):
    """A landscape with noise, [3, rows, columns] from 0 to 1."""
    page = Image.new("RGB", (columns, rows))
    pen = ImageDraw.Draw(page)
    for y in range(rows):
        pen.line([(0, y), (columns, y)], fill=(90 + 100 * y // rows, 130 + 60 * y // rows, 210 - 40 * y // rows))
    pen.ellipse([columns * 0.68, rows * 0.12, columns * 0.84, rows * 0.12 + columns * 0.16], fill=(250, 225, 120))
    for height, colour in ((0.55, (96, 110, 140)), (0.68, (70, 110, 90)), (0.8, (48, 84, 58))):
        xs = np.arange(0, columns + 8, 8)
        hills = rows * (height + 0.08 * np.sin(xs / columns * 9 + height * 40) + 0.03 * np.sin(xs / columns * 31 + height * 9))
        pen.polygon([(0, rows), *zip(xs.tolist(), hills.tolist()), (columns, rows)], fill=colour)
    for i in range(5):
        left, top = columns * (0.08 + 0.1 * i), rows * (0.72 + 0.03 * (i % 2))
        pen.polygon([(left, top), (left + columns * 0.03, top - rows * 0.22), (left + columns * 0.06, top)], fill=(24, 52, 40))
    noise = np.random.default_rng(2).normal(0, 0.07, (rows, columns, 3))
    return np.ascontiguousarray(np.clip(np.asarray(page) / 255 + noise, 0, 1).transpose(2, 0, 1), dtype=np.float32)


def main():
    chosen = common.arguments()
    image = drawing(120, 160) if chosen.quick else drawing(240, 320)
    ways = {"one function of C": lambda x: compiled(x, backend=chosen.backend)}
    if chosen.backend == "cpu":
        ways["a decorated function in numpy"] = lambda x: trtp.op.gallery.smooth(x, radius=RADIUS)
    contexts = {name: context_with(way, image.shape, chosen.options) for name, way in ways.items()}
    wanted = smooth(image, RADIUS)
    for name, context in contexts.items():
        results = trt.infer(context, {"x": image})
        # Where two squares vary by the same to the last bit, either mean is right.
        close = np.abs(results["smooth"] - wanted) <= 1e-5
        common.expect(close.mean() > 0.999, f"{name} computes what numpy does ({close.mean():.2%} of the pixels)")
        common.agree(results["smooth"] + results["details"], image, f"{name}: both outputs together", 1e-6)
    times = common.milliseconds({name: lambda c=c: trt.infer(c, {"x": image}) for name, c in contexts.items()}, 1 if chosen.quick else 10)
    print(f"{image.shape[2]} x {image.shape[1]} pixels in three colours: " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in times.items()))
    page = common.Picture(1040, 326 + 28 * len(times))
    bright = lambda planes: np.rint(np.clip(planes, 0, 1) * 255).transpose(1, 2, 0)
    for i, (title, planes) in enumerate((("Input", image), ("Filtered", results["smooth"]), ("What was taken away, on grey", 0.5 + 2 * results["details"]))):
        page.text(20 + 340 * i, 30, title, "title")
        page.image(bright(planes), 20 + 340 * i, 42, 320, 240)
    page.bars(20, 296, 1000, "", [(name, ms, i) for i, (name, ms) in enumerate(times.items())], " ms")
    page.save(chosen.out / "plugins.svg")


if __name__ == "__main__":
    main()

"""# Detecting objects, with the whole pipeline in one plan

A detector is more than a backbone: scores over the picture, boxes, the suppression of boxes that mean the same object, and a selection whose size nobody
knows before. All of it is one ONNX model here, and one plan: from the picture's grey values to a list of boxes, classes and scores. The number of
boxes is found by running (`NonMaxSuppression`); `wootz.infer` gives arrays of the right size.

The weights are **not trained**. The filters are the objects themselves (digits, in three sizes), and the network computes how well each place of the picture
correlates with each of them, whatever its brightness and contrast: three convolutions with 10 filters of up to 37 x 37, divided by the deviation below the
filter, which averages over rows and columns give. It finds objects of known looks, as matched filters have always done, and is no stand-in for a trained
detector's eye; what is around it is the same.

**What to look at:** the boxes in the upper picture, with class and score, on a page of noise, lines and uneven light. Below is the best score of every place, from which they come. The
program wants 9 of 10 digits found, with not one box in ten wrong, and the same boxes from ONNX Runtime.
"""
import numpy as np
from onnx import TensorProto
from PIL import Image, ImageDraw, ImageFont

import common
import wootz
from search import Model  # adds nodes and weights

HEIGHT, WIDTH = 208, 368
SIZES = (22, 30, 40)  # of the font


def glyph(digit, size):
    """A digit in grey from 0 to 1, in the middle of a square of an odd side."""
    side = int(size * 0.9) // 2 * 2 + 1
    page = Image.new("L", (side, side))
    ImageDraw.Draw(page).text((side / 2, side / 2), str(digit), fill=255, font=ImageFont.load_default(size), anchor="mm")
    return np.asarray(page, np.float32) / 255


def scene(random, count):
    """A picture [H, W] in grey, and where in it which digit is: (top, left, bottom, right, digit)."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    picture = 0.45 + 0.25 * np.sin(rows / 90 + columns / 150)
    page = Image.fromarray((picture * 255).astype(np.uint8))
    for _ in range(14):
        ends = random.uniform(0, (WIDTH, HEIGHT), (2, 2)).ravel()
        ImageDraw.Draw(page).line(list(ends), fill=int(random.integers(90, 170)), width=1)
    picture = np.asarray(page, np.float32) / 255
    placed = []
    while len(placed) < count:
        digit, size = int(random.integers(10)), int(random.choice(SIZES))
        shape = glyph(digit, size)
        side = len(shape)
        top, left = int(random.integers(HEIGHT - side)), int(random.integers(WIDTH - side))
        if any(top < b + 4 and t < top + side + 4 and left < r + 4 and e < left + side + 4 for t, e, b, r, _ in placed):
            continue
        contrast = random.choice([-1, 1]) if picture[top, left] > 0.4 else 1
        picture[top:top + side, left:left + side] += shape * contrast * random.uniform(0.25, 0.5)
        placed.append((top, left, top + side, left + side, digit))
    picture += random.normal(0, 0.05, picture.shape).astype(np.float32)
    return np.clip(picture, 0, 1), placed


def correlation(m, size):
    """[1, 10, H, W]: from 0 to 1, how each digit of this size fits around each place, dark on light as well as light on dark."""
    shapes = np.stack([glyph(digit, size) for digit in range(10)])
    side = shapes.shape[1]
    filters = shapes - shapes.mean((1, 2), keepdims=True)
    filters /= np.sqrt((filters**2).sum((1, 2), keepdims=True))
    half = side // 2
    pool = lambda x, rows, columns: m.op("AveragePool", x, kernel_shape=[rows, columns], pads=2 * [rows // 2, columns // 2], count_include_pad=1)
    mean = lambda x: pool(pool(x, side, 1), 1, side)  # over the square below the filter, rows and columns one after the other
    average = mean("image")
    variance = m.op("Sub", mean(m.op("Mul", "image", "image")), m.op("Mul", average, average))
    spread = m.op("Mul", m.op("Sqrt", m.op("Max", variance, m.constant(5e-4))), m.constant(float(side)))
    fit = m.op("Conv", "image", m.weight(f"filters{size}", filters[:, None].astype(np.float32)), pads=[half] * 4)
    return m.op("Abs", m.op("Div", fit, spread)), side


def detector():
    m = Model({})
    ints = lambda name, *values: m.weight(name, np.array(values, np.int64))
    best, classes, boxes = [], [], []
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].reshape(2, -1)
    for size in SIZES:
        scores, side = correlation(m, size)
        best.append(m.op("ReduceMax", scores, ints("one", 1), keepdims=1))
        classes.append(m.op("Reshape", m.op("ArgMax", scores, axis=1), ints("flat", -1)))
        boxes.append(np.stack([rows, columns, rows, columns], 1) + np.array([-1, -1, 1, 1]) * (side / 2))
    every = m.op("Concat", *best, axis=1)
    places = m.weight("boxes", np.concatenate(boxes)[None].astype(np.float32))
    scores = m.op("Reshape", every, ints("row", 1, 1, -1))
    # At most 40 boxes, of those that overlap by a quarter the best one, and only where the score is high.
    kept = m.op("NonMaxSuppression", places, scores, ints("most", 40), m.constant(0.25), m.constant(0.68))
    index = m.op("Reshape", m.op("Slice", kept, ints("two", 2), ints("three", 3), ints("one", 1)), ints("flat", -1))
    pick = lambda values, shape: m.op("Gather", m.op("Reshape", values, ints(f"shape{len(shape)}", *shape)), index, axis=0)
    outputs = {pick(places, (-1, 4)): ["n", 4], pick(scores, (-1,)): ["n"],
               pick(m.op("Concat", *classes, axis=0), (-1,)): (TensorProto.INT64, ["n"]),
               m.op("ReduceMax", every, ints("one", 1), keepdims=0): [1, HEIGHT, WIDTH]}
    return common.model(m.nodes, {"image": [1, 1, HEIGHT, WIDTH]}, outputs, m.initializers)


def hits(boxes, classes, placed):
    """How many of the digits have a box of their class around the same middle."""
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    found = 0
    for top, left, bottom, right, digit in placed:
        near = np.abs(middle - [(top + bottom) / 2, (left + right) / 2]).max(1) < (bottom - top) / 4
        found += bool((near & (classes == digit)).any())
    return found


def picture(image, heat, boxes, scores, classes, path):
    page = common.Picture(780, 950)
    for y, title, pixels in ((44, "What was found", np.rint(image * 255)), (508, "How well the best filter fits around each place", np.clip((heat - 0.2) / 0.7, 0, 1) * 255)):
        page.text(22, y - 14, title, "title")
        page.image(pixels, 22, y, WIDTH * 2, HEIGHT * 2)
    for (top, left, bottom, right), score, digit in zip(boxes * 2, scores, classes):
        page.rect(22 + left, 44 + top, right - left, bottom - top, "s1")
        page.rect(22 + left, 44 + top - 17, 52, 17, "c1")
        page.text(22 + left + 4, 44 + top - 4, f"{digit}: {score:.2f}", "paper", style="font-weight:600")
    page.save(path)


def main():
    chosen = common.arguments()
    image, placed = scene(np.random.default_rng(4), 16)
    made = detector()
    context = common.load(wootz.build(made, options=chosen.options)).create_execution_context()
    session = common.onnxruntime_session(made)
    feeds = {"image": image[None, None]}
    ours, theirs = list(wootz.infer(context, feeds).values()), session.run(None, feeds)
    for got, wanted, what in zip(ours, theirs, ("boxes", "scores", "classes", "heat")):
        common.agree(got, wanted, what, 1e-3)
    boxes, scores, classes, heat = ours
    found = hits(boxes, classes, placed)
    common.expect(found >= 0.9 * len(placed) and len(boxes) - found <= 0.1 * len(boxes), f"{found} of {len(placed)} found by {len(boxes)} boxes")
    times = common.milliseconds({"Wootz": lambda: wootz.infer(context, feeds), "ONNX Runtime": lambda: session.run(None, feeds)}, 1 if chosen.quick else 15)
    print(f"{found} of {len(placed)} digits found by {len(boxes)} boxes out of {HEIGHT * WIDTH * len(SIZES)} places; the same boxes from ONNX Runtime")
    print(", ".join(f"{who} {ms:.1f} ms" for who, ms in times.items()))
    picture(image, heat[0], boxes, scores, classes, chosen.out / "detection.svg")


if __name__ == "__main__":
    main()

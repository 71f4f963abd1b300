"""# Reading text in a picture

Two networks of PP-OCRv4, out of the PyPI package `rapidocr-onnxruntime`: a detector, which says of each pixel how likely it is text, and a
recognizer, which reads one line. Both are ONNX files and are given to `wootz.build` as they are.

Their inputs have no fixed size. The detector's plan takes pages of 320 to 640 pixels, the recognizer's lines of any width from 16 to 1280: each
line is read at its own width by **one** plan, with one context, and the context gets new shapes from call to call. What is between the two networks (boxes around
regions, the CTC rule that turns scores into letters) is numpy.

**What to look at:** the boxes are where the detector saw text, and to the right of each is what was read. ONNX Runtime gets the
same inputs; the program ends with an error if a score differs or a letter is not the one that was drawn. Recognition is quickest where widths repeat, because
a context keeps its plan of memory for shapes that it has seen.
"""
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import common
import wootz

# Where on the page (x, y), in which size, and what.
TEXTS = [(40, 28, 40, "Wootz Coffee House"), (40, 96, 26, "2 espresso"), (480, 96, 26, "5.60"), (40, 164, 26, "1 croissant"), (480, 164, 26, "3.20"),
         (40, 232, 30, "total"), (480, 232, 30, "8.80"), (40, 304, 26, "Thank you, and come again!")]
TEXT = "".join(text for *_, text in TEXTS)


def draw():
    """A white page with the texts on it, as an RGB array [H, W, 3]."""
    image = Image.new("RGB", (640, 384), "white")
    pen = ImageDraw.Draw(image)
    for x, y, size, text in TEXTS:
        pen.text((x, y), text, fill="black", font=ImageFont.load_default(size))
    return np.asarray(image)


def detector_input(image):
    """[1, 3, H, W], normalized as the detector was trained. The page's size is a multiple of 32 already."""
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return ((image / 255.0 - mean) / deviation).transpose(2, 0, 1)[None].astype(np.float32)


def boxes(probability, threshold=0.3, least=40):
    """Bounding boxes (top, left, bottom, right) of connected regions above the threshold, line by line."""
    mask = probability > threshold
    label = np.zeros(mask.shape, np.int32)
    found = []
    for row, column in zip(*np.nonzero(mask)):
        if label[row, column]:
            continue
        stack, points = [(row, column)], []
        label[row, column] = len(found) + 1
        while stack:
            r, c = stack.pop()
            points.append((r, c))
            for nr, nc in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
                if 0 <= nr < mask.shape[0] and 0 <= nc < mask.shape[1] and mask[nr, nc] and not label[nr, nc]:
                    label[nr, nc] = len(found) + 1
                    stack.append((nr, nc))
        rows, columns = zip(*points)
        found.append((min(rows), min(columns), max(rows) + 1, max(columns) + 1, len(points)))
    # The detector marks a shrunken kernel of each line: grow it back.
    grown = []
    for top, left, bottom, right, size in found:
        if size >= least:
            pad = int(0.65 * (bottom - top))
            grown.append((max(0, top - pad), max(0, left - pad), min(mask.shape[0], bottom + pad), min(mask.shape[1], right + pad)))
    return sorted(grown, key=lambda box: ((box[0] + box[2]) // 2 // 40, box[1]))


def recognizer_input(image, box):
    """[1, 3, 48, W] of one line, W by the line's aspect."""
    top, left, bottom, right = box
    crop = Image.fromarray(image[top:bottom, left:right])
    width = max(16, int(round(48 * crop.width / crop.height)))
    array = np.asarray(crop.resize((width, 48), Image.BILINEAR)) / 255.0
    return ((array - 0.5) / 0.5).transpose(2, 0, 1)[None].astype(np.float32)


def decode(scores, characters):
    """Greedy CTC: the best class a step, repeats and blanks (class 0) dropped."""
    best, text, previous = scores[0].argmax(-1), "", 0
    for k in best:
        if k != previous and k != 0:
            text += characters[k - 1] if k - 1 < len(characters) else " "
        previous = k
    return text


class Both:
    """A model as an engine of ours, whose results are compared with those of ONNX Runtime in every call."""

    def __init__(self, file, shapes, chosen):
        # A GPU multiplies in TF32 unless told otherwise: the detector's scores at the edges of letters then differ by 0.04, the text does not.
        self.context = common.load(wootz.build(str(file), shapes={"x": shapes}, options=chosen.options, precision="fp32")).create_execution_context()
        self.session, self.worst, self.feeds = common.onnxruntime_session(str(file)), 0.0, []

    def __call__(self, x):
        (ours,), (theirs,) = wootz.infer(self.context, {"x": x}).values(), self.session.run(None, {"x": x})
        self.worst = max(self.worst, common.agree(ours, theirs, "scores", 1e-3))
        self.feeds.append({"x": x})
        return ours

    def times(self, rounds):
        """Of all inputs that there were, one after the other."""
        return common.milliseconds({"Wootz": lambda: [wootz.infer(self.context, f) for f in self.feeds],
                                    "ONNX Runtime": lambda: [self.session.run(None, f) for f in self.feeds]}, rounds)


def picture(image, heat, found, path):
    page = common.Picture(1000, 424)
    page.text(20, 28, "The page, what the detector marks, and what was read", "title")
    marked = image * (1 - 0.6 * heat[..., None]) + np.array([250, 140, 40]) * 0.6 * heat[..., None]
    page.image(marked, 20, 44, 600, 360)
    scale = 600 / image.shape[1]
    for i, ((top, left, bottom, right), text) in enumerate(found):
        colour = i % 4
        page.rect(20 + left * scale, 44 + top * scale, (right - left) * scale, (bottom - top) * scale, f"s{colour}")
        middle = 44 + (top + bottom) / 2 * scale
        first = left < image.shape[1] / 2
        if first:
            page.line([(20 + right * scale, middle), (650, middle)], "s4", stroke_dasharray="2 5", stroke_opacity=0.6)
        page.text(660 if first else 880, middle + 5, text, "title")
    page.save(path)


def main():
    chosen = common.arguments()
    models = common.package("rapidocr_onnxruntime") / "models"
    detector = Both(models / "ch_PP-OCRv4_det_infer.onnx", ((1, 3, 320, 640), (1, 3, 384, 640), (1, 3, 640, 640)), chosen)
    recognizer = Both(models / "ch_PP-OCRv4_rec_infer.onnx", ((1, 3, 48, 16), (1, 3, 48, 480), (1, 3, 48, 1280)), chosen)
    characters = recognizer.session.get_modelmeta().custom_metadata_map["character"].splitlines()
    image = draw()
    heat = detector(detector_input(image))[0, 0]
    found = [(box, decode(recognizer(recognizer_input(image, box)), characters).strip()) for box in boxes(heat)]
    plain = lambda texts: "".join("".join(texts).split()).lower()
    common.expect(plain(text for _, text in found) == plain(TEXT), f"the text that was read: {found}")
    for box, text in found:
        print(f"rows {box[0]} to {box[2]}, columns {box[1]} to {box[3]}: {text}")
    for name, network in (("detector", detector), ("recognizer", recognizer)):
        times = ", ".join(f"{who} {ms:.1f} ms" for who, ms in network.times(1 if chosen.quick else 20).items())
        print(f"{name}: {len(network.feeds)} inputs, differs from ONNX Runtime by at most {network.worst:.1g} of the scale; {times}")
    picture(image, heat, found, chosen.out / "ocr.svg")


if __name__ == "__main__":
    main()

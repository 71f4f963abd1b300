"""Text in an image: draw it, find it, read it. Pre- and post-processing of PP-OCR in numpy."""
import numpy as np
from PIL import Image, ImageDraw, ImageFont

LINES = ["Wootz reads this line", "from a plan it built itself", "with no GPU in the machine"]


def draw():
    """A white page with the lines on it, as an RGB array [H, W, 3]."""
    image = Image.new("RGB", (640, 320), "white")
    pen = ImageDraw.Draw(image)
    for i, line in enumerate(LINES):
        pen.text((40, 40 + 90 * i), line, fill="black", font=ImageFont.load_default(36))
    return np.asarray(image)


def detector_input(image):
    """[1, 3, H, W], normalized as the detector was trained. The page's size is a multiple of 32 already."""
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return ((image / 255.0 - mean) / deviation).transpose(2, 0, 1)[None].astype(np.float32)


def boxes(probability, threshold=0.3, least=40):
    """Bounding boxes (top, left, bottom, right) of connected regions above the threshold, from top to bottom."""
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
    return sorted(grown)


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

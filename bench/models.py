"""The models that ./dev bench and ./dev models work on: a folder of ONNX files with manifest.json, or what a package supplies.

    {name: {"file": FILE, "inputs": {input: {"dtype", "shape", "gen"}}, "quantized_from": NAME, "profile": {input: [min, opt, max]}}}

gen: randn, ones, zeros, randint:N. The last two keys may be missing: a model X_int8 is the quantized form of X, and profiles are
made by profile_of() below.
"""
import importlib.util
import json
import pathlib
import random

import numpy as np

SEED = 1234


def package_models():
    """The text models out of the rapidocr-onnxruntime package."""
    folder = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").submodule_search_locations[0]) / "models"
    image = lambda h, w: {"x": {"dtype": "float32", "shape": [1, 3, h, w], "gen": "randn"}}
    return folder, {"ppocr_det": {"file": "ch_PP-OCRv4_det_infer.onnx", "inputs": image(640, 640)},
                    "ppocr_rec": {"file": "ch_PP-OCRv4_rec_infer.onnx", "inputs": image(48, 320)},
                    "ppocr_cls": {"file": "ch_ppocr_mobile_v2.0_cls_infer.onnx", "inputs": image(48, 192)}}


def load_models(folder=None):
    """(folder, manifest) of a folder, or of the package."""
    if not folder:
        return package_models()
    folder = pathlib.Path(folder)
    return folder, json.loads((folder / "manifest.json").read_text())


def chosen(manifest, only):
    """The part of a manifest that is named in `only` (names separated by commas); all of it without names."""
    names = [n for n in only.split(",") if n] or list(manifest)
    unknown = [n for n in names if n not in manifest]
    if unknown:
        raise SystemExit(f"no model is called {', '.join(unknown)}; there are {', '.join(manifest)}")
    return {n: manifest[n] for n in names}


def make_inputs(spec, seed=SEED, shapes=None):
    """Arrays for the inputs of a manifest entry, of the manifest's shapes or of those in `shapes`."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, s in spec.items():
        gen, shape = s["gen"], (shapes or {}).get(name, s["shape"])
        if gen == "randn":
            array = rng.standard_normal(shape)
        elif gen.startswith("randint"):
            array = rng.integers(0, int(gen.split(":")[1]), shape)
        else:
            array = np.ones(shape) if gen == "ones" else np.zeros(shape)
        arrays[name] = array.astype(s["dtype"])
    return arrays


def dynamic_axes(model, spec):
    """{input: axes without a fixed extent}, for the inputs that have such."""
    import onnx

    found = {}
    for value in onnx.load(str(model), load_external_data=False).graph.input:
        dims = value.type.tensor_type.shape.dim
        axes = [i for i, d in enumerate(dims) if not (d.HasField("dim_value") and d.dim_value > 0)]
        if value.name in spec and axes:
            found[value.name] = axes
    return found


def step_of(axis, extent, rank):
    """Extents of images go by powers of two, up to 32, as networks that halve and add them want it."""
    step = 1
    while rank == 4 and axis >= 2 and step < 32 and extent % (2 * step) == 0:
        step *= 2
    return step


def profile_of(entry, axes):
    """{input: (min, opt, max)}: batches up to 4, images from a half to one and a half of the manifest's extents (but networks that
    halve them often get no less than 64, or the manifest's), others from 1 to the manifest's; opt is the manifest's shape."""
    profile = {}
    for name, free in axes.items():
        if "profile" in entry:
            profile[name] = tuple(entry["profile"][name])
            continue
        opt = list(entry["inputs"][name]["shape"])
        low, high = list(opt), list(opt)
        for a in free:
            step = step_of(a, opt[a], len(opt))
            low[a] = 1 if step == 1 else max(min(64, opt[a]), opt[a] // 2 // step * step)
            high[a] = max(4, opt[a]) if a == 0 else opt[a] if step == 1 else opt[a] * 3 // 2 // step * step
        profile[name] = (low, opt, high)
    return profile


def random_shapes(entry, axes, profile, rng: random.Random):
    """One shape for each dynamic input. Axes that have the same number and the same extents get the same one."""
    drawn, shapes = {}, {}
    for name, (low, opt, high) in profile.items():
        shapes[name] = list(opt)
        for a in axes[name]:
            key = (a, low[a], opt[a], high[a])
            if key not in drawn:
                step = 1 if "profile" in entry else step_of(a, opt[a], len(opt))
                drawn[key] = rng.randrange(low[a], high[a] + 1, step)
            shapes[name][a] = drawn[key]
    return shapes


def float_model(name, entry, manifest):
    """The model that a quantized one was made from, or None."""
    origin = entry.get("quantized_from", name.removesuffix("_int8") if name.endswith("_int8") else None)
    return origin if origin in manifest else None

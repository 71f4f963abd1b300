#!/usr/bin/env python3
"""Makes a folder for ./dev bench --models: a two-stage detector, with fixed sizes and with symbolic height and width.

    python bench/make_detector.py DIR && ./dev bench --models DIR --peers ort        (needs torch and torchvision)

torchvision's Faster R-CNN with MobileNetV3 at 320. Its weights are random; on an example image, normalizations get the statistics
and the scores the spread that training would give them, so that 100 boxes stay.
"""
import argparse
import json
import pathlib
import warnings

import torch
import torchvision

INPUT = {"dtype": "float32", "shape": [1, 3, 320, 320], "gen": "randn"}


class Detector(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        found = self.model([image[0]])[0]
        return found["boxes"], found["labels"], found["scores"]


def watch(model, image, modules, hook):
    handles = [m.register_forward_hook(hook) for m in modules]
    with torch.no_grad():
        model([image])
    for handle in handles:
        handle.remove()


def normalize(model, image):
    def take(module, inputs):
        x = inputs[0]
        module.running_mean.copy_(x.mean((0, 2, 3)))
        module.running_var.copy_(x.var((0, 2, 3), unbiased=False).clamp_min(1e-6))

    norms = [m for m in model.modules() if hasattr(m, "running_mean")]
    handles = [m.register_forward_pre_hook(take) for m in norms]
    with torch.no_grad():
        model([image])
    for handle in handles:
        handle.remove()


def spread(model, image, layer, deviation):
    """Gives a linear layer or a convolution results of mean 0 and this deviation, over all its calls."""
    seen = []
    watch(model, image, [layer], lambda m, i, o: seen.append(o.detach().transpose(0, 1).flatten(1)))
    results = torch.cat(seen, 1)
    with torch.no_grad():
        gain = deviation / results.std(1).clamp_min(1e-12)
        layer.weight.mul_(gain.view(-1, *[1] * (layer.weight.dim() - 1)))
        layer.bias.copy_((layer.bias - results.mean(1)) * gain)


def make_model():
    torch.manual_seed(0)
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=91).eval()
    coarse = torch.nn.functional.interpolate(torch.rand(1, 3, 20, 20), (320, 320), mode="bilinear")
    image = (0.7 * coarse + 0.3 * torch.rand(1, 3, 320, 320))[0]
    normalize(model, image)
    heads = model.roi_heads
    for layer, deviation in ((model.rpn.head.cls_logits, 2.0), (model.rpn.head.bbox_pred, 0.3), (heads.box_head.fc6, 1.0), (heads.box_head.fc7, 1.0),
                             (heads.box_predictor.cls_score, 1.0), (heads.box_predictor.bbox_pred, 0.5)):
        spread(model, image, layer, deviation)
    return model, image


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    model, image = make_model()
    manifest = {}
    for name, axes in (("detector", None), ("detector_symbolic", {"image": {2: "height", 3: "width"}})):
        torch.onnx.export(Detector(model), (image[None],), str(folder / f"{name}.onnx"), opset_version=17, dynamo=False, dynamic_axes=axes,
                          input_names=["image"], output_names=["boxes", "labels", "scores"])
        manifest[name] = {"file": f"{name}.onnx", "inputs": {"image": INPUT}}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))


if __name__ == "__main__":
    main()

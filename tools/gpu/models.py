"""Makes the models that the GPU check runs, with random weights: FOLDER/NAME.onnx and FOLDER/NAME.INPUT.npy.

    python tools/gpu/models.py FOLDER NAME...

NAME is like resnet50:32, or resnet50:dynamic for an open batch size. "resnet50_init:1" has its batch norms as they are
initialized, where resnet50:1 has the statistics of two batches. "resnet50_int8:1" is resnet50:1, which is made too,
quantized (quantize.py), "bert_base_fp8:32" the same in FP8 (float8.py). What is there already is not made again.
"""

import pathlib
import sys
import warnings

import numpy as np
import torch

warnings.filterwarnings("ignore")
torch.backends.mha.set_fastpath_enabled(False)  # has no form in ONNX
ATTENTION = "eager"  # spelled out for the exporter; a peer may set "sdpa"


def inception_v3(batch):
    """Branches of up to three convolutions beside each other."""
    import torchvision

    model = torchvision.models.inception_v3(weights=None, aux_logits=False, init_weights=False)
    return model, {"x": torch.randn(batch, 3, 299, 299)}


def _of_images(name, size=224):
    """A model of torchvision's for square images."""

    def make(batch):
        import torchvision

        return getattr(torchvision.models, name)(weights=None), {"x": torch.randn(batch, 3, size, size)}

    return make


resnet50, mobilenet_v2, mobilenet_v3_large = (_of_images(name) for name in ("resnet50", "mobilenet_v2", "mobilenet_v3_large"))
efficientnet_b4, efficientnet_v2_s = _of_images("efficientnet_b4", 380), _of_images("efficientnet_v2_s", 384)
swin_t, convnext_t, densenet121 = _of_images("swin_t"), _of_images("convnext_tiny"), _of_images("densenet121")
# Grouped convolutions of 16 channels, and additions to what a product has just made.
regnet_x_400mf = _of_images("regnet_x_400mf")


def whisper_encoder(batch):
    """The encoder of Whisper's size "base": half a minute of speech."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(
        d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048, attn_implementation=ATTENTION
    )

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = WhisperEncoder(config)

        def forward(self, features):
            return self.model(features, return_dict=False)[0]

    return Plain(), {"features": torch.randn(batch, 80, 3000)}


def vit_b16(batch):
    import torchvision

    model = torchvision.models.vit_b_16(weights=None)
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # is made of zeros
    return model, {"x": torch.randn(batch, 3, 224, 224)}


def yolov5s(batch):
    from yolov5s import YoloV5s

    return YoloV5s(decode=False), {"x": torch.randn(batch, 3, 640, 640)}


def yolov5s_boxes(batch):
    from yolov5s import YoloV5s

    return YoloV5s(decode=True), {"x": torch.randn(batch, 3, 640, 640)}


def yolov5s_nms(batch):
    """What leaves the network: boxes of enough confidence that no better one of their class hides."""
    import torchvision
    from yolov5s import YoloV5s

    class Detector(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = YoloV5s(decode=True)
            # The plain mean of the batches' statistics: with less of it signals die out on the way, every anchor of a
            # level gets the same score, and rounding alone decides who stays.
            for module in self.model.modules():
                if isinstance(module, torch.nn.BatchNorm2d):
                    module.momentum = None

        def forward(self, x):
            rows = self.model(x)[0]
            score, label = (rows[:, 4:5] * rows[:, 5:]).max(1)
            sure = score > score.mean() + 2 * score.std()
            rows, score, label = rows[sure], score[sure], label[sure]
            middle, size = rows[:, :2], rows[:, 2:4]
            boxes = torch.cat([middle - size / 2, middle + size / 2], 1)
            kept = torchvision.ops.nms(boxes + label[:, None] * 4096.0, score, 0.45)
            return boxes[kept], score[kept], label[kept]

    return Detector(), {"x": torch.randn(1, 3, 640, 640)}


OUTPUTS = {"yolov5s_nms": ["boxes", "scores", "labels"]}


def bert_base(batch):
    from transformers import BertConfig, BertModel

    config = BertConfig(attn_implementation=ATTENTION)
    model = BertModel(config, add_pooling_layer=True)
    model.config.return_dict = False

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask)

    ids = torch.randint(0, 30000, (batch, 128))
    return Plain(), {"input_ids": ids, "attention_mask": torch.ones(batch, 128, dtype=torch.long)}


def minilm(batch):
    """Sentences to embeddings: a small encoder whose kinds of tokens are an input."""
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, attn_implementation=ATTENTION
    )

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = BertModel(config, add_pooling_layer=False)

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids, attention_mask, token_type_ids, return_dict=False)[0]

    ids, kinds = torch.randint(0, 30000, (batch, 128)), torch.randint(0, 2, (batch, 128))
    return Plain(), {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": kinds}


def make(name):
    """Model and inputs of "resnet50:32"."""
    torch.manual_seed(0)
    kind, _, batch = name.partition(":")
    model, inputs = globals()[kind.removesuffix("_init")](2 if batch == "dynamic" else int(batch or 1))
    # Batch norms of a fresh network pass everything through; statistics of a few batches make its values ordinary.
    if not kind.endswith("_init") and any(isinstance(m, torch.nn.BatchNorm2d) for m in model.modules()):
        model.train()
        with torch.no_grad():
            for _ in range(2):
                model(*(torch.randn(8, *v.shape[1:]) for v in inputs.values()))
    return model.eval(), inputs


def export(folder, name):
    model, inputs = make(name)
    file = name.replace(":", "_")
    kind = name.partition(":")[0].removesuffix("_init")
    more = {"output_names": OUTPUTS[kind]} if kind in OUTPUTS else {}
    with torch.no_grad():
        if name.endswith(":dynamic"):
            results = model(*inputs.values())
            outputs = [f"y{i}" for i in range(len(results) if isinstance(results, tuple) else 1)]
            more = {"output_names": outputs, "dynamic_axes": {key: {0: "N"} for key in [*inputs, *outputs]}}
        torch.onnx.export(
            model, tuple(inputs.values()), f"{folder}/{file}.onnx", input_names=list(inputs), opset_version=17, dynamo=False, **more
        )
    for key, value in inputs.items():
        np.save(f"{folder}/{file}.{key}.npy", value.numpy())


def export_quantized(folder, name):
    import float8
    import quantize

    plain = name.replace("_int8", "").replace("_fp8", "")
    source, target = plain.replace(":", "_"), name.replace(":", "_")
    if not pathlib.Path(f"{folder}/{source}.onnx").exists():
        export(folder, plain)
    inputs = {}
    for file in pathlib.Path(folder).glob(f"{source}.*.npy"):
        key = file.name[len(source) + 1 : -4]
        inputs[key] = np.load(file)
        np.save(f"{folder}/{target}.{key}.npy", inputs[key])
    source, target = f"{folder}/{source}.onnx", f"{folder}/{target}.onnx"
    if "_fp8" in name:
        float8.quantize(source, target, inputs)
    else:
        quantize.quantize(source, target, inputs, quantize.ops_of(plain))


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    for name in names:
        if pathlib.Path(f"{folder}/{name.replace(':', '_')}.onnx").exists():
            continue
        (export_quantized if "_int8" in name or "_fp8" in name else export)(folder, name)
        print("made", name.replace(":", "_"), flush=True)


if __name__ == "__main__":
    main()

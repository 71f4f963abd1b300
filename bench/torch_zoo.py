"""Models of torchvision, timm and transformers in small configurations, with random weights: what torch_models.py checks.

Each is a function that returns (model, positional arguments, keyword arguments). None downloads anything.
"""
import functools

import torch


def _image(size, batch=2):
    return torch.randn(batch, 3, size, size)


def _vision(name, size=64, **settings):
    import torchvision

    return getattr(torchvision.models, name)(**settings), (_image(size),), {}


def _segmentation(name, size=64):
    import torchvision

    make = getattr(torchvision.models.segmentation, name)
    return make(weights=None, weights_backbone=None, num_classes=5), (_image(size),), {}


def _small_vit():
    import torchvision

    model = torchvision.models.VisionTransformer(image_size=64, patch_size=16, num_layers=3, num_heads=4, hidden_dim=64, mlp_dim=128)
    torch.nn.init.normal_(model.heads.head.weight)  # zeros would hide every error
    return model, (_image(64),), {}


def _small_swin():
    import torchvision

    model = torchvision.models.SwinTransformer(patch_size=[4, 4], embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4])
    return model, (_image(64),), {}


def _timm(name, size=64, **settings):
    import timm

    return timm.create_model(name, pretrained=False, num_classes=10, **settings), (_image(size),), {}


def _text(kind, config, vocabulary=128, length=12, mask=True, **settings):
    import transformers

    model = getattr(transformers, kind)(getattr(transformers, config)(**{"vocab_size": vocabulary, **settings}))
    tokens = torch.randint(3, vocabulary - 1, (2, length))
    more = {}
    if mask:
        more["attention_mask"] = torch.ones(2, length, dtype=torch.int64)
        more["attention_mask"][1, length - 3:] = 0
    return model, (), {"input_ids": tokens, **more}


_BERT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
_LLAMA = {**_BERT, "num_key_value_heads": 2, "use_cache": False}


def _t5():
    import transformers

    config = transformers.T5Config(vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, use_cache=False)
    tokens = torch.randint(3, 128, (2, 9))
    return transformers.T5ForConditionalGeneration(config), (), {"input_ids": tokens, "decoder_input_ids": tokens[:, :5]}


def _whisper():
    import transformers

    config = transformers.WhisperConfig(vocab_size=128, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                                        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=16,
                                        max_source_positions=32, max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                        decoder_start_token_id=1, use_cache=False)
    return transformers.WhisperModel(config), (), {"input_features": torch.randn(2, 16, 64), "decoder_input_ids": torch.randint(3, 100, (2, 5))}


def _wav2vec2():
    import transformers

    config = transformers.Wav2Vec2Config(**_BERT, conv_dim=(32, 32, 32), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_feat_extract_layers=3,
                                         num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
    return transformers.Wav2Vec2Model(config), (torch.randn(2, 1600),), {}


def _clip():
    import transformers

    both = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    config = transformers.CLIPConfig(text_config={**both, "vocab_size": 128, "eos_token_id": 127}, projection_dim=32,
                                     vision_config={**both, "image_size": 64, "patch_size": 16})
    return transformers.CLIPModel(config), (), {"input_ids": torch.randint(3, 127, (2, 8)), "pixel_values": _image(64)}


def _hf_image(kind, config, size=64, **settings):
    import transformers

    return getattr(transformers, kind)(getattr(transformers, config)(**settings)), (_image(size),), {}


def _rows(make, names, **settings):
    return {name: functools.partial(make, name, **settings) for name in names}


MODELS = {
    **_rows(_vision, ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "squeezenet1_1",
                      "shufflenet_v2_x1_0", "regnet_y_400mf", "mnasnet0_5")),
    "googlenet": functools.partial(_vision, "googlenet", aux_logits=False, init_weights=False),
    "vision_transformer": _small_vit, "swin_transformer": _small_swin,
    **_rows(_segmentation, ("lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large")),
    **_rows(_timm, ("convnext_atto", "ghostnet_100", "efficientnet_lite0", "mobilevit_xxs", "edgenext_xx_small", "poolformer_s12", "regnetx_002",
                    "tinynet_e", "res2net50_14w_8s", "hrnet_w18_small", "fastvit_t8", "repvgg_a0")),
    **{f"timm.{n}": functools.partial(_timm, n, img_size=64) for n in ("vit_tiny_patch16_224", "mixer_s32_224", "xcit_nano_12_p16_224")},
    "bert": functools.partial(_text, "BertModel", "BertConfig", **_BERT),
    "roberta": functools.partial(_text, "RobertaModel", "RobertaConfig", **_BERT),
    "distilbert": functools.partial(_text, "DistilBertModel", "DistilBertConfig", dim=64, n_layers=2, n_heads=4, hidden_dim=128),
    "albert": functools.partial(_text, "AlbertModel", "AlbertConfig", embedding_size=32, **_BERT),
    "electra": functools.partial(_text, "ElectraModel", "ElectraConfig", embedding_size=32, **_BERT),
    "gpt2": functools.partial(_text, "GPT2LMHeadModel", "GPT2Config", n_embd=64, n_layer=2, n_head=4, use_cache=False),
    "opt": functools.partial(_text, "OPTForCausalLM", "OPTConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128,
                             word_embed_proj_dim=64, use_cache=False),
    "llama": functools.partial(_text, "LlamaForCausalLM", "LlamaConfig", **_LLAMA),
    "qwen2": functools.partial(_text, "Qwen2ForCausalLM", "Qwen2Config", **_LLAMA),
    "gpt_neox": functools.partial(_text, "GPTNeoXForCausalLM", "GPTNeoXConfig", use_cache=False, **_BERT),
    "t5": _t5, "whisper": _whisper, "wav2vec2": _wav2vec2, "clip": _clip,
    "vit": functools.partial(_hf_image, "ViTModel", "ViTConfig", image_size=64, **_BERT),
}

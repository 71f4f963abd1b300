"""Every property that the lists say can be set is set and read back, at both levels; and what the classes of values do."""
import enum
import pathlib
import re
import sys

import numpy as np
import pytest
from api_objects import Objects
from wootz import _levels

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/api"))
import surface_python as surface  # noqa: E402

WANTED = {level: surface.read_list(surface.LISTS[level].read_text()) for level in (10, 11)}
MADE = {}


def objects(level):
    if level not in MADE:
        MADE[level] = Objects(_levels.package(level))
    return MADE[level]


def settable(level):
    """(class, property) of those that this file makes objects of."""
    known = surface.exceptions(level)
    made = objects(level).of
    return [(name, member) for name, (_, members) in WANTED[level].classes.items() for member, form in members.items()
            if form == "rw" and name in made and member not in CALLBACKS and f"{name}.{member}" not in known]


# Values for properties whose range the type of the value does not say: of the object and the package.
VALUES = {
    "IActivationLayer.type": lambda o, t: t.ActivationType.RELU,
    "IAttention.causal_kind": lambda o, t: t.CausalMaskKind.UPPER_LEFT,
    "IAttention.key_value_form": lambda o, t: t.AttentionIOForm.PACKED_NHD,
    "IAttention.query_form": lambda o, t: t.AttentionIOForm.PACKED_NHD,
    "IAttention.mask": lambda o, t: o.network.add_input("mask", t.DataType.BOOL, (1, 2, 5, 5)),
    "IAttention.key_value_lengths": lambda o, t: o.network.add_input("kv_lengths", t.int32, (1,)),
    "IAttention.query_lengths": lambda o, t: o.network.add_input("q_lengths", t.int32, (1,)),
    "IAttention.normalization_quantize_scale": lambda o, t: o.constant(0.5),
    "IAttention.normalization_quantize_to_type": lambda o, t: t.DataType.FP8,
    "IAttention.num_ranks": lambda o, t: 1,
    "IBuilderConfig.build_route": lambda o, t: "without:fuse_pointwise",
    "IBuilderConfig.flags": lambda o, t: 1 << int(t.BuilderFlag.TF32) | 1 << int(t.BuilderFlag.DEBUG),
    "IBuilderConfig.plugins_to_serialize": lambda o, t: ["/one.so", "/two.so"],
    "IBuilderConfig.quantization_flags": lambda o, t: 1,
    "IConstantLayer.shape": lambda o, t: (3, 2),
    "IDequantizeLayer.block_shape": lambda o, t: (1, 3, 4, 4),
    "IDequantizeLayer.to_type": lambda o, t: t.float16,
    "IDynamicQuantizeLayer.axis": lambda o, t: 0,
    "IDynamicQuantizeLayer.block_shape": lambda o, t: (1, 32),
    "IDynamicQuantizeLayer.block_size": lambda o, t: 32,
    "IDynamicQuantizeLayer.scale_type": lambda o, t: t.DataType.E8M0,
    "IDynamicQuantizeLayer.to_type": lambda o, t: t.DataType.FP8,
    "IEinsumLayer.equation": lambda o, t: "abcd,abcd->a",
    "IKVCacheUpdateLayer.update_form": lambda o, t: t.AttentionIOForm.PACKED_NHD,
    "IKVCacheUpdateLayer.update_lengths": lambda o, t: o.network.add_input("update_lengths", t.int32, (1,)),
    "ILoopOutputLayer.axis": lambda o, t: 1,
    "ILRNLayer.window_size": lambda o, t: 5,
    "IMoELayer.dyn_q_output_scale_type": lambda o, t: t.float32,
    "IMoELayer.quantization_block_shape": lambda o, t: (1, 16),
    "IMoELayer.quantization_to_type": lambda o, t: t.DataType.FP8,
    "INMSLayer.indices_type": lambda o, t: t.int64,
    "INonZeroLayer.indices_type": lambda o, t: t.int64,
    "ITopKLayer.indices_type": lambda o, t: t.int64,
    "INormalizationLayer.compute_precision": lambda o, t: t.float16,
    "INormalizationLayer.num_groups": lambda o, t: 1,
    "IQuantizeLayer.block_shape": lambda o, t: (1, 3, 4, 4),
    "IQuantizeLayer.to_type": lambda o, t: t.DataType.FP8,
    "IResizeLayer.scales": lambda o, t: [1.0, 1.0, 3.0, 2.0],
    "IResizeLayer.shape": lambda o, t: (2, 3, 8, 8),
    "IRotaryEmbeddingLayer.rotary_embedding_dim": lambda o, t: 8,
    "IReverseSequenceLayer.batch_axis": lambda o, t: 1,
    "IReverseSequenceLayer.sequence_axis": lambda o, t: 0,
    "IShuffleLayer.first_transpose": lambda o, t: (1, 0, 3, 2),
    "IShuffleLayer.second_transpose": lambda o, t: (0, 2, 1),
    "IShuffleLayer.reshape_dims": lambda o, t: (2, 48),
    "ISliceLayer.axes": lambda o, t: (0, 1, 2, 3),
    "ISliceLayer.start": lambda o, t: (0, 1, 1, 1),
    "ISoftMaxLayer.axes": lambda o, t: 4,
    "IExecutionContext.nvtx_verbosity": lambda o, t: t.ProfilingVerbosity.NONE,
    "ICudaEngine.weight_streaming_budget": lambda o, t: 0,
    "ICudaEngine.weight_streaming_budget_v2": lambda o, t: 0,
    "IOptimizationProfile.extra_memory_target": lambda o, t: 0.5,
    "ITensor.dynamic_range": lambda o, t: (-2.0, 3.0),
    "EngineInspector.execution_context": lambda o, t: o.of["IExecutionContext"],
    "ISerializationConfig.flags": lambda o, t: 1 << int(t.SerializationFlag.EXCLUDE_WEIGHTS),
    "ITensor.allowed_formats": lambda o, t: 1 << int(t.TensorFormat.LINEAR),
    "Runtime.tempfile_control_flags": lambda o, t: 2,
    "Runtime.temporary_directory": lambda o, t: "/",
    "OnnxParser.flags": lambda o, t: 1 << int(t.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE),
}
# Names that tests of another kind cover, or that the interface has and no program calls.
ELSEWHERE = ("IDimensionExpr.", "IExprBuilder.", "IGpuAllocator.", "IPluginV2.", "IPluginV2Ext.", "IPluginV2DynamicExt.", "IPluginV3OneBuild.",
             "ISymExprs.", "KernelLaunchParams.")
# Properties that take objects with methods of the program's: test_callbacks.py.
CALLBACKS = {"error_recorder", "gpu_allocator", "temporary_allocator", "profiler", "progress_monitor", "algorithm_selector",
             "int8_calibrator"}
# What is refused with ValueError, and why.
REFUSED = {
    "IAttention.key_value_form": "packed sequences are not offered",
    "IAttention.key_value_lengths": "lengths of sequences are not offered",
    "IAttention.normalization_quantize_scale": "normalized scores are not quantized",
    "IAttention.normalization_quantize_to_type": "normalized scores are not quantized",
    "IAttention.query_form": "packed sequences are not offered",
    "IAttention.query_lengths": "lengths of sequences are not offered",
    "IBuilderConfig.l2_limit_for_tiling": "layers are not tiled across each other",
    "IBuilderConfig.remote_auto_tuning_config": "tactics are timed on this machine only",
    "IBuilderConfig.tiling_optimization_level": "layers are not tiled across each other",
    "ICudaEngine.weight_streaming_budget": "the engine does not stream its weights",
    "ICudaEngine.weight_streaming_budget_v2": "the engine does not stream its weights",
    "IExecutionContext.unfused_tensors_debug_state": "the network was not marked for it",
    "IKVCacheUpdateLayer.update_form": "packed sequences are not offered",
    "IKVCacheUpdateLayer.update_lengths": "lengths of sequences are not offered",
}
# What a setter leaves as it was, with a line in the log, and why.
KEPT = {
    "IBuilderConfig.DLA_core": "there is no DLA",
    "IExecutionContext.persistent_cache_limit": "a processor's cache keeps nothing",
    "IMoELayer.quantization_block_shape": "the scales of a MoE are given",
    "Runtime.DLA_core": "there is no DLA",
    "ITensor.location": "only the device is there to choose",
    "ITensor.broadcast_across_batch": "networks have no implicit batch",
}


def another(value):
    """Another value of the type of this one."""
    if isinstance(value, enum.Enum):
        members = list(type(value))
        return members[(members.index(value) + 1) % len(members)]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 0.5
    if isinstance(value, str):
        return value + "other"
    if isinstance(value, np.ndarray):
        return value + 1 + np.arange(value.size, dtype=value.dtype)
    return tuple(extent + 1 for extent in value)


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(b, tuple) and not isinstance(a, tuple):
        return tuple(a)[:len(b)] == b
    return np.isclose(a, b, rtol=1e-6, atol=0) if isinstance(b, float) else a == b


@pytest.mark.parametrize("level", [10, 11])
def test_properties_keep_what_is_set(level):
    made, trt, wrong = objects(level), _levels.package(level), []
    for name, member in settable(level):
        thing, key = made.of[name], f"{name}.{member}"
        before = getattr(thing, member)
        value = VALUES[key](made, trt) if key in VALUES else another(before)
        try:
            setattr(thing, member, value)
        except Exception as error:  # noqa: BLE001
            if key not in REFUSED or not isinstance(error, ValueError):
                wrong.append(f"{key}: {before!r} -> {value!r}: {error}")
            continue
        if key in REFUSED:
            wrong.append(f"{key}: {value!r} was taken, although {REFUSED[key]}")
        after = getattr(thing, member)
        if key in KEPT:
            wrong += [] if same(after, before) else [f"{key}: {KEPT[key]}, and {after!r} came back"]
        elif not same(after, value):
            wrong.append(f"{key}: {before!r} -> {value!r}, and {after!r} came back")
    assert wrong == []


@pytest.mark.parametrize("level", [10, 11])
def test_the_tables_name_what_is_there(level):
    known = {f"{name}.{member}" for each in (10, 11) for name, (_, members) in WANTED[each].classes.items() for member in members}
    assert {*VALUES, *KEPT, *REFUSED} <= known


def test_every_member_is_used_by_a_test():
    """Each name of the lists stands in a test, but for those that test_properties_keep_what_is_set sets."""
    text = "".join(path.read_text() for path in sorted((ROOT / "tests/py").glob("*.py")))
    used = set(re.findall(r"[.\s(](\w+)\b", text))
    unused = []
    for level, wanted in WANTED.items():
        set_back, known = set(settable(level)), surface.exceptions(level)
        for name, (_, members) in wanted.classes.items():
            unused += [f"{name}.{member}" for member in members if member not in used and (name, member) not in set_back
                       and not {name, f"{name}.{member}"} & known and not member.startswith("__") and not f"{name}.".startswith(ELSEWHERE)]
    assert unused == []

"""Every fusion from ONNX: the steps that the plan has, and that they compute what the graph says. The lists are in tests/fusions."""
import pathlib
import sys
from collections import Counter

import pytest
import wootz  # noqa: F401  without it nothing below runs: a failure, not a reason to skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fusions"))
import blocks
import exporters
import plans
import rows
import rows_quantized


def check_outputs(model, plan, tolerance=1e-4):
    """Against the same model without a single pass, and against ONNX Runtime."""
    feeds = plans.random_feeds(model)
    actual = plan.infer(feeds)
    for whose, expected in (("passes off", plans.Plan(model, ["all"]).infer(feeds)),
                            ("ONNX Runtime", plans.onnxruntime_outputs(model, feeds))):
        for name, value in expected.items():
            assert plans.difference(actual[name], value) <= tolerance, f"output {name} differs from {whose}"


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.name)
def test_fusion(row):
    model = row.build()
    plan = plans.Plan(model)
    # What only moves elements may find them in place.
    moved = Counter(row.steps) - Counter(plan.steps)
    assert not Counter(plan.steps) - Counter(row.steps) and set(moved) <= {"move"}, [layer["Name"] for layer in plan.layers]
    if row.passes:
        apart = plans.Plan(model, row.passes)
        assert len(apart.steps) > len(plan.steps) or (
            row.same_steps and apart.kernels != plan.kernels), "it is no different without its passes"
    check_outputs(model, plan, row.tolerance)


@pytest.mark.parametrize("name, build", rows_quantized.QUANTIZED, ids=[name for name, _ in rows_quantized.QUANTIZED])
def test_quantized(name, build):
    model = build()
    check_outputs(model, plans.Plan(model), 2e-2)


@pytest.mark.parametrize("name, build, most", blocks.BLOCKS, ids=[name for name, _, _ in blocks.BLOCKS])
def test_block(name, build, most):
    model = build()
    plan = plans.Plan(model)
    left = Counter(plan.steps) - most
    assert not left, f"steps beyond {dict(most)}: {dict(left)} in {[layer['Name'] for layer in plan.layers]}"
    check_outputs(model, plan)


@pytest.mark.parametrize("name, family, build", exporters.SPELLINGS, ids=[name for name, _, _ in exporters.SPELLINGS])
def test_spelling(name, family, build):
    model = build()
    plan = plans.Plan(model)
    heavy = sum(node.op_type in ("Conv", "MatMul", "Gemm") for node in model.graph.node)
    casts = 2 if name == "half_precision_with_casts" else 0  # of the network's own tensors
    rest = [step for step in plan.steps if step != family]
    assert plan.steps.count(family) == heavy and len(rest) <= casts, [layer["Name"] for layer in plan.layers]
    check_outputs(model, plan, 1e-2 if casts else 1e-4)


def test_fused_steps_are_named_after_what_they_stand_for():
    names = {row.name: [layer["Name"] for layer in plans.Plan(row.build()).layers] for row in rows.ROWS
             if row.name in ("scale_activation", "conv_relu")}
    assert names["scale_activation"] == ["fusedPointwiseNode(mul1, add1, relu1)"]
    assert "conv1 + relu1" in names["conv_relu"]


def test_what_is_read_elsewhere_is_not_fused_away():
    """The convolution's own result is an output too: the activation stays a step, and both are right."""
    n = rows.Net()
    y = n.conv(n.input(1, 4, 8, 8), 4, 8)
    model = n.model(n.Relu(y), y)
    plan = plans.Plan(model)
    assert sorted(plan.steps) == ["conv", "pointwise"]
    check_outputs(model, plan)


def test_the_guide_lists_every_row():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/optimizations.md").read_text()
    missing = [row.name for row in rows.ROWS if f"| {row.pattern} |" not in page]
    assert not missing, f"run tools/docs/optimizations.py: the page lacks {missing}"

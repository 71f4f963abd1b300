"""What wootz.plugin says to its users where no engine is: expressions, signatures, combinations. Engines: decorated_plugin_cases.py."""
import pytest
import wootz as trt
import wootz.plugin as trtp
from decorated_plugin_cases import run_raises


def test_expressions_are_numbers_where_they_can_be():
    seven, fake = trtp.ShapeExpr(7), trtp.ShapeExpr()
    for made, want in ((seven + 1, 8), (1 - seven, -6), (seven * 2, 14), (seven // 2, 3), (15 // seven, 2), (trtp.cdiv(seven, 2), 4),
                       (trtp.max(seven, 9), 9), (trtp.min(3, seven), 3), (seven == 7, 1), (seven != 7, 0), (seven < 8, 1), (seven > 8, 0),
                       (seven <= 7, 1), (seven >= 8, 0)):
        assert isinstance(made, trtp.SymIntExpr) and made.is_constant and made.constant_value() == want and not made.is_fake, want
    assert bool(seven) and not bool(seven < 3) and "7" in repr(seven) and int(trtp.SymInt8(3).constant_value()) == 3
    assert trtp.SymInt16(seven).dtype == trt.PluginArgDataType.INT16
    assert (fake + 1).is_fake and not fake.is_size_tensor
    for use, error, words in ((lambda: fake.is_constant, RuntimeError, "is_fake"), (lambda: bool(fake), ValueError, "neither true nor false"),
                              (lambda: seven // 0, ValueError, "divides by zero"), (lambda: trtp.cdiv(1, 2), ValueError, "an expression"),
                              (lambda: trtp.ShapeExprs(9), ValueError, "may be 8")):
        with pytest.raises(error, match=words):
            use()
    shape = trtp.ShapeExprs.from_tuple((2, seven))
    shape[0] = 3
    assert shape.numel().constant_value() == 21 and len(shape[:1]) == 1 and [e.constant_value() for e in shape] == [3, 7]
    assert trtp.Shape((2, 3)).numel() == 6 and trtp.Shape((2, -1)).is_dynamic and trtp.Shape((2, 3)) == (2, 3)
    with pytest.raises(ValueError, match="open extents"):
        trtp.Shape((2, -1)).numel()
    with pytest.raises(AttributeError, match="has_shape"):
        trtp.TensorDesc((2, 3), trt.float32).shape


FAULTS = [("a::b::c", None, ValueError, "is no id"), ("tests::no_hint", lambda x: x, ValueError, "has no annotation"),
          ("tests::blend", None, ValueError, "registered already")]


@pytest.mark.parametrize("name, function, error, words", FAULTS)
def test_wrong_registrations_are_refused(name, function, error, words):
    with pytest.raises(error, match=words):
        trtp.register(name)(function)


def test_signatures_are_held_against_the_registered_one():
    def make(name, function):
        return trtp.register(name, lazy_register=True)(function)

    def bad_attribute(x: trtp.TensorDesc, values: list) -> trtp.TensorDesc: ...
    def bad_order(a: int, x: trtp.TensorDesc) -> trtp.TensorDesc: ...
    def bad_result(x: trtp.TensorDesc) -> int: ...

    for function, words in ((bad_attribute, "annotated <class 'list'>"), (bad_order, "comes after an attribute"), (bad_result, "what is returned")):
        with pytest.raises(ValueError, match=words):
            make("tests::" + function.__name__, function)
    make("tests::like", like)
    for function, words in ((lambda y, outputs, stream: None, "first arguments are to be x"), (lambda x, a, outputs, stream: None, "attribute 'a'")):
        with pytest.raises(ValueError, match=words):
            trtp.impl("tests::like")(function)
    with pytest.raises(ValueError, match="an impl function already"):
        trtp.impl("tests::raises")(run_raises)
    with pytest.raises(ValueError, match="which is not registered"):
        trtp.autotune("tests::nothing")(run_raises)
    with pytest.raises(AttributeError, match="no plugin tests::nothing"):
        trtp.op.tests.nothing
    with pytest.raises(AttributeError, match="namespace nowhere"):
        trtp.op.nowhere
    assert "blend" in dir(trtp.op.tests) and "tests" in dir(trtp.op)


def like(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


CALL_FAULTS = [((), {"where": "x"}, "input 'x' is missing"), (("x",), {}, "attribute 'where' is missing"), (("x",), {"where": 3}, "is str, given is int"),
               (("x", "a", "b"), {}, "2 at most"), (("x",), {"when": 1}, "'when' is not known"), (("x",), {"x": 1}, "'x' is given twice")]


@pytest.mark.parametrize("args, kwargs, words", CALL_FAULTS)
def test_wrong_calls_are_refused(args, kwargs, words):
    with pytest.raises(TypeError, match=words):
        trtp.op.tests.raises(*args, **kwargs)


@pytest.mark.parametrize("io_types, layouts, count, words", [("FP33", None, 1, "is no type"), ("FP32", "CHW", 1, "no name of TensorFormat"),
                                                             ("FP32|FP16*INT8", None, 1, "takes one"), ("FP32", None, 2, "of 2 inputs and outputs"),
                                                             ("FP32|FP16, FP32|FP16|BF16", None, 2, "taken in step")])
def test_wrong_combinations_are_refused(io_types, layouts, count, words):
    with pytest.raises(ValueError, match=words):
        list(trtp.AutoTuneCombination(io_types, layouts)._of(count))


def test_combinations_are_written_out():
    f32, f16, lin, hwc = trt.float32, trt.float16, trt.TensorFormat.LINEAR, trt.TensorFormat.HWC
    assert list(trtp.AutoTuneCombination("FP32|FP16, FP32|FP16")._of(2)) == [((f32, lin), (f32, lin)), ((f16, lin), (f16, lin))]
    assert len(list(trtp.AutoTuneCombination("FP32*FP16, INT8", "LINEAR*HWC, LINEAR")._of(2))) == 4
    assert list(trtp.AutoTuneCombination("FP32", "HWC")._of(1)) == [((f32, hwc),)]

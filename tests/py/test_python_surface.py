"""The package offers what TensorRT's offers, at both levels of the API: names, parameters, defaults, what can be set."""
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import wootz
from wootz import _levels

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/api"))
import surface_python as surface  # noqa: E402

LEVELS = (10, 11)
WANTED = {level: surface.read_list(surface.LISTS[level].read_text()) for level in LEVELS}
# What TensorRT's package has beside its classes, enumerations and functions of C++, and a name that earlier versions had.
PLAIN = {"ResizeMode", "volume", "nptype", "float32", "float16", "bfloat16", "int8", "int32", "int64", "int4", "uint8", "bool", "fp8", "fp4",
         "e8m0"}


@pytest.fixture(scope="module", params=LEVELS)
def level(request):
    return request.param


def found(level):
    return surface.of_package(_levels.names(level), WANTED[level])


def test_nothing_is_missing_or_different(level):
    known = surface.exceptions(level)
    different = list(surface.differences(WANTED[level], found(level)))
    assert [line for line in different if surface.key(line) not in known] == []
    assert known <= {surface.key(line) for line in different}, "delete these lines of surface_python_missing.txt"


def test_names_of_a_level_are_those_of_the_list(level):
    names = set(_levels.names(level))
    wanted = {*WANTED[level].classes, *(n for n in WANTED[level].enums if "." not in n), *WANTED[level].functions, *PLAIN}
    missing = {key.split(".")[0] for key in surface.exceptions(level)}
    assert wanted - names <= missing
    assert names - wanted - {"plugin"} == set()


def test_members_beyond_the_list_are_known(level):
    assert set(surface.extras(WANTED[level], _levels.names(level))) == surface.beyond(level)


def test_the_levels_are_packages_of_their_own():
    ten, eleven = _levels.package(10), _levels.package(11)
    assert ten is wootz and eleven is _levels.package(11) and eleven is not wootz
    assert ten.Builder is not eleven.Builder and ten.__version__.startswith("10.16") and eleven.__version__.startswith("11.1")
    with pytest.raises(ValueError, match="neither 10 nor 11"):
        _levels.package(12)


def test_each_level_builds_and_runs(level):
    trt = _levels.package(level)
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    x = network.add_input("x", trt.float32, (2, 3))
    network.mark_output(network.add_activation(x, trt.ActivationType.RELU).get_output(0))
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.REFIT)
    assert config.flags == 1 << int(trt.BuilderFlag.TF32) | 1 << int(trt.BuilderFlag.REFIT)
    config.set_flag(trt.BuilderFlag.STRIP_PLAN)
    assert config.get_flag(trt.BuilderFlag.STRIP_PLAN) and not config.get_flag(trt.BuilderFlag.VERSION_COMPATIBLE)
    config.clear_flag(trt.BuilderFlag.STRIP_PLAN)
    config.set_option("timing", "0")
    runtime = trt.Runtime(logger)
    engine = runtime.deserialize_cuda_engine(builder.build_serialized_network(network, config))
    given = np.array([[-1, 0, 2], [3, -4, 5]], np.float32)
    np.testing.assert_array_equal(trt.infer(engine.create_execution_context(), {"x": given})[network.get_output(0).name],
                                  np.maximum(given, 0))


def test_the_tool_prints_lists_and_differences():
    done = subprocess.run([sys.executable, ROOT / "tools/api/surface_python.py", "--level", "11"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run([sys.executable, ROOT / "tools/api/surface_python.py", "--level", "11", "--print"], capture_output=True,
                           text=True, check=True).stdout
    again = surface.read_list(shown)
    assert surface.print_list(again) == shown and "FP16" not in again.enums["BuilderFlag"]


LIST = """enum E A=0 B=1
class C(Base)
  __init__() | (x)
  f(a, b=E.A)
  g(arg0)
  p rw
def h(n=None)
"""
CHANGES = [("B=1", "B=2", "different enum E.B: 1 there, 2 here"), ("enum E A=0 B=1\n", "", "missing enum E"),
           ("C(Base)", "C(Other)", "different class C: no Base"), ("f(a, b=E.A)", "f(a)", "different C.f: (a, b=E.A) there, (a) here"),
           ("f(a, b=E.A)", "f(a, b=E.B)", "different C.f: (a, b=E.A) there, (a, b=E.B) here"), ("  p rw\n", "", "missing C.p"),
           ("p rw", "p r", "different C.p: rw there, r here"), ("h(n=None)", "h(m=None)", "different h: (n=None) there, (m=None) here"),
           ("() | (x)", "(x)", "different C.__init__: () there, (x) here")]


@pytest.mark.parametrize("old,new,message", CHANGES, ids=[change[2] for change in CHANGES])
def test_what_differs_is_named(old, new, message):
    assert old in LIST
    assert list(surface.differences(surface.read_list(LIST), surface.read_list(LIST.replace(old, new)))) == [message]


def test_what_allows_more_is_no_difference():
    more = LIST.replace("f(a, b=E.A)", "f(a, b=E.A, c=1)").replace("g(arg0)", "g(item)")
    assert list(surface.differences(surface.read_list(LIST), surface.read_list(more))) == []

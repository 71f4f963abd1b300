#!/usr/bin/env python3
"""Writes ONNX's backend test suite as files, for the runner in this folder (and any other program without Python).

    .venv/bin/python tests/onnx_suite/export.py DIR

DIR/KIND/NAME/model.onnx, DIR/KIND/NAME/{input,output}_SET_N.pb (one TensorProto, SequenceProto or OptionalProto each), and
DIR/index.json: {"onnx": version, "tests": [{name, kind, model, rtol, atol, sets: [{inputs: [{name, file, proto}], outputs}]}]}.
The data are those of the installed onnx package; nothing is fetched.
"""

import argparse
import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
PROTOS = {"tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}


def declared(model):
    """(inputs that a caller gives, outputs) of a model, as ValueInfoProto."""
    initialized = {t.name for t in model.graph.initializer}
    return [v for v in model.graph.input if v.name not in initialized], list(model.graph.output)


def to_message(value, info):
    """A test value (array, scalar, list, None or message) as the message that its declaration asks for."""
    if isinstance(value, tuple(PROTOS.values())):
        return value
    which = info.type.WhichOneof("value")
    if which == "optional_type":
        if value is None:
            element = info.type.optional_type.elem_type
            of_tensor = element.HasField("tensor_type")
            message = onnx.OptionalProto(name=info.name)
            message.elem_type = onnx.OptionalProto.TENSOR if of_tensor else onnx.OptionalProto.SEQUENCE
            return message
        return numpy_helper.from_optional(value, info.name)
    if which == "sequence_type":
        return numpy_helper.from_list([np.asarray(v) for v in value], info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def dummy(info):
    """The ramp that onnx's own runner feeds to models without data."""
    shape = [d.dim_value if d.HasField("dim_value") else 1 for d in info.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def load(path, info):
    message = PROTOS[info.type.WhichOneof("value")]()
    message.ParseFromString(path.read_bytes())
    return message


def stored_sets(folder, model):
    inputs, outputs = declared(model)
    for data in sorted(folder.glob("test_data_set_*")):
        sides = []
        for what, infos in (("input", inputs), ("output", outputs)):
            count = len(list(data.glob(f"{what}_*.pb")))
            sides.append([load(data / f"{what}_{i}.pb", infos[i]) for i in range(count)])
        yield tuple(sides)


def light_sets(path, model):
    inputs, outputs = declared(model)
    yield [dummy(i) for i in inputs], [load(path.with_name(f"{path.stem}_output_{i}.pb"), o) for i, o in enumerate(outputs)]


def contents(case):
    """(model, [(inputs, outputs)]) of one test case."""
    if case.model is not None:
        return case.model, case.data_sets
    if case.model_dir is not None:
        folder = pathlib.Path(case.model_dir)
        model = onnx.load(folder / "model.onnx")
        return model, list(stored_sets(folder, model))
    path = pathlib.Path(onnx.__file__).parent / "backend/test/data/light" / pathlib.PurePosixPath(case.url).name
    model = onnx.load(path)
    return model, list(light_sets(path, model))


def export(case, root):
    model, sets = contents(case)
    folder = root / case.kind / case.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    entry = {"name": case.name, "kind": case.kind, "model": f"{case.kind}/{case.name}/model.onnx", "rtol": case.rtol,
             "atol": case.atol, "ops": sorted({n.op_type for n in model.graph.node}), "sets": []}
    inputs, outputs = declared(model)
    for index, (given, expected) in enumerate(sets):
        sides = {}
        for what, values, infos in (("input", given, inputs), ("output", expected, outputs)):
            sides[what + "s"] = []
            for i, value in enumerate(values):
                message = to_message(value, infos[i])
                file = f"{what}_{index}_{i}.pb"
                (folder / file).write_bytes(message.SerializeToString(deterministic=True))
                sides[what + "s"].append({"name": infos[i].name, "file": file, "proto": type(message).__name__})
        entry["sets"].append(sides)
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these kinds")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tests, problems = [], []
    for kind in args.kind or KINDS:
        for case in load_model_tests(kind=kind):
            try:
                tests.append(export(case, args.folder))
            except Exception as error:  # one bad case must not hide the others
                problems.append(f"{kind}/{case.name}: {type(error).__name__}: {error}")
    tests.sort(key=lambda t: (t["kind"], t["name"]))
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / "index.json").write_text(json.dumps({"onnx": onnx.__version__, "tests": tests}, indent=0))
    print(f"{len(tests)} tests in {args.folder}")
    for problem in problems:
        print("not exported:", problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""What the methods of parsers and refitters do."""
import numpy as np
import onnx
import pytest
import wootz as trt
from test_python_classes import model, plan_of


@pytest.fixture
def logger():
    return trt.Logger(trt.Logger.INTERNAL_ERROR)


# Parser.

def test_parser(logger):
    network = trt.Builder(logger).create_network(0)
    parser = trt.OnnxParser(network, logger)
    flag = trt.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE
    parser.set_flag(flag)
    assert parser.get_flag(flag) and parser.flags & 1 << int(flag)
    parser.clear_flag(flag)
    assert not parser.get_flag(flag) and parser.supports_operator("Conv") and not parser.supports_operator("NoSuchOperator")
    assert parser.set_builder_config(network.builder.create_builder_config()) in (True, False)
    assert parser.supports_model_v2(model()) and parser.num_subgraphs == 1 and parser.is_subgraph_supported(0)
    assert list(parser.get_subgraph_nodes(0)) == [0]
    with pytest.raises(IndexError, match="subgraph 5 of 1"):
        parser.get_subgraph_nodes(5)
    all_of_it, parts = parser.supports_model(model())
    assert all_of_it and isinstance(parts, trt.SubGraphCollection) and list(parts) == [([0], True)] and isinstance(parts[0][0], trt.NodeIndices)
    assert parser.parse(bytearray(model())) and parser.num_errors == 0 and network.num_inputs == 1
    assert parser.get_layer_output_tensor("product", 0).shape == (3, 2) and parser.get_layer_output_tensor("none", 0) is None
    assert parser.get_used_vc_plugin_libraries() == []


def test_parser_errors(logger, tmp_path):
    bad = onnx.load_model_from_string(model())
    bad.graph.node[0].op_type = "NoSuchOperator"
    network = trt.Builder(logger).create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert not parser.parse(bad.SerializeToString(), path=str(tmp_path / "model.onnx")) and parser.num_errors == 1
    error = parser.get_error(0)
    assert error.code() in tuple(trt.ErrorCode) and "NoSuchOperator" in error.desc() and error.node() == 0
    assert error.node_name() == "product" and error.node_operator() == "NoSuchOperator" and error.line() >= 0
    assert error.file() is not None and error.func() is not None and error.local_function_stack_size() == 0 == len(error.local_function_stack())
    assert parser.get_error(7) is None
    parser.clear_errors()
    assert parser.num_errors == 0 and not parser.parse_from_file(str(tmp_path / "none.onnx")) and parser.num_errors == 1


def test_parsers_with_weights_of_the_program(logger, tmp_path):
    proto = onnx.load_model_from_string(model())
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    for parse in (lambda p: p.parse_from_file(str(tmp_path / "model.onnx")), lambda p: p.parse_with_weight_descriptors(model())):
        assert parse(trt.OnnxParser(trt.Builder(logger).create_network(0), logger))
    values = np.full((3, 2), 2, np.float32)
    builder = trt.Builder(logger)
    network, config = builder.create_network(0), builder.create_builder_config()
    config.set_option("timing", "0")
    parser = trt.OnnxParser(network, logger)
    assert not parser.parse_model_proto() and parser.load_model_proto(model())
    assert not parser.load_initializer("w", values.ctypes.data, values.nbytes), "weights that the program holds are refused"
    assert parser.parse_model_proto()
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    assert trt.infer(engine.create_execution_context(), {"x": np.ones((3, 3), np.float32)})["y"].tolist() == [[6, 9]] * 3


# Refit.

def test_refitter(logger):
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan_of(logger, trt.BuilderFlag.REFIT))
    refitter = trt.Refitter(engine, logger)
    assert refitter.logger is logger and refitter.get_all_weights() == ["w"] and refitter.get_missing_weights() == []
    wanted = refitter.get_weights_prototype("w")
    assert (wanted.dtype, wanted.size) == (trt.float32, 6) and refitter.get_weights_prototype("none").size == -1
    with pytest.raises(ValueError, match="no values"):
        wanted.numpy()
    layers, roles = refitter.get_all()
    assert len(layers) == len(roles) and refitter.get_missing() == ([], []) and all(isinstance(r, trt.WeightsRole) for r in roles)
    new = np.full(6, 2, np.float32)
    assert refitter.set_named_weights("w", new) and refitter.get_named_weights("w").numpy().tolist() == [2] * 6
    assert refitter.get_weights_location("w") == trt.TensorLocation.HOST and refitter.unset_named_weights("w")
    assert refitter.set_named_weights("w", trt.Weights(new), trt.TensorLocation.HOST) and refitter.refit_cuda_engine()
    x = {"x": np.ones((3, 3), np.float32)}
    context = engine.create_execution_context()
    assert trt.infer(context, x)["y"].tolist() == [[6, 6]] * 3
    if layers:
        assert refitter.set_weights(layers[0], roles[0], np.ones(6, np.float32))
    else:
        assert not refitter.set_weights("none", trt.WeightsRole.KERNEL, new)
    assert refitter.set_named_weights("w", np.ones(6, np.float32)) and refitter.refit_cuda_engine_async(0)
    assert trt.infer(context, x)["y"].tolist() == [[3, 3]] * 3
    assert refitter.get_tensors_with_dynamic_range() == [] and not refitter.set_dynamic_range("x", [-1, 1])
    assert len(refitter.get_dynamic_range("x")) == 2


def test_parser_refitter(logger, tmp_path):
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan_of(logger, trt.BuilderFlag.REFIT))
    refitter = trt.Refitter(engine, logger)
    parser = trt.OnnxParserRefitter(refitter, logger)
    new = model(values=np.full((3, 2), 4, np.float32))
    (tmp_path / "new.onnx").write_bytes(new)
    for refit in (lambda: parser.refit_from_bytes(memoryview(new)), lambda: parser.refit_from_file(str(tmp_path / "new.onnx"))):
        assert refit() and refitter.refit_cuda_engine() and parser.num_errors == 0
    x = {"x": np.ones((3, 3), np.float32)}
    assert trt.infer(engine.create_execution_context(), x)["y"].tolist() == [[12, 12]] * 3
    newer, values = model(values=np.full((3, 2), 5, np.float32)), np.ones(6, np.float32)
    assert parser.load_model_proto(newer) and not parser.load_initializer("w", values.ctypes.data, values.nbytes)
    parser.clear_errors()
    assert parser.load_model_proto(newer) and parser.refit_model_proto()
    assert refitter.refit_cuda_engine() and trt.infer(engine.create_execution_context(), x)["y"].tolist() == [[15, 15]] * 3
    assert not parser.refit_from_bytes(b"no model") and parser.num_errors == 1 and parser.get_error(0).desc()
    parser.clear_errors()
    assert parser.num_errors == 0

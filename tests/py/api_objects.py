"""One object of each class of the package, at a level of the API: what the tests of members ask and set."""
import numpy as np


class Objects:
    """`of[name]` is an object of the class of that name; they keep each other alive as those of a program do."""

    def __init__(self, trt):
        self.trt, self.of = trt, {}
        self.logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
        self.builder = trt.Builder(self.logger)
        self.network = self.builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        self.x = self.network.add_input("x", trt.float32, (2, 3, 4, 4))
        self._add_layers()
        self._add_blocks()
        self._add_control()
        self._add_engine()
        self._add_values()

    def put(self, thing):
        self.of[type(thing).__name__] = thing
        return thing

    def constant(self, values, dtype=np.float32):
        array = np.array(values, dtype)
        return self.network.add_constant(array.shape, array).get_output(0)

    def _add_layers(self):
        trt, n, x, put = self.trt, self.network, self.x, self.put
        put(n.add_convolution_nd(x, 2, (3, 3), np.ones((2, 3, 3, 3), np.float32), np.zeros(2, np.float32)))
        put(n.add_deconvolution_nd(x, 2, (3, 3), np.ones((3, 2, 3, 3), np.float32), np.zeros(2, np.float32)))
        put(n.add_pooling_nd(x, trt.PoolingType.AVERAGE, (2, 2)))
        put(n.add_lrn(x, 3, 1e-4, 0.75, 1.0))
        put(n.add_scale_nd(x, trt.ScaleMode.CHANNEL, np.zeros(3, np.float32), np.ones(3, np.float32), np.ones(3, np.float32), 1))
        put(n.add_softmax(x))
        put(n.add_concatenation([x, x]))
        put(n.add_activation(x, trt.ActivationType.ELU))
        put(n.add_elementwise(x, x, trt.ElementWiseOperation.SUM))
        put(n.add_unary(x, trt.UnaryOperation.EXP))
        put(n.add_padding_nd(x, (1, 1), (1, 1)))
        put(n.add_shuffle(x))
        put(n.add_reduce(x, trt.ReduceOperation.SUM, 2, True))
        put(n.add_topk(x, trt.TopKOperation.MAX, 1, 2))
        put(n.add_gather(x, self.constant([0, 1], np.int32), 1))
        put(n.add_matrix_multiply(x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.TRANSPOSE))
        put(n.add_ragged_softmax(n.add_input("ragged", trt.float32, (2, 3)), n.add_input("bounds", trt.int32, (2, 1))))
        self.weighted = put(n.add_constant((2, 3), np.arange(6, dtype=np.float32)))
        put(n.add_identity(x))
        put(n.add_slice(x, (0, 0, 0, 0), (1, 2, 2, 2), (1, 1, 1, 1)))
        put(n.add_shape(x))
        put(n.add_parametric_relu(x, self.constant(np.ones((1, 3, 1, 1)))))
        put(n.add_resize(x)).scales = [1, 1, 2, 2]
        put(n.add_select(self.constant(np.ones((2, 3, 4, 4)), np.bool_), x, x))
        put(n.add_fill((2, 3), trt.FillOperation.LINSPACE, trt.float32))
        put(n.add_quantize(x, self.constant(0.5), trt.int8))
        put(n.add_dequantize(self.of["IQuantizeLayer"].get_output(0), self.constant(0.5), trt.float32))
        put(n.add_scatter(x, self.constant(np.zeros((2, 3, 4, 4)), np.int32), x, trt.ScatterMode.ELEMENT))
        put(n.add_einsum([x, x], "abcd,abcd->ab"))
        put(n.add_assertion(self.constant(True, np.bool_), "never"))
        put(n.add_one_hot(self.constant([0, 1], np.int32), self.constant([0.0, 1.0]), self.constant(3, np.int32), -1))
        put(n.add_non_zero(x))
        put(n.add_grid_sample(x, n.add_input("grid", trt.float32, (2, 5, 5, 2))))
        put(n.add_nms(n.add_input("boxes", trt.float32, (1, 6, 4)), n.add_input("scores", trt.float32, (1, 6, 2)),
                      self.constant(3, np.int32)))
        put(n.add_reverse_sequence(x, n.add_input("lengths", trt.int32, (3,))))
        put(n.add_normalization_v2(x, self.constant(np.ones((1, 3, 1, 1))), self.constant(np.zeros((1, 3, 1, 1))), 1 << 2 | 1 << 3))
        put(n.add_cast(x, trt.float16))
        put(n.add_squeeze(self.constant(np.ones((1, 2))), self.constant([0], np.int64)))
        put(n.add_unsqueeze(x, self.constant([0], np.int64)))
        put(n.add_cumulative(x, self.constant(1, np.int32), trt.CumulativeOperation.SUM, False, False))
        put(n.add_dynamic_quantize(n.add_input("blocks", trt.float32, (4, 64)), 1, 16, trt.DataType.FP4, trt.DataType.FP8))
        put(n.add_dist_collective(x, trt.CollectiveOperation.ALL_GATHER, None, None, [0, 1]))

    def _add_blocks(self):
        trt, n, put = self.trt, self.network, self.put
        q, k, v = (n.add_input(name, trt.float32, (1, 2, 5, 8)) for name in "qkv")
        put(n.add_attention(q, k, v, trt.AttentionNormalizationOp.SOFTMAX, False))
        put(n.add_rotary_embedding(q, self.constant(np.ones((1, 5, 4))), self.constant(np.zeros((1, 5, 4))), False, 0))
        cache = n.add_input("cache", trt.float32, (1, 2, 16, 8))
        put(n.add_kv_cache_update(cache, k, n.add_input("at", trt.int32, (1,)), trt.KVCacheMode.LINEAR))
        tokens, picks, scores = (n.add_input("tokens", trt.float32, (1, 6, 8)), n.add_input("picks", trt.int32, (1, 6, 2)),
                                 n.add_input("expert_scores", trt.float32, (1, 6, 2)))
        moe = put(n.add_moe(tokens, picks, scores))
        ones = [self.constant(np.ones(shape)) for shape in ((4, 8, 12), (4, 8, 12), (4, 12, 8))]
        moe.set_gated_weights(*ones, trt.MoEActType.SILU)

    def _add_control(self):
        trt, n, put = self.trt, self.network, self.put
        loop = put(n.add_loop())
        put(loop.add_trip_limit(self.constant(3, np.int32), trt.TripLimit.COUNT))
        item = put(loop.add_iterator(self.constant(np.ones((3, 2)))))
        state = put(loop.add_recurrence(self.constant(np.zeros(2))))
        total = n.add_elementwise(state.get_output(0), item.get_output(0), trt.ElementWiseOperation.SUM).get_output(0)
        state.set_input(1, total)
        put(loop.add_loop_output(total, trt.LoopOutput.CONCATENATE)).set_input(1, self.constant(3, np.int32))
        choice = put(n.add_if_conditional())
        put(choice.set_condition(n.add_input("choose", trt.DataType.BOOL, ())))
        given = put(choice.add_input(self.constant([1.0, 2.0]))).get_output(0)
        twice = n.add_elementwise(given, given, trt.ElementWiseOperation.SUM).get_output(0)
        put(choice.add_output(given, twice))

    def _add_engine(self):
        trt, put = self.trt, self.put
        builder = put(trt.Builder(self.logger))
        network = put(builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)))
        parser = put(trt.OnnxParser(network, self.logger))
        x = put(network.add_input("x", trt.float32, (-1, 3)))
        product = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, self.constant_of(network), trt.MatrixOperation.NONE)
        product.get_output(0).name = "y"
        network.mark_output(product.get_output(0))
        profile = put(builder.create_optimization_profile())
        profile.set_shape("x", (1, 3), (2, 3), (4, 3))
        config = put(builder.create_builder_config())
        config.set_flag(trt.BuilderFlag.REFIT)
        config.set_option("timing", "0")
        config.add_optimization_profile(profile)
        self.plan = put(builder.build_serialized_network(network, config))
        runtime = put(trt.Runtime(self.logger))
        engine = put(runtime.deserialize_cuda_engine(self.plan))
        put(engine.create_execution_context())
        put(engine.create_engine_inspector())
        put(engine.create_runtime_config())
        put(engine.create_serialization_config())
        put(config.get_timing_cache() or config.create_timing_cache(b""))
        refitter = put(trt.Refitter(engine, self.logger))
        put(trt.OnnxParserRefitter(refitter, self.logger))
        assert not parser.parse(b"no model")
        put(parser.get_error(0))

    def constant_of(self, network):
        layer = network.add_constant((3, 2), np.arange(6, dtype=np.float32))
        layer.name = "w"
        return layer.get_output(0)

    def _add_values(self):
        trt, put = self.trt, self.put
        for made in (trt.Dims((2, 3)), trt.Dims2(2, 3), trt.DimsHW(2, 3), trt.Dims3(2, 3, 4), trt.Dims4(2, 3, 4, 5),
                     trt.Permutation((1, 0)), trt.Weights(np.ones(3, np.float32)), trt.TimingCacheValue(7, 1.5),
                     trt.TimingCacheKey.parse("0x" + "0f" * 16), trt.NodeIndices([1, 2])):
            put(made)
        if hasattr(trt, "SubGraphCollection"):
            put(trt.SubGraphCollection([([1, 2], True)]))

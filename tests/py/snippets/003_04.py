import tensorrt as trt

def build_engine(onnx_file_path, precision='fp16'):
    # Create builder and config
    builder = trt.Builder(TRT_LOGGER)
    config = builder.create_builder_config()

    # Set precision
    if precision == 'fp16':
        config.set_flag(trt.BuilderFlag.FP16)
    elif precision == 'int8':
        config.set_flag(trt.BuilderFlag.INT8)
        config.int8_calibrator = create_calibrator(calibration_data)

    # Set memory pool limit
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)  # 1GB

    # Parse ONNX model
    network = builder.create_network(EXPLICIT_BATCH)
    parser = trt.OnnxParser(network, TRT_LOGGER)

    with open(onnx_file_path, 'rb') as model:
        if not parser.parse(model.read()):
            for error in range(parser.num_errors):
                print(parser.get_error(error))
            return None

    # Build engine
    engine = builder.build_serialized_network(network, config)

    return engine

def inference(engine, input_data):
    with engine.create_execution_context() as context:
        # Allocate buffers
        inputs, outputs, bindings = allocate_buffers(engine)

        # Copy input data
        np.copyto(inputs[0].host, input_data)

        # Transfer to GPU
        [cuda.memcpy_htod_async(inp.device, inp.host) for inp in inputs]

        # Execute
        context.execute_async_v2(bindings=bindings)

        # Transfer from GPU
        [cuda.memcpy_dtoh_async(out.host, out.device) for out in outputs]

        return outputs[0].host

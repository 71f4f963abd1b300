# Multi-GPU inference
def multi_gpu_inference(engines, input_batch):
    # Split batch across GPUs
    batch_per_gpu = len(input_batch) // len(engines)

    with concurrent.futures.ThreadPoolExecutor() as executor:
        futures = []
        for i, engine in enumerate(engines):
            start = i * batch_per_gpu
            end = start + batch_per_gpu
            future = executor.submit(
                inference, engine, input_batch[start:end]
            )
            futures.append(future)

        results = [f.result() for f in futures]

    return np.concatenate(results)

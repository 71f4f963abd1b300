# Enable profiling
config.set_flag(trt.BuilderFlag.GPU_FALLBACK)
config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED

# Profile during inference
class MyProfiler(trt.IProfiler):
    def report_layer_time(self, layer_name, ms):
        print(f"{layer_name}: {ms:.3f} ms")

with engine.create_execution_context() as context:
    context.profiler = MyProfiler()
    context.execute_async_v2(bindings)

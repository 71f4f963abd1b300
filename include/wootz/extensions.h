// What Wootz offers beyond TensorRT's API: plain C functions, exported by libwootz.so and, where marked with "runtime",
// by libwootz_runtime.so too. A program that does without them runs against either implementation.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WOOTZ_EXPORT __attribute__((visibility("default")))
#else
#define WOOTZ_EXPORT
#endif

#if defined(__cplusplus)
#define WOOTZ_NOEXCEPT noexcept
extern "C" {
#else
#define WOOTZ_NOEXCEPT
#endif

/// Host streams (runtime): what a CPU engine takes as cudaStream_t. Each is one thread that runs inferences in order.
/// wootz_stream_create gives null on failure. wootz_stream_destroy waits for queued work. Both it and
/// wootz_stream_synchronize return 0, or 1 when work queued since the last synchronization failed or `stream` is not a
/// live host stream.
WOOTZ_EXPORT void* wootz_stream_create(void) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_stream_destroy(void* stream) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_stream_synchronize(void* stream) WOOTZ_NOEXCEPT;

/// An nvinfer1::ICudaEngine* from a plan file (runtime), owned by the caller; null on failure. `runtime` is an
/// nvinfer1::IRuntime*. The file is mapped rather than read, so that all who load it share its weights: while an engine
/// of it lives, replace it by renaming another over it.
WOOTZ_EXPORT void* wootz_runtime_load_file(void* runtime, const char* path) WOOTZ_NOEXCEPT;

/// The same from an nvinfer1::IHostMemory* that a builder or engine of this library made (runtime). Its bytes are not
/// copied: the engine keeps them when `plan` is deleted, and nobody may change them.
WOOTZ_EXPORT void* wootz_runtime_load_memory(void* runtime, void* plan) WOOTZ_NOEXCEPT;

/// The version of the API (as NV_TENSORRT_VERSION, 101600) that the program which built a plan was compiled for. 0: the
/// plan is from before versions were kept; -1: this library cannot read it, and the logger says why. (runtime)
WOOTZ_EXPORT int wootz_plan_version(const void* plan, size_t bytes) WOOTZ_NOEXCEPT;

/// What the first 256 bytes of a plan of any version tell, as JSON: {"format": 2, "version_compatible": true,
/// "library_version": "0.1.0", "runtime_bytes": 98000000}; the last two of version-compatible plans alone, and
/// runtime_bytes 0 where the runtime is left out. The text lasts until the thread's next call; null on failure, and the
/// logger says why. (runtime)
WOOTZ_EXPORT const char* wootz_plan_header(const void* plan, size_t bytes) WOOTZ_NOEXCEPT;

/// The version of this library, a byte a number: 0.1.0 is 0x000100. (runtime)
WOOTZ_EXPORT int wootz_library_version(void) WOOTZ_NOEXCEPT;
/// The path of the library that runs plans and has no compiler, libwootz_runtime.so of this version, which
/// version-compatible plans carry: beside this library, or in the folder of setInternalLibraryPath(). The text lasts
/// until the thread's next call; null: it is not there, and the logger says where it was looked for. (runtime)
WOOTZ_EXPORT const char* wootz_runtime_library(void) WOOTZ_NOEXCEPT;

/// Whether an nvinfer1::IRuntime* runs plans by the runtime that they hold, even those of its own version; by default
/// only those of another one. It needs IRuntime::setEngineHostCodeAllowed, and refuses plans that hold none. 0 on
/// success. (runtime)
WOOTZ_EXPORT int wootz_runtime_use_plans_runtime(void* runtime, int on) WOOTZ_NOEXCEPT;

/// The device that engines of a runtime are loaded on from now on: its number among those of the plan's backend; -1,
/// the default: the one that is current in the calling thread when an engine is loaded (cudaSetDevice), and where none
/// is, the one that the environment variable WOOTZ_DEVICE names, or the first. A number that is not there is refused by
/// the load, with the list of devices. 0 on success. wootz_engine_device: the number of an engine's device; -1: not an
/// engine of this library. (runtime)
WOOTZ_EXPORT int wootz_runtime_set_device(void* runtime, int number) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_engine_device(void* engine) WOOTZ_NOEXCEPT;

/// Device memory for those who run a plan without a CUDA runtime library of their own (runtime). `engine` is an
/// nvinfer1::ICudaEngine*. wootz_engine_on_device: 1 when the addresses that its contexts take are device addresses.
/// Copies go either way and are done when the call returns, as is all earlier work of the default stream;
/// wootz_device_synchronize only waits, and wootz_device_wait waits for a stream (a cudaStream_t; for a CPU engine a
/// host stream; null: the default stream). wootz_device_allocate_managed: memory that the host may touch too, at the
/// same address. 0 on success; null when there is no memory.
WOOTZ_EXPORT int wootz_engine_on_device(void* engine) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void* wootz_device_allocate(void* engine, size_t bytes) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void* wootz_device_allocate_managed(void* engine, size_t bytes) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void wootz_device_free(void* engine, void* memory) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_copy(void* engine, void* to, const void* from, size_t bytes) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_synchronize(void* engine) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_wait(void* engine, void* stream) WOOTZ_NOEXCEPT;

/// Streams, events and host memory of an engine's device, for those who overlap or time work without a CUDA runtime
/// library (runtime). A stream is a cudaStream_t: what enqueueV3 takes. wootz_device_event_record marks what a stream
/// holds so far; wootz_device_stream_wait lets a stream, and wootz_device_event_wait the host, wait for a mark;
/// wootz_device_event_ms is the time from one mark to another in milliseconds by the device's clock, negative on
/// failure. Who waits for an event of wootz_device_event_create_blocking sleeps; for others it may spin. Memory of
/// wootz_device_allocate_host is copied to and from without a detour. Streams and events are for
/// engines on a GPU, and are destroyed before the engine. 0 on success; null on failure.
WOOTZ_EXPORT void* wootz_device_stream_create(void* engine) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_stream_destroy(void* engine, void* stream) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_copy_async(void* engine, void* to, const void* from, size_t bytes,
                                         void* stream) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void* wootz_device_event_create(void* engine) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void* wootz_device_event_create_blocking(void* engine) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void wootz_device_event_destroy(void* event) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_event_record(void* engine, void* event, void* stream) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_stream_wait(void* engine, void* stream, void* event) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_device_event_wait(void* engine, void* event) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT double wootz_device_event_ms(void* engine, void* from, void* to) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void* wootz_device_allocate_host(void* engine, size_t bytes) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void wootz_device_free_host(void* engine, void* memory) WOOTZ_NOEXCEPT;

/// How much of the device's cache can be set aside for accesses that persist: what IExecutionContext's
/// setPersistentCacheLimit may be given; 0 where there is no such cache (runtime). wootz_context_replay: whether a
/// context records its inferences on a device and replays them, as it does by default (`on` 1), or puts its steps on
/// the stream one by one (0); 0 on success.
WOOTZ_EXPORT size_t wootz_device_persisting_cache(void* engine) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_context_replay(void* context, int on) WOOTZ_NOEXCEPT;

/// The process's one pool of threads (runtime). `threads` counts the callers of inferences too; 0: one per CPU that the
/// process may use. `spin_us`: how long idle workers wait by spinning while an inference runs; -1: the default.
/// `affinity`: `affinity_count` CPU numbers, worker i (from 1) is bound to entry i modulo the count; null with 0: the
/// kernel decides. To be called while no inference runs. 0 on success.
WOOTZ_EXPORT int wootz_set_thread_pool(int threads, int spin_us, const int* affinity,
                                       int affinity_count) WOOTZ_NOEXCEPT;
/// The same for the library that made an engine, which has a pool of its own where it is another copy: that of
/// IRuntime::loadRuntime, or the runtime that a version-compatible plan brings (runtime).
WOOTZ_EXPORT int wootz_engine_set_thread_pool(void* engine, int threads, int spin_us, const int* affinity,
                                              int affinity_count) WOOTZ_NOEXCEPT;

/// Options of an nvinfer1::IBuilderConfig that TensorRT has no setter for; `value` null brings the default back.
/// Returns 0, or 1 (and logs) for an unknown key or an impossible value. Keys:
///   backend         "cuda", "cpu", "reference" (every op by plain loops). Default: what the environment variable
///                   WOOTZ_BACKEND says; without it "cuda" where an NVIDIA GPU, its driver and NVRTC can be opened, and
///                   "cpu" where not
///   threads         threads of one inference; 0 (default): all of the pool
///   isa             highest instruction set to use: "avx2", "avx512", "amx"; empty (default): what the processor has
///   disable_passes  names of optimizing passes to leave out, separated by commas; "all"
///   build_route     optimizing passes that are a choice to leave out, as IBuilderConfig::setBuildRoute takes them:
///                   "without:PASS+PASS"; wootz_build_routes lists them
///   verify_passes   "1": check the graph after each pass
///   tactic          "STEP=TACTIC": the step whose name contains STEP must use the tactic whose name contains TACTIC;
///                   several, separated by ';'
///   leave_out       sources of kernels that are not asked, separated by commas: of the CPU "native", "onednn" and
///                   "chain", of a GPU "cudnn", "cublaslt", "generated" and "selecting"
///   device          the device to build for. Of this machine: its number, or with the backend's name "cuda:1"; by
///                   default the one that was current in the thread that made the builder, and where none was, the one
///                   that the environment variable WOOTZ_DEVICE names, or the first. When it is not this machine's: a
///                   name ("h200"; wootz_device_description lists them) or the path of a JSON description
///   native_code     machine code kept in the plan, so that loading need not make it again where
///                   IRuntime::setEngineHostCodeAllowed permits it: "0" none, "1" of generated kernels (default when
///                   the device is elsewhere), "all" also library plans, which differ from build to build
///   calibration     how a calibration finds ranges: "least_error", "entropy2", "entropy", "minmax", "legacy"; empty
///                   (default): as the calibrator's class says
///   portable        "1": the plan is for other processors too: it keeps weights as the model has them, and where
///                   another processor lacks a kernel, it chooses anew when it is loaded (docs/plans-and-safety.md)
///   dump_stages     a folder: the graph and the program after each stage of the build are written there as text
///   timing          "0": choose tactics by estimate instead of measuring
///   host_steps      "1": on a GPU, steps without a kernel there are computed by the host, with copies both ways and a
///                   warning; otherwise such a network is refused
WOOTZ_EXPORT int wootz_config_set_option(void* config, const char* key, const char* value) WOOTZ_NOEXCEPT;

/// What option "build_route" takes: a JSON list of texts, the empty one first. Combinations of several are routes too.
WOOTZ_EXPORT const char* wootz_build_routes(void) WOOTZ_NOEXCEPT;

/// The backend of a build whose config does not say it (see key "backend"). `reason`, unless null, is given one line
/// that says why it is this one. Both are valid until the thread's next call.
WOOTZ_EXPORT const char* wootz_default_backend(const char** reason) WOOTZ_NOEXCEPT;

/// Description of a device that plans can be built for without having it, as JSON: to look at, or to write down,
/// change and pass as a file. `name` as in option "device"; null: the names, separated by spaces. Null for an unknown
/// name. Valid until the thread's next call.
WOOTZ_EXPORT const char* wootz_device_description(const char* name) WOOTZ_NOEXCEPT;

/// The libraries that a backend ("cuda") opens at run time, as JSON: a list of {"name", "version"}, with "missing" (why
/// it cannot be opened) and "without" (what follows, and what to do) in place of the version. Null for an unknown
/// backend. Valid until the thread's next call.
WOOTZ_EXPORT const char* wootz_backend_libraries(const char* backend) WOOTZ_NOEXCEPT;

/// This machine, as JSON: version, api_version (TensorRT's), default_backend (of builds that name none), backends with
/// the device used by default (number, name, isa, compute_capability, threads, memory in bytes) or why_not, devices
/// (all of them, by number), and libraries as wootz_backend_libraries() tells them; known_devices. Opens the GPU's
/// driver. Null on failure. Valid until the thread's next call.
WOOTZ_EXPORT const char* wootz_machine(void) WOOTZ_NOEXCEPT;

/// The value of such an option, valid until it is set again; null for an unknown key.
WOOTZ_EXPORT const char* wootz_config_get_option(void* config, const char* key) WOOTZ_NOEXCEPT;

/// IBuilder::buildSerializedNetwork() with the plan written to a file instead of memory: its weights are in memory one
/// at a time. `builder`, `network` and `config` are an nvinfer1::IBuilder*, INetworkDefinition* and IBuilderConfig*.
/// The file takes its name when it is complete; one that was there stays until then. 0, or 1 and a message.
WOOTZ_EXPORT int wootz_build_file(void* builder, void* network, void* config, const char* path) WOOTZ_NOEXCEPT;

/// Report of the last build of an nvinfer1::IBuilder as JSON: what was fused, what became of each node of the model,
/// steps with their work, time and the tactics that were considered or refused, memory. Valid until the next build;
/// empty before the first. Memory is told of builds with ProfilingVerbosity::kDETAILED only. docs/inspecting.md has the
/// keys.
WOOTZ_EXPORT const char* wootz_build_report(void* builder) WOOTZ_NOEXCEPT;

/// The same in another form: "json"; "html", a page for a browser that needs no network; "svg", the graph with its
/// fused regions; "text", a table. An nvinfer1::IHostMemory* that the caller owns: UTF-8 text whose closing zero size()
/// counts; null (and a message) on failure.
WOOTZ_EXPORT void* wootz_build_report_as(void* builder, const char* format) WOOTZ_NOEXCEPT;

/// Such a report on an nvinfer1::ICudaEngine; for plans built with ProfilingVerbosity::kDETAILED with the tactics that
/// were considered and what became of each node. Further format: "values", JSON that tells for each value of the model
/// where it is: [{"name", "state": "tensor" | "inside" | "constant" | "shape" | "removed", "steps": [names]}].
WOOTZ_EXPORT void* wootz_engine_report(void* engine, const char* format) WOOTZ_NOEXCEPT;

/// Two such reports in JSON against each other, in the model's terms: nodes fused otherwise, steps with another tactic,
/// type, layout or shape, times and sizes. `format`: "json" or "text". An nvinfer1::IHostMemory* that the caller owns;
/// null when one of the two is no report or the format is another.
WOOTZ_EXPORT void* wootz_compare_reports(const char* a, const char* b, const char* format) WOOTZ_NOEXCEPT;

/// Hands a value of the model (by its ONNX name) to the context's nvinfer1::IDebugListener in each inference from now
/// on (runtime), or no more (`on` 0). Nothing has to be marked before the build and nothing is fused less for it. 0, or
/// 1 and a message: where the plan never writes the value, with the fused region that holds it and the values at its
/// border.
WOOTZ_EXPORT int wootz_context_tap(void* context, const char* name, int on) WOOTZ_NOEXCEPT;

/// An array in the host's memory, row-major. `type` is an nvinfer1::DataType's number.
typedef struct wootz_array {
  const char* name;
  int type;
  int rank;
  const int64_t* dims;
  const void* data;
} wootz_array;

/// Batches of inputs, for the functions that follow: each call of wootz_batches_add adds one, of an array for each
/// input, whose elements are copied. wootz_batches_create gives null, and wootz_batches_add 1 and a message, on
/// failure.
WOOTZ_EXPORT void* wootz_batches_create(void) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT int wootz_batches_add(void* batches, const wootz_array* arrays, int count) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void wootz_batches_destroy(void* batches) WOOTZ_NOEXCEPT;

/// Runs two nvinfer1::ICudaEngine* on the same batches and compares all values of the model that both hold in a tensor,
/// outputs and what is inside. `options`: JSON, or null: {"tolerance": 0.001, the greatest error of a value that
/// agrees, "names": ["A", "B"], of the two}. JSON comes out (docs/inspecting.md has the keys), as an
/// nvinfer1::IHostMemory* that the caller owns; null (and a message) on failure. wootz_comparison_as: the same as
/// "text" or as "html", a page for a browser that needs no network.
WOOTZ_EXPORT void* wootz_compare_engines(void* a, void* b, const void* batches, const char* options) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void* wootz_comparison_as(const char* comparison, const char* format) WOOTZ_NOEXCEPT;

/// Writes the ONNX model of a file in another number format, with everything else as it is: int8 and fp8 with
/// QuantizeLinear and DequantizeLinear around activations, by the ranges that they have on the batches, int4,
/// nvfp4 and mxfp8 with weights that DequantizeLinear brings back, fp16 and bf16 with values in 16 bits and inputs and
/// outputs as they were. `builder` and `config` are an nvinfer1::IBuilder* and IBuilderConfig*, whose options and
/// progress monitor apply to the networks that are run. `options`: JSON, or null. JSON comes out (docs/quantization.md
/// has the keys), as an nvinfer1::IHostMemory* that the caller owns; null (and a message) on failure, and no model.
/// Keys:
///   format        "int8" (default), "int8-dynamic" (see dynamic), "fp8", "int4", "nvfp4", "mxfp8", "fp16", "bf16";
///                 with best several of the first six: "int8,int4"; with sparse also "fp32"
///   algorithm     of int8 and fp8: "least_error" (default of int8), "entropy2", "entropy", "minmax" (default of fp8),
///                 "legacy"
///   keep          names of layers that stay in float
///   block         of int4: elements that have one scale; default 128
///   zero_points   of int4: true: scales from the least weight to the largest, not around 0. Of int8: activations that
///                 are hardly ever negative in u8, from the least to the largest; default true on processors, false on
///                 GPUs, whose libraries want i8 around 0, as TensorRT does
///   bias_correction  of int8: what rounding moves the means of layers' results by, one layer after the other, is added
///                 to their biases, if the outputs' error is less then; default true
///   budget        the greatest error of the outputs: the layers that cost the most stay in float
///   sensitivity   true: what each layer alone costs is measured, also without a budget
///   sparse        "2:4": of each four weights along the sum (K of a product, input channels of a convolution's
///                 tap) the two smallest become 0, in layers that have the format; BuilderFlag::kSPARSE_WEIGHTS makes
///                 use of it. With format "fp32" nothing else changes
///   dynamic       true: int8 is int8-dynamic: each row of an activation (each token) has a scale of its own, which is
///                 found while the model runs, so that batches only serve to measure errors. For products with a
///                 constant matrix; convolutions stay in float
///   best          true: each layer has the format that was measured to be the fastest, or stays in float
/// wootz_quantization_as: such a report as "text" or as "html", a page for a browser.
WOOTZ_EXPORT void* wootz_quantize(void* builder, void* config, const char* model, const char* output,
                                  const void* batches, const char* options) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void* wootz_quantization_as(const char* report, const char* format) WOOTZ_NOEXCEPT;

/// Options of an nvonnxparser::IParser, to be set before parsing; 0 on success. Keys:
///   io_types    "api" (default): inputs and outputs of types that nvinfer1::DataType lacks (double, int16, ...) become
///               the nearest type it has, with a warning; "exact": they keep their type, whose DataType number is
///               WOOTZ_EXTENDED_TYPE + the number in the list below
///   model_dir   folder of external data, in place of the model's own
WOOTZ_EXPORT int wootz_parser_set_option(void* parser, const char* key, const char* value) WOOTZ_NOEXCEPT;

/// The list: 4 double, 7 int16, 8 uint16, 10 uint32, 12 uint64, 15 float8e4m3fnuz, 16 float8e5m2, 17 float8e5m2fnuz,
/// 21 uint4, 22 int2, 23 uint2.
#define WOOTZ_EXTENDED_TYPE 256

/// For calibrators (nvinfer1::IInt8Calibrator), to be called by their methods while these run. wootz_calibrator_failed:
/// the method failed, and so does the build, for this reason. wootz_calibrator_batch_on_host, in getBatch: this batch's
/// addresses are of host memory, also where the build is for a GPU. bytes: how many there are at each address, in the
/// order of the names, which are held against what the inputs need; null: it is not said.
WOOTZ_EXPORT void wootz_calibrator_failed(const char* why) WOOTZ_NOEXCEPT;
WOOTZ_EXPORT void wootz_calibrator_batch_on_host(const size_t* bytes) WOOTZ_NOEXCEPT;

#if defined(__cplusplus)
}  // extern "C"
#endif

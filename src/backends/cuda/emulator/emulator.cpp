// Why so long: the state of one pretended driver, and its table of functions, each a few lines.
#include "backends/cuda/emulator/emulator.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "backends/cuda/device/driver.h"
#include "backends/cuda/emulator/fibers.h"
#include "backends/cuda/emulator/head.h"
#include "backends/cuda/emulator/maps.h"
#include "backends/cuda/emulator/memory.h"
#include "backends/cuda/emulator/races.h"
#include "backends/cuda/emulator/streams.h"
#include "backends/cuda/generate/source.h"
#include "backends/cuda/generate/walkers.h"
#include "backends/cuda/jit/code_store.h"
#include "base/half.h"

namespace wootz::cuda {
namespace {

constexpr size_t kKernelsPerUnit = 64;

enum class Parameter { kNumber, kPointer, kMap };
// What a unit was compiled to: its memory that kernels write.
struct Library {
  std::string path;
  const char *base = nullptr, *data = nullptr;
  size_t data_bytes = 0;
};
struct Kernel {
  std::string body;      // the source after the prelude
  bool meets = false;    // its threads wait for each other
  bool waits = false;    // by itself for the kernel ahead, somewhere
  unsigned cluster = 1;  // blocks along z that do so
  std::vector<Parameter> parameters;
  void (*run)(void**) = nullptr;
  const Library* library = nullptr;  // of its unit, where races are searched
};

// A module of one GPU; its kernel is compiled once for all.
struct Loaded {
  Kernel* kernel = nullptr;
  int device = 0;
};

struct State {
  std::recursive_mutex mutex;
  std::map<uintptr_t, EmulatorRange> registered;           // memory of other kinds
  std::map<std::string, std::unique_ptr<Kernel>> kernels;  // by their source
  std::map<uintptr_t, std::unique_ptr<Loaded>> loaded;     // by address, as a CUmodule and CUfunction have it
  std::vector<Kernel*> pending;
  std::deque<Library> libraries;
  std::string folder, error;
  bool races = false;    // are searched
  size_t set_aside = 0;  // of the cache
  EmulatorCounts counts;
  std::atomic<CUresult> lost{CUDA_SUCCESS};  // what broke the contexts, for good
  EmulatorFault fault;
  std::atomic<EmulatorCall> awaited{EmulatorCall::kNone};  // fault.call
};
State& state() {
  static auto* s = new State;
  return *s;
}

struct Host {
  float (*h2f)(uint16_t);
  uint16_t (*f2h)(float);
  void (*meet)();
  void* slots;
  struct Three {
    unsigned x, y, z;
  } thread, block;
  unsigned fiber, rank;       // of a cluster: the thread's number and its block's
  unsigned threads, arrived;  // of a cluster: how many it has, how many have come to its barrier
  void (*event)(int, const void*, long, long);
  const char *stack, *stack_end, *slots_end;  // memory that no other thread uses, or all
};
constexpr size_t kSlotBytes = 24;  // of a thread
std::vector<double> g_slots(8 * 1024 * kSlotBytes / sizeof(double));
Host g_host{f16_to_f32, f32_to_f16, meet_fibers, nullptr, {}, {}, 0, 0, 0, 0, race_event, nullptr, nullptr, nullptr};

unsigned g_block = 1, g_first = 0;  // threads of a block; the first of the blocks that run, along z

void set_thread(unsigned t) {
  g_host.thread = {t % g_block, 0, 0};
  g_host.rank = t / g_block;
  g_host.block.z = g_first + g_host.rank;
  g_host.fiber = t;
  if (!state().races) return;
  const auto [stack, bytes] = fiber_stack();
  g_host.stack = stack;
  g_host.stack_end = stack + bytes;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// One source of several kernels, and what it was compiled to.
struct Unit {
  std::vector<Kernel*> kernels;
  std::string path;  // without its ending
};

// Nothing in it says when it was compiled or for whom: the same kernels are the same file, which ccache knows.
std::string text_of(const Unit& unit) {
  std::string text = kernel_head(state().races) + prelude();
  for (size_t i = 0; i < unit.kernels.size(); ++i) {
    const std::string name = fmt::format("wootz_kernel_{}", i);
    std::string body = replace_all(unit.kernels[i]->body, "extern \"C\" ", "");
    body = replace_all(body, "wootz_kernel(", name + "(");
    text += fmt::format("namespace n{} {{\n{}}}\nextern \"C\" void run_{}(void** a) {{ w_invoke(&n{}::{}, a); }}\n", i,
                        body, i, i, name);
  }
  return text;
}

// Writes the source; the command compiles it, by way of ccache where that is installed and works.
Status write_unit(Unit* unit, std::string* command) {
  const std::string text = text_of(*unit), name = digest_text(text);
  unit->path = fmt::format("{}/{}", state().folder, name);
  std::ofstream out(unit->path + ".cpp");
  out << text;
  out.close();
  if (!out) return make_error(Code::kIo, "cannot write {}.cpp", unit->path);
  const char* named = std::getenv("CXX");
  const std::string compiler = named == nullptr || *named == '\0' ? "c++" : named;
  const std::string races =
      state().races ? fmt::format(" -g1 -fdebug-prefix-map={}=. -fsanitize=thread", state().folder) : "";
  const std::string compile =
      fmt::format("{} -std=c++17 -O1 -w -fPIC -fno-strict-aliasing -ffp-contract=off{} -c -o {}.o {}.cpp", compiler,
                  races, name, name);
  *command = fmt::format("(cd {} && {{ $(command -v ccache) {} || {}; }} && {} -shared -o {}.so {}.o) 2>{}.log",
                         state().folder, compile, compile, compiler, name, name, unit->path);
  return Status();
}

// Of an open library.
Library describe(const std::string& path) {
  Library found{path};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* const library = static_cast<Library*>(data);
        if (library->path != info->dlpi_name) return 0;
        library->base = reinterpret_cast<const char*>(info->dlpi_addr);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
          library->data = library->base + part.p_vaddr;
          library->data_bytes = part.p_memsz;
        }
        return 1;
      },
      &found);
  return found;
}

Status open_unit(const Unit& unit) {
  void* library = dlopen((unit.path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::ifstream log(unit.path + ".log");
    const std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
    return internal_error("the C++ compiler refused generated kernels ({}.cpp):\n{}", unit.path, text.substr(0, 3000));
  }
  *static_cast<Host**>(dlsym(library, "w_host")) = &g_host;
  if (state().races) state().libraries.push_back(describe(unit.path + ".so"));
  for (size_t i = 0; i < unit.kernels.size(); ++i) {
    unit.kernels[i]->run = reinterpret_cast<void (*)(void**)>(dlsym(library, fmt::format("run_{}", i).c_str()));
    if (state().races) unit.kernels[i]->library = &state().libraries.back();
  }
  return Status();
}

CUresult fail(const Status& status) {
  state().error = status.to_string();
  return CUDA_ERROR_INVALID_SOURCE;
}

// ---- the table

// Without a lock, as the next: tests count the locks of an inference.
void count(long EmulatorCounts::*which) { std::atomic_ref<long>(state().counts.*which).fetch_add(1); }

// Success, or what the test wants to happen at this call.
CUresult next_result(EmulatorCall call) {
  if (state().awaited != call) return CUDA_SUCCESS;
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  EmulatorFault& fault = state().fault;
  if (fault.call != call || fault.after < 0 || fault.after-- > 0) return CUDA_SUCCESS;
  return static_cast<CUresult>(fault.result);
}

CUresult init(unsigned) { return CUDA_SUCCESS; }
CUresult driver_version(int* v) { return *v = 13000, CUDA_SUCCESS; }
CUresult error_name(CUresult result, const char** text) {
  *text = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                               : "emulator error";
  return CUDA_SUCCESS;
}
CUresult error_string(CUresult, const char** text) { return *text = state().error.c_str(), CUDA_SUCCESS; }
CUresult device_name(char* name, int length, CUdevice) {
  std::strncpy(name, "emulator", static_cast<size_t>(length) - 1);
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR        ? 9
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT          ? 132
           : which == CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE  ? 1 << 25
           : which == CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE ? 1 << 27
                                                                        : 0;
  return CUDA_SUCCESS;
}
CUresult device_uuid(CUuuid* id, CUdevice device) {
  *id = CUuuid{};
  id->bytes[0] = static_cast<char>(device);
  return CUDA_SUCCESS;
}
CUresult total_memory(size_t* bytes, CUdevice) { return *bytes = size_t{1} << 34, CUDA_SUCCESS; }
CUresult memory_info(size_t* free, size_t* total) {
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  *total = size_t{1} << 34;
  *free = *total - std::min(allocated_bytes(current_emulated()), *total);
  return CUDA_SUCCESS;
}
CUresult allocate(CUdeviceptr* out, size_t bytes) {
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult failed = next_result(EmulatorCall::kAllocate); failed != CUDA_SUCCESS) return failed;
  count(&EmulatorCounts::allocations);
  return emulator_allocate(out, bytes, current_emulated());
}
const EmulatorRange* registered_at(uintptr_t address);
CUresult allocate_managed(CUdeviceptr* out, size_t bytes, unsigned) {
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  count(&EmulatorCounts::managed);
  emulator_register({memory, bytes, EmulatorMemory::kManaged});
  return *out = reinterpret_cast<CUdeviceptr>(memory), CUDA_SUCCESS;
}
CUresult free_memory(CUdeviceptr memory) {
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  count(&EmulatorCounts::frees);
  if (const EmulatorRange* const range = registered_at(memory); range != nullptr) {
    if (range->memory != EmulatorMemory::kManaged) return CUDA_ERROR_INVALID_VALUE;
    emulator_unregister(reinterpret_cast<void*>(memory));
    std::free(reinterpret_cast<void*>(memory));
    return CUDA_SUCCESS;
  }
  forget_made(host_address(memory));
  return emulator_free(memory);
}
CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  count(&EmulatorCounts::waits);
  if (const CUresult lost = state().lost; lost != CUDA_SUCCESS) return lost;
  std::memmove(host_address(to), host_address(from), bytes);
  return CUDA_SUCCESS;
}
CUresult copy_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  static const char kCopy = 0;
  return put_work(stream, {&kCopy, [to = host_address(to), from = host_address(from), bytes] {
                             std::memmove(to, from, bytes);
                             return CUDA_SUCCESS;
                           }});
}
CUresult fill_async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  static const char kFill = 0;
  if (!is_device_address(reinterpret_cast<const void*>(to))) return CUDA_ERROR_INVALID_VALUE;
  return put_work(stream, {&kFill, [to = host_address(to), value, count] {
                             std::memset(to, value, count);
                             return CUDA_SUCCESS;
                           }});
}
CUresult allocate_host(void** out, size_t bytes, unsigned) {
  *out = std::malloc(bytes);
  if (*out == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  emulator_register({*out, bytes, EmulatorMemory::kHost});
  return CUDA_SUCCESS;
}
CUresult free_host(void* memory) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (state().registered.erase(reinterpret_cast<uintptr_t>(memory)) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(memory);
  return CUDA_SUCCESS;
}
// What host memory was registered as; null: nothing.
const EmulatorRange* registered_at(uintptr_t address) {
  State& s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  const auto next = s.registered.upper_bound(address);
  if (next == s.registered.begin()) return nullptr;
  const EmulatorRange& range = std::prev(next)->second;
  const size_t offset = address - reinterpret_cast<uintptr_t>(range.begin);
  return offset < std::max<size_t>(range.bytes, 1) ? &range : nullptr;
}
// Whether a kernel on a GPU may use it.
bool reaches(const void* address, int device) {
  if (is_device_address(address)) {
    const int owner = device_of_memory(reinterpret_cast<CUdeviceptr>(address));
    return owner == kNoDevice || owner == device;
  }
  const EmulatorRange* const range = registered_at(reinterpret_cast<uintptr_t>(address));
  return range != nullptr && range->memory != EmulatorMemory::kOtherDevice;
}
CUresult pointer_attribute(void* out, CUpointer_attribute which, CUdeviceptr pointer) {
  count(&EmulatorCounts::pointers);
  EmulatorMemory kind = EmulatorMemory::kDevice;
  int device = device_of_memory(pointer);
  if (device == kNoDevice) {
    const EmulatorRange* const range = registered_at(pointer);
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    kind = range->memory;
    device = kind == EmulatorMemory::kOtherDevice ? 1 : 0;
  }
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return *static_cast<unsigned*>(out) = kind == EmulatorMemory::kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
             CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return *static_cast<unsigned*>(out) = kind == EmulatorMemory::kManaged, CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return *static_cast<int*>(out) = device, CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}
CUresult stream_wait(CUstream stream) {
  count(&EmulatorCounts::waits);
  if (const CUresult lost = state().lost; lost != CUDA_SUCCESS) return lost;
  return refuse_in_capture(stream);
}
CUresult instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  count(&EmulatorCounts::instantiations);
  return emulator_instantiate(exec, graph, flags);
}
CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  count(&EmulatorCounts::updates);
  return emulator_update(exec, graph, info);
}
CUresult graph_launch(CUgraphExec exec, CUstream stream) {
  count(&EmulatorCounts::replays);
  if (const CUresult lost = state().lost; lost != CUDA_SUCCESS) return lost;
  return emulator_graph_launch(exec, stream);
}
CUresult get_limit(size_t* bytes, CUlimit) { return *bytes = state().set_aside, CUDA_SUCCESS; }
CUresult set_limit(CUlimit, size_t bytes) {
  if (!unsafe_calls_allowed()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (bytes > size_t{1} << 25) return CUDA_ERROR_INVALID_VALUE;
  return state().set_aside = bytes, CUDA_SUCCESS;
}
CUresult stream_attribute(CUstream, CUlaunchAttributeID which, const CUlaunchAttributeValue* value) {
  if (which != CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) return CUDA_ERROR_INVALID_VALUE;
  const CUaccessPolicyWindow& window = value->accessPolicyWindow;
  if (window.num_bytes == 0) return CUDA_SUCCESS;
  const bool known = is_device_address(window.base_ptr) && window.num_bytes <= size_t{1} << 27;
  if (!known || !(window.hitRatio > 0 && window.hitRatio <= 1)) return CUDA_ERROR_INVALID_VALUE;
  return (count(&EmulatorCounts::windows), CUDA_SUCCESS);
}
CUresult function_attribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
// Arrays that a kernel declares as shared are its own variables here.
CUresult query_function(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}

std::vector<Parameter> find_parameters(const std::string& body);

CUresult load_module(CUmodule* module, const void* image) {
  State& s = state();
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult failed = next_result(EmulatorCall::kLoadModule); failed != CUDA_SUCCESS) return failed;
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  count(&EmulatorCounts::modules);
  const std::string source = static_cast<const char*>(image);
  std::unique_ptr<Kernel>& kernel = s.kernels[source];
  if (kernel == nullptr) {
    kernel = std::make_unique<Kernel>();
    kernel->body = source.substr(0, prelude().size()) == prelude() ? source.substr(prelude().size()) : source;
    kernel->meets =
        kernel->body.find("w_group<") != std::string::npos || kernel->body.find("__syncthreads") != std::string::npos;
    kernel->waits = kernel->body.find("griddepcontrol.wait") != std::string::npos;
    constexpr std::string_view kCluster = "__cluster_dims__(1, 1, ";
    if (const size_t at = kernel->body.find(kCluster); at != std::string::npos)
      kernel->cluster = static_cast<unsigned>(std::stoul(kernel->body.substr(at + kCluster.size())));
    kernel->parameters = find_parameters(kernel->body);
    s.pending.push_back(kernel.get());
  }
  auto made = std::make_unique<Loaded>(Loaded{kernel.get(), current_emulated()});
  *module = reinterpret_cast<CUmodule>(made.get());
  s.loaded.emplace(reinterpret_cast<uintptr_t>(made.get()), std::move(made));
  return CUDA_SUCCESS;
}
// Its kernel stays: others of its unit may be in use.
CUresult unload_module(CUmodule module) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  return state().loaded.erase(reinterpret_cast<uintptr_t>(module)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult get_function(CUfunction* function, CUmodule module, const char*) {
  return *function = reinterpret_cast<CUfunction>(module), CUDA_SUCCESS;
}

// A kernel's parameters: the driver's interface does not say with a launch which are pointers.
std::vector<Parameter> find_parameters(const std::string& body) {
  const size_t open = body.find("wootz_kernel("), close = body.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  const std::string list = body.substr(open + 13, close - open - 13);
  if (list.find_first_not_of(' ') == std::string::npos) return {};
  std::vector<std::string> texts{""};
  int depth = 0;  // of a type's own parameters, as in Pack<float, 4>
  for (const char c : list) {
    depth += (c == '<') - (c == '>');
    if (c == ',' && depth == 0)
      texts.emplace_back();
    else
      texts.back() += c;
  }
  std::vector<Parameter> parameters;
  for (const std::string& text : texts)
    parameters.push_back(text.find('*') != std::string::npos           ? Parameter::kPointer
                         : text.find("TensorMap") != std::string::npos ? Parameter::kMap
                                                                       : Parameter::kNumber);
  return parameters;
}

void run_block(const Kernel& kernel, unsigned block, void** arguments) {
  if (state().races) {
    static std::mt19937 order(static_cast<unsigned>(state().counts.kernels));
    begin_race_block(g_host.block.x, g_host.block.y, g_host.block.z);
    const FiberRun run{g_host.threads, set_thread, &order, race_progress, land_copies};
    if (!run_fibers(run, [&] { kernel.run(arguments), end_race_thread(); })) report_hang();
    return;
  }
  if (kernel.meets) {
    run_fibers({g_host.threads, set_thread}, [&] { kernel.run(arguments); });
    return;
  }
  for (unsigned t = 0; t < block; ++t) {
    set_thread(t);
    kernel.run(arguments);
  }
}

CUresult run_kernel(Kernel* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned block, void** arguments) {
  State& s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  count(&EmulatorCounts::kernels);
  if (s.lost != CUDA_SUCCESS) return s.lost;
  if (const CUresult failed = next_result(EmulatorCall::kRunKernel); failed != CUDA_SUCCESS)
    return s.lost = failed, failed;
  if (kernel->run == nullptr)
    if (const Status status = compile_pending(); !status.ok()) return fail(status);
  if (kernel->run == nullptr) return CUDA_ERROR_NOT_FOUND;
  g_host.slots = g_slots.data();
  g_host.slots_end = reinterpret_cast<const char*>(g_slots.data() + g_slots.size());
  g_host.threads = block * kernel->cluster;
  g_block = block;
  if (s.races) {
    const Library& library = *kernel->library;
    begin_race_launch(
        {library.data, library.data_bytes, block, kernel->cluster, kernel->waits, library.path, library.base});
  }
  for (unsigned z = 0; z < gz; z += kernel->cluster)
    for (unsigned y = 0; y < gy; ++y)
      for (unsigned x = 0; x < gx; ++x) {
        g_host.block = {x, y, g_first = z};
        g_host.arrived = 0;
        run_block(*kernel, block, arguments);
      }
  return CUDA_SUCCESS;
}

// Without a kernel if its module is not loaded any more.
Loaded loaded_of(CUfunction function) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  const auto found = state().loaded.find(reinterpret_cast<uintptr_t>(function));
  return found == state().loaded.end() ? Loaded{} : *found->second;
}

CUresult launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned block, unsigned, unsigned,
                unsigned, CUstream stream, void** arguments, void**) {
  count(&EmulatorCounts::launches);
  if (const CUresult failed = next_result(EmulatorCall::kLaunch); failed != CUDA_SUCCESS) return failed;
  const auto [kernel, device] = loaded_of(function);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  struct Arguments {
    std::deque<CUtensorMap> values;  // a number or a pointer in its first bytes
    std::vector<void*> addresses;
    bool foreign = false;  // an address of the host's is among them
  };
  const auto kept = std::make_shared<Arguments>();  // so that a replay takes no memory
  for (size_t i = 0; i < kernel->parameters.size(); ++i) {
    const Parameter parameter = kernel->parameters[i];
    CUtensorMap& own = kept->values.emplace_back();
    std::memcpy(&own, arguments[i], parameter == Parameter::kMap ? sizeof own : sizeof(void*));
    void*& value = *reinterpret_cast<void**>(&own);  // a map has its operand's address first
    if (parameter != Parameter::kNumber) {
      kept->foreign = kept->foreign || (value != nullptr && !reaches(value, device));
      value = host_address(value);
    }
    kept->addresses.push_back(&own);
  }
  const auto run = [=, kernel = kernel] {
    if (kept->foreign && state().lost == CUDA_SUCCESS) state().lost = CUDA_ERROR_ILLEGAL_ADDRESS;
    return run_kernel(kernel, gx, gy, gz, block, kept->addresses.data());
  };
  return put_work(stream, {kernel, run, device});
}

CUresult launch_config(const CUlaunchConfig* c, CUfunction function, void** arguments, void**) {
  return launch(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, 1, 1, c->sharedMemBytes, c->hStream,
                arguments, nullptr);
}

void add_streams(Driver* t) {
  t->cuStreamCreate = emulator_stream_create;
  t->cuStreamDestroy_v2 = emulator_stream_destroy;
  t->cuStreamSynchronize = stream_wait;
  t->cuStreamGetCtx = emulator_stream_context;
  t->cuStreamIsCapturing = emulator_is_capturing;
  t->cuStreamWaitEvent = emulator_wait_event;
  t->cuStreamBeginCapture_v2 = emulator_begin_capture;
  t->cuThreadExchangeStreamCaptureMode = emulator_exchange_capture_mode;
  t->cuStreamEndCapture = emulator_end_capture;
  t->cuEventCreate = emulator_event_create;
  t->cuEventDestroy_v2 = emulator_event_destroy;
  t->cuEventRecord = emulator_event_record;
  t->cuEventRecordWithFlags = emulator_event_record_with_flags;
  t->cuEventSynchronize = emulator_event_synchronize;
  t->cuEventElapsedTime = emulator_event_elapsed;
  t->cuGraphInstantiateWithFlags = instantiate;
  t->cuGraphExecUpdate_v2 = update;
  t->cuGraphLaunch = graph_launch;
  t->cuGraphDestroy = emulator_graph_destroy;
  t->cuGraphExecDestroy = emulator_exec_destroy;
}

Driver make_table() {
  Driver t;
  t.cuInit = init;
  t.cuDriverGetVersion = driver_version;
  t.cuGetErrorName = error_name;
  t.cuGetErrorString = error_string;
  t.cuDeviceGet = emulator_device_get;
  t.cuDeviceGetCount = emulator_device_count;
  t.cuDeviceGetName = device_name;
  t.cuDeviceGetAttribute = device_attribute;
  t.cuDeviceTotalMem_v2 = total_memory;
  t.cuDeviceGetUuid_v2 = device_uuid;
  t.cuDevicePrimaryCtxRetain = emulator_retain;
  t.cuCtxGetCurrent = emulator_get_current;
  t.cuCtxPushCurrent_v2 = emulator_push;
  t.cuCtxPopCurrent_v2 = emulator_pop;
  t.cuCtxGetDevice = emulator_get_device;
  t.cuMemAlloc_v2 = allocate;
  t.cuMemFree_v2 = free_memory;
  t.cuMemGetInfo_v2 = memory_info;
  t.cuMemAllocManaged = allocate_managed;
  t.cuCtxGetLimit = get_limit;
  t.cuCtxSetLimit = set_limit;
  t.cuStreamSetAttribute = stream_attribute;
  t.cuMemcpy = copy;
  t.cuMemcpyAsync = copy_async;
  t.cuMemsetD8Async = fill_async;
  add_streams(&t);
  t.cuModuleLoadData = load_module;
  t.cuModuleUnload = unload_module;
  t.cuModuleGetFunction = get_function;
  t.cuFuncGetAttribute = query_function;
  t.cuFuncSetAttribute = function_attribute;
  t.cuLaunchKernel = launch;
  t.cuLaunchKernelEx = launch_config;
  t.cuTensorMapEncodeTiled = encode_matrix;
  t.cuTensorMapEncodeIm2col = encode_windows;
  t.cuPointerGetAttribute = pointer_attribute;
  t.cuMemHostAlloc = allocate_host;
  t.cuMemFreeHost = free_host;
  t.machine_code = t.libraries = false;
  return t;
}

}  // namespace

Status compile_pending() {
  State& s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  const std::vector<Kernel*> all = std::exchange(s.pending, {});
  std::vector<Unit> units;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % kKernelsPerUnit == 0) units.emplace_back();
    units.back().kernels.push_back(all[i]);
  }
  for (size_t u = 0; u < units.size(); u += 2) {  // two compilers at a time
    std::string both;
    for (size_t k = u; k < std::min(u + 2, units.size()); ++k) {
      std::string command;
      WOOTZ_RETURN_IF_ERROR(write_unit(&units[k], &command));
      both += command + " & ";
    }
    if (std::system((both + "wait").c_str()) == -1) return make_error(Code::kIo, "no shell to run the compiler");
  }
  for (const Unit& unit : units) WOOTZ_RETURN_IF_ERROR(open_unit(unit));
  return Status();
}

void emulator_register(const EmulatorRange& range) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().registered[reinterpret_cast<uintptr_t>(range.begin)] = range;
}

void emulator_unregister(const void* begin) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().registered.erase(reinterpret_cast<uintptr_t>(begin));
}

EmulatorCounts emulator_counts() { return state().counts; }
size_t emulator_bytes(int device) { return allocated_bytes(device); }

void emulator_fail(const EmulatorFault& fault) {
  state().fault = fault;
  state().awaited = fault.call;
  state().lost = CUDA_SUCCESS;
}

std::string emulator_faults() { return broken_fences() + found_races(); }

bool emulator_searches_races() { return state().races; }

bool emulator_in_use() { return !state().folder.empty(); }

Status use_emulator(int devices) {
  set_emulator_devices(std::max(devices, emulator_devices()));
  if (emulator_in_use()) return Status();
  const char* temporary = std::getenv("TMPDIR");
  std::string folder = std::string(temporary == nullptr ? "/tmp" : temporary) + "/wootz_emulator_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return make_error(Code::kIo, "cannot make a folder {}", folder);
  state().folder = folder;
  const char* const races = std::getenv("WOOTZ_EMULATOR_RACES");
  state().races = races != nullptr && *races == '1';
  if (state().races) set_walked_multiprocessors(2);
  std::atexit([] {
    if (std::getenv("WOOTZ_EMULATOR_KEEP") == nullptr && std::system(("rm -rf " + state().folder).c_str()) != 0) return;
  });
  static const Driver table = make_table();
  set_driver(&table);
  return Status();
}

}  // namespace wootz::cuda

#include "backends/cuda/device/driver.h"

#include <link.h>

#include <atomic>
#include <cstring>

#include "backends/cuda/device/dynamic_library.h"

namespace wootz::cuda {
namespace {

std::atomic<const Driver*> g_given{nullptr};
std::atomic<const Driver*> g_opened{nullptr};

Result<Driver> open_driver() {
  Result<void*> library = open_library({"libcuda.so.1"});
  if (!library.ok()) return unsupported("no NVIDIA driver: libcuda.so.1 cannot be opened");
  Driver table;
#define FN(name, ...)                             \
  if (!find_symbol(*library, #name, &table.name)) \
    return unsupported("the NVIDIA driver is too old: no " #name " in libcuda.so.1");
#include "backends/cuda/api/driver_functions.def"
#undef FN
  return table;
}

// The driver's library among those that the process has loaded, by its file name: one that is not there yet may come
// later, so nothing is searched again until another library was loaded.
struct Search {
  unsigned long long loads = 0;
  bool found = false;
};
int look_at(dl_phdr_info* library, size_t, void* data) {
  static std::atomic<unsigned long long> seen{0};
  auto& search = *static_cast<Search*>(data);
  if (search.loads == 0) {
    search.loads = library->dlpi_adds;
    if (seen.exchange(search.loads) == search.loads) return 1;
  }
  const char* slash = std::strrchr(library->dlpi_name, '/');
  const char* name = slash == nullptr ? library->dlpi_name : slash + 1;
  if (std::strncmp(name, "libcuda.so", 10) != 0) return 0;
  search.found = true;
  seen = 0;  // for a thread that looks while this one opens it
  return 1;
}

bool driver_in_process() {
  Search search;
  dl_iterate_phdr(look_at, &search);
  return search.found;
}

// After these no call of the process works any more.
bool breaks_context(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED: return true;
    default: return false;
  }
}

}  // namespace

Result<const Driver*> driver() {
  if (const Driver* const given = g_given.load(std::memory_order_acquire)) return given;
  static const Result<Driver> table = open_driver();
  if (!table.ok()) return table.status();
  g_opened.store(&*table, std::memory_order_release);
  return &*table;
}

const Driver* loaded_driver() {
  if (const Driver* const given = g_given.load(std::memory_order_acquire)) return given;
  if (const Driver* const opened = g_opened.load(std::memory_order_acquire)) return opened;
  if (!driver_in_process()) return nullptr;
  const Result<const Driver*> table = driver();
  return table.ok() ? *table : nullptr;
}

void set_driver(const Driver* table) { g_given.store(table, std::memory_order_release); }

Status check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) [[likely]]
    return Status();
  const Result<const Driver*> table = driver();
  const char *name = nullptr, *text = nullptr;
  if (table.ok()) {
    (*table)->cuGetErrorName(result, &name);
    (*table)->cuGetErrorString(result, &text);
  }
  std::string what = fmt::format("{}: {} ({})", call, name == nullptr ? "error" : name,
                                 text == nullptr ? std::to_string(static_cast<int>(result)) : text);
  if (!breaks_context(result)) {
    const Code code = result == CUDA_ERROR_OUT_OF_MEMORY ? Code::kResourceExhausted : Code::kInternal;
    return Status(code, std::move(what));
  }
  // Work is asynchronous: the call that reports it is seldom the one that did it.
  static std::atomic<bool> reported{false};
  what += reported.exchange(true)
              ? ": the GPU's context was lost by the error reported before; only a new process gets another"
              : ": work on the GPU failed, and every later call of this process will. A context with "
                "setDebugSync(true), or the environment variable WOOTZ_DEBUG_SYNC=1, tells the layer";
  return Status(Code::kInternal, std::move(what));
}

}  // namespace wootz::cuda

#include "api/runtime/hostcuda.h"

#include <dlfcn.h>

#include <atomic>

#include "api/runtime/hostcuda_contract.h"

namespace wootz::api {
namespace {

std::atomic<const wootz_hostcuda_table*> g_table{nullptr};

// A library that the program opened for itself is not in the global scope, but is found by its name.
void* loaded_runtime() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"})
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  return nullptr;
}

void* find_symbol(const char* name) {
  if (void* const found = dlsym(RTLD_DEFAULT, name)) return found;
  void* const library = loaded_runtime();
  if (library == nullptr) return nullptr;
  void* const found = dlsym(library, name);
  dlclose(library);  // the program keeps it loaded
  return found;
}

const wootz_hostcuda_table& table() { return *g_table.load(std::memory_order_acquire); }

Status refused(const char* what, int error) {
  return error == 0 ? Status()
                    : make_error(Code::kInvalidState, "libwootz_hostcuda refused {}: CUDA error {}", what, error);
}

}  // namespace

void find_hostcuda() {
  if (hostcuda_loaded()) return;
  const auto* const found = static_cast<const wootz_hostcuda_table*>(find_symbol("wootz_hostcuda_v2"));
  if (found != nullptr && found->size >= sizeof(wootz_hostcuda_table)) g_table.store(found, std::memory_order_release);
}

bool hostcuda_loaded() { return g_table.load(std::memory_order_acquire) != nullptr; }

void* cuda_function(const char* name) { return find_symbol(name); }

Status run_in_hostcuda(cudaStream_t stream, StreamWork* work) {
  const wootz_hostcuda_work once = {[](void* data) { return static_cast<StreamWork*>(data)->run().ok() ? 0 : 1; },
                                    [](void*) {}, work};
  return refused("the inference", table().enqueue(stream, &once));
}

bool captured_by_hostcuda(cudaStream_t stream) { return hostcuda_loaded() && table().capturing(stream) == 1; }

Status capture_in_hostcuda(cudaStream_t stream, std::unique_ptr<ReplayedWork> work) {
  const wootz_hostcuda_work replayed = {[](void* data) { return static_cast<ReplayedWork*>(data)->run() ? 0 : 1; },
                                        [](void* data) { delete static_cast<ReplayedWork*>(data); }, work.get()};
  const int error = table().capture(stream, &replayed);
  if (error == 0) (void)work.release();
  return refused("to capture the inference", error);
}

Status synchronize_hostcuda(cudaStream_t stream) {
  return refused("to wait for the stream", table().synchronize(stream));
}

}  // namespace wootz::api

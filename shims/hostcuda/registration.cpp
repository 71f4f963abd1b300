// What code that nvcc compiled calls before main to make its kernels known. They are not kept: a launch is refused.
#include <cstddef>

#define WOOTZ_EXPORT extern "C" __attribute__((visibility("default")))
#define ALL_VERSIONS(name) \
  asm(".symver " #name ", " #name "@libcudart.so.11.0\n.symver " #name ", " #name "@libcudart.so.12");

namespace {
void* g_module = nullptr;

struct Dimensions {
  unsigned x, y, z;
};
struct Configuration {
  Dimensions grid{}, block{};
  size_t shared = 0;
  void* stream = nullptr;
};
thread_local Configuration g_configuration;
}  // namespace

WOOTZ_EXPORT void** __cudaRegisterFatBinary(void*) { return &g_module; }
WOOTZ_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
WOOTZ_EXPORT void __cudaUnregisterFatBinary(void**) {}
WOOTZ_EXPORT void __cudaRegisterFunction() {}
WOOTZ_EXPORT void __cudaRegisterVar() {}
WOOTZ_EXPORT void __cudaRegisterManagedVar() {}
WOOTZ_EXPORT void __cudaRegisterHostVar() {}
WOOTZ_EXPORT char __cudaInitModule(void**) { return 0; }

WOOTZ_EXPORT unsigned __cudaPushCallConfiguration(Dimensions grid, Dimensions block, size_t shared, void* stream) {
  g_configuration = {grid, block, shared, stream};
  return 0;
}
WOOTZ_EXPORT int __cudaPopCallConfiguration(Dimensions* grid, Dimensions* block, size_t* shared, void* stream) {
  *grid = g_configuration.grid;
  *block = g_configuration.block;
  *shared = g_configuration.shared;
  *static_cast<void**>(stream) = g_configuration.stream;
  return 0;
}

ALL_VERSIONS(__cudaRegisterFatBinary)
ALL_VERSIONS(__cudaRegisterFatBinaryEnd)
ALL_VERSIONS(__cudaUnregisterFatBinary)
ALL_VERSIONS(__cudaRegisterFunction)
ALL_VERSIONS(__cudaRegisterVar)
ALL_VERSIONS(__cudaRegisterManagedVar)
ALL_VERSIONS(__cudaRegisterHostVar)
ALL_VERSIONS(__cudaInitModule)
ALL_VERSIONS(__cudaPushCallConfiguration)
ALL_VERSIONS(__cudaPopCallConfiguration)

#include "backends/cuda/jit/compiler.h"

#include "backends/cuda/api/nvrtc.h"
#include "backends/cuda/device/dynamic_library.h"
#include "backends/cuda/jit/code_store.h"

namespace wootz::cuda {
namespace {

struct Compiler : Nvrtc {
  int major = 0, minor = 0;
};

Result<Compiler> open_nvrtc() {
  WOOTZ_ASSIGN_OR_RETURN(void* library, open_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}));
  Compiler table;
#define FN(name, ...) \
  if (!find_symbol(library, #name, &table.name)) return unsupported("libnvrtc has no function " #name);
#include "backends/cuda/api/nvrtc_functions.def"
  FN(nvrtcGetErrorString)
#undef FN
  if (table.nvrtcVersion(&table.major, &table.minor) != NVRTC_SUCCESS) return unsupported("libnvrtc gives no version");
  return table;
}

Result<const Compiler*> nvrtc() {
  static const Result<Compiler> table = open_nvrtc();
  if (!table.ok()) return table.status();
  return &*table;
}

}  // namespace

Result<std::string> compiler_version() {
  WOOTZ_ASSIGN_OR_RETURN(const Compiler* n, nvrtc());
  return fmt::format("{}.{}", n->major, n->minor);
}

std::string code_key(const std::string& source, const std::string& arch) {
  return fmt::format("cubin {} {}", arch, digest_text(source));
}

Result<std::vector<char>> compile_cuda(const std::string& source, const std::string& arch) {
  if (std::optional<std::vector<char>> offered = find_offered(code_key(source, arch))) return std::move(*offered);
  WOOTZ_ASSIGN_OR_RETURN(const Compiler* n, nvrtc());
  const std::string key = fmt::format("nvrtc {}.{} {}\n{}", n->major, n->minor, arch, source);
  if (std::optional<std::vector<char>> kept = find_kept(key)) return std::move(*kept);
  std::vector<char> code;
  nvrtcProgram program = nullptr;
  if (n->nvrtcCreateProgram(&program, source.c_str(), "wootz.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    return internal_error("nvrtcCreateProgram failed");
  const std::string gpu = "--gpu-architecture=" + arch;
  const char* options[] = {gpu.c_str(), "--std=c++17", "--fmad=true", "-default-device"};
  const nvrtcResult result = n->nvrtcCompileProgram(program, 4, options);
  Status status;
  size_t size = 0;
  if (result != NVRTC_SUCCESS) {
    std::string log;
    if (n->nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS) log.resize(size);
    if (size != 0) n->nvrtcGetProgramLog(program, log.data());
    status = internal_error("NVRTC refused a generated kernel for {}: {}\n{}", arch, n->nvrtcGetErrorString(result),
                            log.substr(0, 2000));
  } else if (n->nvrtcGetCUBINSize(program, &size) != NVRTC_SUCCESS || size == 0) {
    status = internal_error("NVRTC made no machine code for {}", arch);
  } else {
    code.resize(size);
    if (n->nvrtcGetCUBIN(program, code.data()) != NVRTC_SUCCESS) status = internal_error("nvrtcGetCUBIN failed");
  }
  n->nvrtcDestroyProgram(&program);
  WOOTZ_RETURN_IF_ERROR(status);
  keep(key, code);
  return code;
}

}  // namespace wootz::cuda

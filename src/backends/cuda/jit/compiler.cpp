#include "backends/cuda/jit/compiler.h"

#include <optional>
#include <unordered_map>

#include "backends/cuda/api/nvrtc.h"
#include "backends/cuda/device/dynamic_library.h"
#include "backends/cuda/jit/code_store.h"
#include "backends/cuda/support/held.h"

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

namespace {

Status refusal_of(const Compiler& n, nvrtcProgram program, nvrtcResult result, const std::string& arch) {
  size_t size = 0;
  std::string log;
  if (n.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS) log.resize(size);
  if (size != 0) n.nvrtcGetProgramLog(program, log.data());
  return internal_error("NVRTC refused a generated kernel for {}: {}\n{}", arch, n.nvrtcGetErrorString(result),
                        log.substr(0, 2000));
}

Result<std::vector<char>> compile_now(const Compiler& n, const std::string& source, const std::string& arch) {
  nvrtcProgram program = nullptr;
  if (n.nvrtcCreateProgram(&program, source.c_str(), "wootz.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    return internal_error("nvrtcCreateProgram failed");
  // With what only this architecture has (wgmma): machine code runs on no other in any case.
  const std::string gpu = "--gpu-architecture=" + (arch == "sm_90" ? "sm_90a" : arch);
  const char* options[] = {gpu.c_str(), "--std=c++17", "--fmad=true", "-default-device"};
  const nvrtcResult result = n.nvrtcCompileProgram(program, 4, options);
  Status status;
  std::vector<char> code;
  size_t size = 0;
  if (result != NVRTC_SUCCESS) {
    status = refusal_of(n, program, result, arch);
  } else if (n.nvrtcGetCUBINSize(program, &size) != NVRTC_SUCCESS || size == 0) {
    status = internal_error("NVRTC made no machine code for {}", arch);
  } else {
    code.resize(size);
    if (n.nvrtcGetCUBIN(program, code.data()) != NVRTC_SUCCESS) status = internal_error("nvrtcGetCUBIN failed");
  }
  n.nvrtcDestroyProgram(&program);
  WOOTZ_RETURN_IF_ERROR(status);
  return code;
}

Result<std::vector<char>> find_or_compile(const std::string& source, const std::string& arch) {
  WOOTZ_ASSIGN_OR_RETURN(const Compiler* n, nvrtc());
  const std::string key = fmt::format("nvrtc {}.{} {}\n{}", n->major, n->minor, arch, source);
  if (std::optional<std::vector<char>> kept = find_kept(key)) return std::move(*kept);
  WOOTZ_ASSIGN_OR_RETURN(std::vector<char> code, compile_now(*n, source, arch));
  keep(key, code);
  return code;
}

using Code = Result<std::vector<char>>;
using CodeByKey = std::unordered_map<std::string, std::shared_ptr<Once<Code>>>;

Held<CodeByKey>& held() {
  static auto* all = new Held<CodeByKey>;  // outlives builds that static objects hold
  return *all;
}

}  // namespace

std::shared_ptr<const void> hold_compiled() { return held().hold(); }

Result<std::vector<char>> compile_cuda(const std::string& source, const std::string& arch) {
  const std::string key = code_key(source, arch);
  if (std::optional<std::vector<char>> offered = find_offered(key)) return std::move(*offered);
  const auto make = [&] { return find_or_compile(source, arch); };
  std::shared_ptr<Once<Code>> once;
  const bool kept = held().with([&](CodeByKey& all) {
    std::shared_ptr<Once<Code>>& found = all[key];
    if (found == nullptr) found = std::make_shared<Once<Code>>();
    once = found;
  });
  return kept ? once->get(make) : make();
}

}  // namespace wootz::cuda

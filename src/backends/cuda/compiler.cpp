#include "backends/cuda/compiler.h"

#include <nvrtc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "backends/cuda/dynamic_library.h"

namespace wootz::cuda {
namespace {

struct Nvrtc {
#define NVRTC_FUNCTIONS(FN)                                                                      \
  FN(nvrtcVersion)                                                                               \
  FN(nvrtcGetErrorString) FN(nvrtcCreateProgram) FN(nvrtcDestroyProgram) FN(nvrtcCompileProgram) \
      FN(nvrtcGetProgramLogSize) FN(nvrtcGetProgramLog) FN(nvrtcGetCUBINSize) FN(nvrtcGetCUBIN)
#define FN(name) decltype(&::name) name = nullptr;
  NVRTC_FUNCTIONS(FN)
#undef FN
  int major = 0, minor = 0;
};

Result<Nvrtc> open_nvrtc() {
  WOOTZ_ASSIGN_OR_RETURN(void* library, open_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}));
  Nvrtc table;
#define FN(name)                                                                    \
  table.name = reinterpret_cast<decltype(table.name)>(find_symbol(library, #name)); \
  if (table.name == nullptr) return unsupported("libnvrtc has no function " #name);
  NVRTC_FUNCTIONS(FN)
#undef FN
  if (table.nvrtcVersion(&table.major, &table.minor) != NVRTC_SUCCESS) return unsupported("libnvrtc gives no version");
  return table;
}

Result<const Nvrtc*> nvrtc() {
  static const Result<Nvrtc> table = open_nvrtc();
  if (!table.ok()) return table.status();
  return &*table;
}

std::string cache_folder() {
  if (const char* path = std::getenv("WOOTZ_CUDA_CACHE")) return path;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return "";
  const std::string parent = std::string(home) + "/.cache";
  ::mkdir(parent.c_str(), 0700);
  return parent + "/wootz";
}

// The file's owner must be this user: what is in it will be run.
bool read_cached(const std::string& path, std::vector<char>* bytes) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  std::ifstream in(path, std::ios::binary);
  bytes->assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  return in.good() && bytes->size() > 64;
}

void write_cached(const std::string& folder, const std::string& path, const std::vector<char>& bytes) {
  ::mkdir(folder.c_str(), 0700);
  const std::string part = path + "." + std::to_string(::getpid());
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written || std::rename(part.c_str(), path.c_str()) != 0) std::remove(part.c_str());
}

}  // namespace

std::string digest_text(const std::string& text) {
  // FNV-1a, twice with different starts: a cache's key, not a seal.
  uint64_t a = 0xcbf29ce484222325u, b = 0x9ae16a3b2f90404fu;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b = (b ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b ^= b >> 29;
  }
  return fmt::format("{:016x}{:016x}", a, b);
}

Result<std::string> compiler_version() {
  WOOTZ_ASSIGN_OR_RETURN(const Nvrtc* n, nvrtc());
  return fmt::format("{}.{}", n->major, n->minor);
}

Result<std::vector<char>> compile_cuda(const std::string& source, const std::string& arch) {
  WOOTZ_ASSIGN_OR_RETURN(const Nvrtc* n, nvrtc());
  const std::string folder = cache_folder();
  const std::string key = fmt::format("{}.{} {}\n{}", n->major, n->minor, arch, source);
  const std::string path = folder + "/" + digest_text(key) + ".cubin";
  std::vector<char> code;
  if (!folder.empty() && read_cached(path, &code)) return code;

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
  if (!folder.empty()) write_cached(folder, path, code);
  return code;
}

}  // namespace wootz::cuda

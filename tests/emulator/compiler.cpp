// libnvrtc.so.13 of the emulator: its machine code is the source itself, which the emulator's driver compiles for the
// processor.
#include <cstring>
#include <regex>
#include <string>

#include "backends/cuda/api/nvrtc.h"

#define WOOTZ_EXPORT extern "C" __attribute__((visibility("default")))

using namespace wootz::cuda;

namespace {
std::string& source_of(nvrtcProgram program) { return *reinterpret_cast<std::string*>(program); }
}  // namespace

WOOTZ_EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, NVRTC_SUCCESS; }
WOOTZ_EXPORT const char* nvrtcGetErrorString(nvrtcResult) { return "the emulator compiles later"; }
WOOTZ_EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int,
                                            const char* const*, const char* const*) {
  // Instructions of a GPU between kernels, which there is nothing like here.
  static const std::regex order("asm volatile\\(\"griddepcontrol[^)]*\\);");
  return *program = reinterpret_cast<nvrtcProgram>(new std::string(std::regex_replace(source, order, ""))),
         NVRTC_SUCCESS;
}
WOOTZ_EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete &source_of(*program);
  return *program = nullptr, NVRTC_SUCCESS;
}
WOOTZ_EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) { return NVRTC_SUCCESS; }
WOOTZ_EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* size) { return *size = 0, NVRTC_SUCCESS; }
WOOTZ_EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char*) { return NVRTC_SUCCESS; }
WOOTZ_EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  return *size = source_of(program).size() + 1, NVRTC_SUCCESS;
}
WOOTZ_EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  return std::memcpy(code, source_of(program).c_str(), source_of(program).size() + 1), NVRTC_SUCCESS;
}

#include "about.h"

#include <cstdio>

#include "NvInfer.h"

namespace wootz_cli {
namespace {

// Those that the library and this program read; a test holds the list against the source.
struct Variable {
  const char *name, *meaning;
};
constexpr Variable kVariables[] = {
    {"WOOTZ_BACKEND", "backend of builds that name none: cpu, cuda, reference"},
    {"WOOTZ_THREADS", "threads of the process's pool"},
    {"WOOTZ_ISA", "highest instruction set that CPU kernels use: avx2, avx512"},
    {"WOOTZ_DISABLE_PASSES", "optimizing passes to leave out, comma separated, or all"},
    {"WOOTZ_DEBUG_SYNC", "1: wait for each step, so that an error names its layer"},
    {"WOOTZ_DEVICE", "number of the GPU that is used where nothing else says which, from 0"},
    {"WOOTZ_CUDA_PATH", "folders to look for CUDA's libraries in, separated by colons"},
    {"WOOTZ_CUDA_CACHE", "folder for compiled kernels; empty: not kept; default ~/.cache/wootz"},
    {"WOOTZ_CUDA_PDL", "0: no kernel starts while the one before it ends"},
    {"WOOTZ_NVTX", "1: NVTX ranges; layers: one for each layer; 0: none"},
};

struct Exit {
  int status;
  const char* meaning;
};
constexpr Exit kExits[] = {
    {0, "success"},
    {1, "the operation failed; the reason is on stderr"},
    {2, "wrong usage"},
    {3, "wootz diff --exit-code, wootz compare: the two differ"},
};

}  // namespace

std::string help_footer() {
  std::string text = "Environment:\n";
  char line[256];
  for (const Variable& v : kVariables) {
    std::snprintf(line, sizeof line, "  %-22s %s\n", v.name, v.meaning);
    text += line;
  }
  text += "\nExit status:\n";
  for (const Exit& e : kExits) {
    std::snprintf(line, sizeof line, "  %-22d %s\n", e.status, e.meaning);
    text += line;
  }
  return text +
         "\n`wootz COMMAND --help` lists a command's options. The guide is the folder docs/ of the source: "
         "docs/command-line.md is about this program, docs/gpu.md about GPUs, docs/python.md about Python.";
}

std::string version_line() {
  const int api = getInferLibVersion();
  return "wootz " WOOTZ_VERSION ", TensorRT's API " + std::to_string(api / 10000) + "." +
         std::to_string(api / 100 % 100) + "." + std::to_string(api % 100);
}

}  // namespace wootz_cli

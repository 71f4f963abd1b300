// NVTX, by which a tool learns what a process does: the tool brings a library, which fills in functions of ours. What
// its headers would do, for the two functions that are called here.
#pragma once

#include <cstdint>

namespace wootz {

struct Nvtx {
  int (*push)(const char* name) = nullptr;  // null: the tool does not listen
  int (*pop)() = nullptr;
};

// What a tool's library exports as InitializeInjectionNvtx2: it asks for tables by number and fills them in.
using NvtxTool = int (*)(const void* (*table)(uint32_t number));

// Of the library that NVTX_INJECTION64_PATH names; null functions where there is none.
Nvtx open_nvtx();
Nvtx attach_nvtx(NvtxTool tool);

}  // namespace wootz

// libwootz_hostcuda (shims/hostcuda): CUDA's runtime API without a GPU, whose streams run the inferences of CPU
// engines. It is recognized by a table of functions that it exports, wherever the program has loaded it.
#pragma once

#include <memory>

#include "api/runtime/public.h"
#include "backend/device.h"

namespace wootz::api {

// Looks for it, where it is not known yet. What is loaded later is found when the next context is created.
void find_hostcuda();
bool hostcuda_loaded();

// A function of the CUDA runtime library that the program has loaded, whichever that is; null: none.
void* cuda_function(const char* name);

// What is captured from a stream: run each time that the graph is launched, and ended with the last graph that has it.
class ReplayedWork {
 public:
  virtual ~ReplayedWork() = default;
  virtual bool run() = 0;  // false: it failed, and said so
};

// For a stream of hostcuda's, which is loaded.
Status run_in_hostcuda(cudaStream_t stream, StreamWork* work);
bool captured_by_hostcuda(cudaStream_t stream);
Status capture_in_hostcuda(cudaStream_t stream, std::unique_ptr<ReplayedWork> work);
Status synchronize_hostcuda(cudaStream_t stream);

}  // namespace wootz::api

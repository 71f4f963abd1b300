#include "api/runtime/plugins/services.h"

#include "api/runtime/hostcuda.h"
#include "backend/device.h"

namespace wootz::api {

cudaStream_t stream_for_plugin(Stream* stream, const PluginServices* services) {
  if (stream != nullptr) return static_cast<cudaStream_t>(stream->native());
  return services == nullptr ? nullptr : services->stream;
}

// Inside of a stream's own work it is done already, and waiting is refused.
void settle_plugin(Stream* stream, cudaStream_t given) {
  if (stream == nullptr && hostcuda_loaded()) (void)synchronize_hostcuda(given);
}

}  // namespace wootz::api

// Any text: refused, or scales that are written as a cache which reads back as the same.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "quant/calibration_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wootz;
  const Result<CalibrationCache> cache = read_calibration_cache({reinterpret_cast<const char*>(data), size});
  if (!cache.ok()) return 0;
  for (const auto& [name, scale] : cache->scales)
    if (name.empty() || !std::isnormal(scale) || scale < 0) std::abort();
  const Result<CalibrationCache> again = read_calibration_cache(write_calibration_cache(*cache, 101600));
  if (!again.ok() || again->scales != cache->scales || again->method != cache->method) std::abort();
  return 0;
}

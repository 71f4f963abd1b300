// Where a build has representative inputs from, and where it keeps what it learned of them.
#pragma once

#include <string>
#include <vector>

#include "quant/range.h"

namespace wootz {

// The elements of each input, until the next call.
struct CalibrationBatch {
  std::vector<const void*> addresses;  // of the device that runs the calibration
  bool on_host = false;                // they are in the host's memory, whatever the device
  std::vector<size_t> bytes;           // of each, where the source says them; empty: it does not
};

class CalibrationSource {
 public:
  virtual ~CalibrationSource() = default;
  virtual RangeRule rule() const = 0;
  // Samples of a batch, as the source says it.
  virtual int batch_size() const = 0;
  // False: there are no more batches.
  virtual Result<bool> next_batch(const std::vector<std::string>& inputs, CalibrationBatch* batch) = 0;
  // What an earlier build wrote; empty: nothing.
  virtual Result<std::string> read_cache() = 0;
  virtual Status write_cache(const std::string& text) = 0;
};

}  // namespace wootz

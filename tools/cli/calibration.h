// INT8 calibration by files: scales of an earlier build, and representative inputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "data.h"
#include "logger.h"
#include "shapes.h"

namespace wootz_cli {

struct CalibrationRequest {
  std::string cache;                          // file, read if it is there, and written otherwise
  std::vector<std::string> data;              // .npz and .npy files, and folders of such
  std::string algorithm;                      // by its name (calibration.cpp); empty: the cache's, or the first
  int profile = 0;                            // whose optimum the batches have
  Shapes min_shapes, opt_shapes, max_shapes;  // of a profile of its own; empty: that one
  bool wanted() const { return !cache.empty() || !data.empty(); }
};
// Usage: a part of the request that nothing can act on. `int8`: the build allows it.
void check_calibration(const CalibrationRequest& request, bool int8);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

class FileCalibrator final : public nvinfer1::IInt8LegacyCalibrator {
 public:
  // `optimum`: shapes of inputs whose extents are open. Failure: a path that is not there, neither cache nor data.
  FileCalibrator(const CalibrationRequest& request, const nvinfer1::INetworkDefinition& network, const Shapes& optimum,
                 Logger& logger);

  int32_t getBatchSize() const noexcept override;
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override;
  const void* readCalibrationCache(std::size_t& length) noexcept override;
  void writeCalibrationCache(const void* text, std::size_t length) noexcept override;
  nvinfer1::CalibrationAlgoType getAlgorithm() noexcept override { return algorithm_; }
  double getQuantile() const noexcept override { return 0.9999; }
  double getRegressionCutoff() const noexcept override { return 0; }
  const void* readHistogramCache(std::size_t& length) noexcept override { return length = 0, nullptr; }
  void writeHistogramCache(const void*, std::size_t) noexcept override {}
  const char* algorithm_name() const { return name_; }  // of option "calibration"

 private:
  int64_t batch_size_ = 1;
  nvinfer1::CalibrationAlgoType algorithm_;
  const char* name_;
  std::string cache_file_;
  std::optional<std::vector<char>> cache_;
  std::optional<DataBatches> data_;
  NamedArrays current_;  // the batch that the build has the addresses of
};

#pragma GCC diagnostic pop

}  // namespace wootz_cli

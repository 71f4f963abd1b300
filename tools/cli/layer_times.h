// Times of layers, as an engine reports them.
#pragma once

#include <string>
#include <vector>

#include "NvInfer.h"

namespace wootz_cli {

class LayerTimes final : public nvinfer1::IProfiler {
 public:
  void begin_run() { ++runs_, at_ = 0; }
  void reportLayerTime(const char* layer, float ms) noexcept override;
  void print() const;
  void write(const std::string& path) const;

 private:
  struct Layer {
    std::string name;
    std::vector<float> ms;
    double total() const;
    double median() const;
  };
  double total() const;

  std::vector<Layer> layers_;  // as they are reported, which is the same in each run
  size_t runs_ = 0, at_ = 0;
};

}  // namespace wootz_cli

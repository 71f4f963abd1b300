// The application's IInt8Calibrator as where a build has representative inputs from.
#pragma once

#include "api/public.h"
#include "quant/calibration_source.h"

namespace wootz::api {

class CalibratorAdapter final : public CalibrationSource {
 public:
  explicit CalibratorAdapter(nvinfer1::IInt8Calibrator& calibrator);
  // Errors: an algorithm that is none, a quantile or cutoff outside of [0, 1].
  Status check() const;

  RangeRule rule() const override { return rule_; }
  int batch_size() const override { return batch_size_; }
  Result<bool> next_batch(const std::vector<std::string>& inputs, CalibrationBatch* batch) override;
  Result<std::string> read_cache() override;
  Status write_cache(const std::string& text) override;

 private:
  nvinfer1::IInt8Calibrator& calibrator_;
  int32_t algorithm_ = -1;
  RangeRule rule_;
  int32_t batch_size_ = 0;
  Status made_;
};

}  // namespace wootz::api

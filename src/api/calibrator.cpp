#include "api/calibrator.h"

#include "wootz/extensions.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: speaks of that interface's enumerators throughout

namespace {

// What the calibrator's method that runs on this thread says beside its answer (wootz/extensions.h).
struct SaidBeside {
  size_t inputs = 0;  // of the batch that it is asked for
  bool on_host = false;
  std::vector<size_t> bytes;
  std::string failure;
};
thread_local SaidBeside said;

// Methods are noexcept: how they failed comes beside what they give.
template <typename F>
Status call(const char* method, F&& f, size_t inputs = 0) {
  said = {};
  said.inputs = inputs;
  f();
  if (said.failure.empty()) return Status();
  return invalid_argument("IInt8Calibrator::{} failed: {}", method, said.failure);
}

constexpr RangeMethod kMethods[] = {RangeMethod::kLegacy, RangeMethod::kEntropy, RangeMethod::kEntropy2,
                                    RangeMethod::kMinMax};
static_assert(std::size(kMethods) == static_cast<size_t>(EnumMax<CalibrationAlgoType>()));

bool is_part(double value) { return value >= 0 && value <= 1; }

}  // namespace

CalibratorAdapter::CalibratorAdapter(IInt8Calibrator& calibrator) : calibrator_(calibrator) {
  made_ = call("getAlgorithm", [&] { algorithm_ = static_cast<int32_t>(calibrator.getAlgorithm()); });
  if (!made_.ok() || algorithm_ < 0 || algorithm_ >= EnumMax<CalibrationAlgoType>()) return;
  rule_.method = kMethods[algorithm_];
  made_ = call("getBatchSize", [&] { batch_size_ = calibrator.getBatchSize(); });
  const auto* legacy = dynamic_cast<IInt8LegacyCalibrator*>(&calibrator);
  if (!made_.ok() || legacy == nullptr) return;
  made_ = call("getQuantile", [&] { rule_.quantile = legacy->getQuantile(); });
  if (made_.ok()) made_ = call("getRegressionCutoff", [&] { rule_.cutoff = legacy->getRegressionCutoff(); });
}

Status CalibratorAdapter::check() const {
  if (!made_.ok()) return made_;
  if (algorithm_ < 0 || algorithm_ >= EnumMax<CalibrationAlgoType>())
    return invalid_argument("IInt8Calibrator::getAlgorithm: there is no algorithm {}", algorithm_);
  if (batch_size_ < 1) return invalid_argument("IInt8Calibrator::getBatchSize: {} samples", batch_size_);
  if (!is_part(rule_.quantile))
    return invalid_argument("IInt8LegacyCalibrator::getQuantile: {} is outside [0, 1]", rule_.quantile);
  if (!is_part(rule_.cutoff))
    return invalid_argument("IInt8LegacyCalibrator::getRegressionCutoff: {} is outside [0, 1]", rule_.cutoff);
  return Status();
}

Result<bool> CalibratorAdapter::next_batch(const std::vector<std::string>& inputs, CalibrationBatch* batch) {
  std::vector<void*> bindings(inputs.size());
  std::vector<const char*> names;
  for (const std::string& name : inputs) names.push_back(name.c_str());
  bool more = false;
  const auto ask = [&] {
    more = calibrator_.getBatch(bindings.data(), names.data(), static_cast<int32_t>(names.size()));
  };
  WOOTZ_RETURN_IF_ERROR(call("getBatch", ask, names.size()));
  batch->addresses.assign(bindings.begin(), bindings.end());
  batch->on_host = said.on_host;
  batch->bytes = std::move(said.bytes);
  return more;
}

Result<std::string> CalibratorAdapter::read_cache() {
  const void* text = nullptr;
  size_t length = 0;
  WOOTZ_RETURN_IF_ERROR(call("readCalibrationCache", [&] { text = calibrator_.readCalibrationCache(length); }));
  return text == nullptr ? std::string() : std::string(static_cast<const char*>(text), length);
}

Status CalibratorAdapter::write_cache(const std::string& text) {
  return call("writeCalibrationCache", [&] { calibrator_.writeCalibrationCache(text.data(), text.size()); });
}

}  // namespace wootz::api

void wootz_calibrator_failed(const char* why) noexcept {
  try {
    wootz::api::said.failure = why == nullptr || *why == '\0' ? "it does not say why" : why;
  } catch (...) {
    wootz::api::said.failure = "?";  // short: no memory is taken
  }
}

void wootz_calibrator_batch_on_host(const size_t* bytes) noexcept {
  wootz::api::SaidBeside& said = wootz::api::said;
  said.on_host = true;
  try {
    if (bytes != nullptr) said.bytes.assign(bytes, bytes + said.inputs);
  } catch (...) {
    wootz_calibrator_failed("no memory");
  }
}

#include "calibration.h"

#include <algorithm>
#include <filesystem>

#include "wootz/extensions.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace wootz_cli {
namespace {

using nvinfer1::CalibrationAlgoType;
namespace fs = std::filesystem;

struct AlgorithmName {
  const char *name, *in_caches;
  CalibrationAlgoType algorithm;
};
constexpr AlgorithmName kAlgorithms[] = {
    // TensorRT has none like it: option "calibration" tells the build.
    {"least_error", "LeastErrorCalibration", CalibrationAlgoType::kMINMAX_CALIBRATION},
    {"entropy2", "EntropyCalibration2", CalibrationAlgoType::kENTROPY_CALIBRATION_2},
    {"entropy", "EntropyCalibration", CalibrationAlgoType::kENTROPY_CALIBRATION},
    {"minmax", "MinMaxCalibration", CalibrationAlgoType::kMINMAX_CALIBRATION},
    {"legacy", "LegacyCalibration", CalibrationAlgoType::kLEGACY_CALIBRATION}};

const AlgorithmName* algorithm_named(const std::string& name) {
  for (const AlgorithmName& each : kAlgorithms)
    if (name == each.name) return &each;
  return nullptr;
}

// Of the cache's first line; the build says what is wrong with another one.
const AlgorithmName& algorithm_of(const std::vector<char>& cache) {
  const std::string line(cache.begin(), std::find(cache.begin(), cache.end(), '\n'));
  for (const AlgorithmName& each : kAlgorithms) {
    const std::string end = std::string("-") + each.in_caches;
    const size_t length = line.size() - (!line.empty() && line.back() == '\r' ? 1 : 0);
    if (length >= end.size() && line.compare(length - end.size(), end.size(), end) == 0) return each;
  }
  return kAlgorithms[0];
}

// What fails in a method that the build calls ends the build.
template <typename F>
void failing(F&& call) noexcept {
  try {
    call();
  } catch (const std::exception& error) {
    wootz_calibrator_failed(error.what());
  }
}

}  // namespace

void check_calibration(const CalibrationRequest& request, bool int8) {
  const bool shapes = !request.min_shapes.empty() || !request.opt_shapes.empty() || !request.max_shapes.empty();
  if (!request.wanted() && (!request.algorithm.empty() || request.profile != 0 || shapes))
    throw Usage("calibration: give a cache (--calib) or data, to which the algorithm, profile and shapes apply");
  if (request.wanted() && !int8) throw Usage("calibration: give --int8 too, without which nothing is quantized");
  if (shapes && request.profile != 0) throw Usage("calibration: give either shapes or the number of a profile");
  if (!request.algorithm.empty() && algorithm_named(request.algorithm) == nullptr)
    throw Usage("calibration: '" + request.algorithm +
                "' is no algorithm: least_error, entropy2, entropy, minmax, legacy");
}

FileCalibrator::FileCalibrator(const CalibrationRequest& request, const nvinfer1::INetworkDefinition& network,
                               const Shapes& optimum, Logger& logger)
    : cache_file_(request.cache) {
  InputForms inputs;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    const auto open = optimum.find(input.getName());
    const std::vector<int64_t> shape = open != optimum.end() ? open->second : to_shape(input.getDimensions());
    inputs[input.getName()] = {input.getType(), shape};
    if (i == 0 && !shape.empty()) batch_size_ = std::max<int64_t>(1, shape[0]);
  }
  if (!request.cache.empty() && fs::exists(request.cache)) cache_ = read_file(request.cache);
  if (!cache_ && request.data.empty())
    throw Failure("calibration cache " + request.cache + " is not there, and no data is given to make it of");
  if (cache_ && !request.data.empty())
    logger.log(nvinfer1::ILogger::Severity::kWARNING,
               (request.cache + " is there: the data is only looked at if another algorithm wrote it").c_str());
  const AlgorithmName& chosen = !request.algorithm.empty() ? *algorithm_named(request.algorithm)
                                : cache_                   ? algorithm_of(*cache_)
                                                           : kAlgorithms[0];
  algorithm_ = chosen.algorithm;
  name_ = chosen.name;
  data_.emplace("calibration data", request.data, std::move(inputs));
}

int32_t FileCalibrator::getBatchSize() const noexcept { return static_cast<int32_t>(batch_size_); }

bool FileCalibrator::getBatch(void* bindings[], const char* names[], int32_t count) noexcept {
  bool more = false;
  failing([&] {
    std::optional<NamedArrays> next = data_->next();
    if (!next) return;
    current_ = std::move(*next);
    std::vector<size_t> bytes;
    for (int32_t i = 0; i < count; ++i) {
      Array& array = current_.at(names[i]);
      bytes.push_back(array.bytes.size());
      if (array.bytes.empty()) array.bytes.resize(1);  // never an empty address
      bindings[i] = array.bytes.data();
    }
    wootz_calibrator_batch_on_host(bytes.data());
    more = true;
  });
  return more;
}

const void* FileCalibrator::readCalibrationCache(std::size_t& length) noexcept {
  length = cache_ ? cache_->size() : 0;
  return length == 0 ? nullptr : cache_->data();
}

void FileCalibrator::writeCalibrationCache(const void* text, std::size_t length) noexcept {
  if (cache_file_.empty()) return;
  failing([&] { write_file(cache_file_, text, length); });
}

}  // namespace wootz_cli

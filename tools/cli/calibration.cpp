#include "calibration.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "npz.h"
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
CalibrationAlgoType algorithm_of(const std::vector<char>& cache) {
  const std::string line(cache.begin(), std::find(cache.begin(), cache.end(), '\n'));
  for (const AlgorithmName& each : kAlgorithms) {
    const std::string end = std::string("-") + each.in_caches;
    const size_t length = line.size() - (!line.empty() && line.back() == '\r' ? 1 : 0);
    if (length >= end.size() && line.compare(length - end.size(), end.size(), end) == 0) return each.algorithm;
  }
  return kAlgorithms[0].algorithm;
}

bool has_ending(const std::string& path, const std::string& ending) {
  return path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) throw Failure("calibration data: " + path + " is not there");
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> here;
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (has_ending(entry.path(), ".npy") || has_ending(entry.path(), ".npz")) here.push_back(entry.path());
    if (here.empty()) throw Failure("calibration data: there is no .npy and no .npz in " + path);
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

std::string names_of(const std::map<std::string, Array>& arrays) {
  std::string names;
  for (const auto& [name, array] : arrays) names += (names.empty() ? "'" : ", '") + name + "'";
  return names;
}

size_t bytes_of_shape(nvinfer1::DataType dtype, const std::vector<int64_t>& shape) {
  Array array;
  array.dtype = dtype;
  array.shape = shape;
  return bytes_of(array);
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
    throw Usage("calibration: '" + request.algorithm + "' is no algorithm: entropy2, entropy, minmax, legacy");
}

FileCalibrator::FileCalibrator(const CalibrationRequest& request, const nvinfer1::INetworkDefinition& network,
                               const Shapes& optimum, Logger& logger)
    : cache_file_(request.cache) {
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    const auto open = optimum.find(input.getName());
    const std::vector<int64_t> shape = open != optimum.end() ? open->second : to_shape(input.getDimensions());
    inputs_[input.getName()] = {input.getType(), shape};
    if (i == 0 && !shape.empty()) batch_size_ = std::max<int64_t>(1, shape[0]);
  }
  if (!request.cache.empty() && fs::exists(request.cache)) cache_ = read_file(request.cache);
  if (!cache_ && request.data.empty())
    throw Failure("calibration cache " + request.cache + " is not there, and no data is given to make it of");
  if (cache_ && !request.data.empty())
    logger.log(nvinfer1::ILogger::Severity::kWARNING,
               (request.cache + " is there: the data is only looked at if another algorithm wrote it").c_str());
  if (!request.algorithm.empty())
    algorithm_ = algorithm_named(request.algorithm)->algorithm;
  else if (cache_)
    algorithm_ = algorithm_of(*cache_);
  files_ = files_of(request.data);
}

int32_t FileCalibrator::getBatchSize() const noexcept { return static_cast<int32_t>(batch_size_); }

// How many batches of the network's shape an array is cut into, along its first axis.
size_t FileCalibrator::batches_of(const std::string& file, const std::string& name, const Array& array) const {
  const Input& input = inputs_.at(name);
  const std::vector<int64_t>&want = input.shape, &have = array.shape;
  if (array.dtype != input.dtype)
    throw Failure(file + ": '" + name + "' is " + dtype_name(array.dtype) + ", the network takes " +
                  dtype_name(input.dtype));
  if (have == want) return 1;
  if (want.empty() || have.size() != want.size() || have[0] == 0 || want[0] == 0 ||
      !std::equal(have.begin() + 1, have.end(), want.begin() + 1))
    throw Failure(file + ": '" + name + "' is " + shape_text(have) + ", the network takes " + shape_text(want) +
                  ", or more of them along the first axis");
  return static_cast<size_t>((have[0] + want[0] - 1) / want[0]);
}

// False: there are no more files.
bool FileCalibrator::open_next() {
  if (next_file_ == files_.size()) return false;
  const std::string& file = files_[next_file_++];
  arrays_.clear();
  batch_ = batches_ = 0;
  if (has_ending(file, ".npz")) {
    arrays_ = read_npz(file);
  } else {
    if (inputs_.size() != 1)
      throw Failure(file + ": its array has no name, and the network has " + std::to_string(inputs_.size()) +
                    " inputs: write them to .npz files with numpy.savez");
    arrays_[inputs_.begin()->first] = read_npy(file);
  }
  const auto same_name = [](const auto& array, const auto& input) { return array.first == input.first; };
  if (arrays_.size() != inputs_.size() || !std::equal(arrays_.begin(), arrays_.end(), inputs_.begin(), same_name)) {
    std::string wanted;
    for (const auto& [name, input] : inputs_) wanted += (wanted.empty() ? "'" : ", '") + name + "'";
    throw Failure(file + " has " + names_of(arrays_) + ", the network's inputs are " + wanted);
  }
  for (const auto& [name, array] : arrays_) {
    const size_t batches = batches_of(file, name, array);
    if (batches_ != 0 && batches != batches_)
      throw Failure(file + ": '" + name + "' has " + std::to_string(batches) + " batches, another array " +
                    std::to_string(batches_));
    batches_ = batches;
  }
  return true;
}

// Of the batch at hand; where the array ends, its beginning follows.
char* FileCalibrator::part(const std::string& name) {
  Array& array = arrays_.at(name);
  const size_t bytes = bytes_of_shape(array.dtype, inputs_.at(name).shape), from = batch_ * bytes;
  if (from + bytes <= array.bytes.size()) return array.bytes.data() + from;
  std::vector<char>& filled = filled_[name];
  filled.resize(bytes);
  for (size_t i = 0; i < bytes; ++i) filled[i] = array.bytes[(from + i) % array.bytes.size()];
  return filled.data();
}

bool FileCalibrator::getBatch(void* bindings[], const char* names[], int32_t count) noexcept {
  bool more = false;
  failing([&] {
    while (batch_ == batches_)
      if (!open_next()) return;
    std::vector<size_t> bytes;
    for (int32_t i = 0; i < count; ++i) {
      bindings[i] = part(names[i]);
      const Input& input = inputs_.at(names[i]);
      bytes.push_back(bytes_of_shape(input.dtype, input.shape));
    }
    wootz_calibrator_batch_on_host(bytes.data());
    ++batch_;
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

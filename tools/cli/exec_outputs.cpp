// Values of inputs, outputs and debug tensors: printed, written, compared.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "elements.h"
#include "exec.h"
#include "files.h"

namespace wootz_cli {
namespace {

std::string file_name(std::string tensor) {
  for (char& c : tensor)
    if (c == '/' || c == ':' || c == '\\' || c == ' ') c = '_';
  return tensor;
}

std::string joined(const Array& array, const char* between, bool json) {
  std::string text;
  for (const double value : elements_of(array)) {
    if (!text.empty()) text += between;
    text += json && !std::isfinite(value) ? "null" : element_text(value, array.dtype);
  }
  return text;
}

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    quoted += static_cast<unsigned char>(c) < 32 ? std::string(code) : std::string(1, c);
  }
  return quoted + "\"";
}

void write_text(const std::string& path, const std::string& text) { write_file(path, text.data(), text.size()); }

void print_summary(const std::string& name, const Array& array) {
  size_t nan = 0, infinite = 0, count = 0;
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (const double v : elements_of(array)) {
    nan += std::isnan(v) ? 1 : 0;
    infinite += std::isinf(v) ? 1 : 0;
    if (!std::isfinite(v)) continue;
    low = std::min(low, v), high = std::max(high, v), sum += v;
    ++count;
  }
  std::printf("[I] %s: %s %s", name.c_str(), dtype_name(array.dtype), shape_text(array.shape).c_str());
  if (count != 0) std::printf(", min = %g, max = %g, mean = %g", low, high, sum / static_cast<double>(count));
  if (nan + infinite != 0) std::printf(", %zu NaN, %zu infinite", nan, infinite);
  std::printf("\n");
}

void write_debug_tensor(const std::string& name, const Array& array, const std::string& how) {
  const std::string file = file_name(name);
  if (how == "summary") print_summary(name, array);
  if (how == "numpy") write_npy(file + ".npy", array);
  if (how == "string") write_text(file + ".txt", joined(array, "\n", false) + "\n");
  if (how == "raw") write_file(file + ".raw", array.bytes.data(), array.bytes.size());
}

// How far `got` is from `want`, by the algorithm. NaN where an element is NaN on either side, or an infinity is not the
// same on both.
double loss_between(const std::vector<double>& got, const std::vector<double>& want, const Accuracy& a) {
  double beyond = 0, sum = 0, squares = 0, largest = 0, dot = 0, got2 = 0, want2 = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == want[i];  // also infinities, whose difference is no number
    const double difference = same ? 0 : std::abs(got[i] - want[i]);
    if (std::isnan(difference) || std::isinf(difference)) return NAN;
    beyond += difference > a.atol + a.rtol * std::abs(want[i]) ? 1 : 0;
    sum += difference;
    squares += difference * difference;
    largest = std::max(largest, difference);
    if (!std::isfinite(got[i])) continue;
    dot += got[i] * want[i], got2 += got[i] * got[i], want2 += want[i] * want[i];
  }
  const auto count = static_cast<double>(std::max<size_t>(1, got.size()));
  switch (a.algorithm) {
    case Loss::kL0: return beyond / count;
    case Loss::kL1: return sum / count;
    case Loss::kL2: return std::sqrt(squares / count);
    case Loss::kLInf: return largest;
    case Loss::kCos: return got2 == 0 || want2 == 0 ? (got2 == want2 ? 0 : 1) : 1 - dot / std::sqrt(got2 * want2);
  }
  return NAN;
}

}  // namespace

void print_outputs(const std::map<std::string, Array>& outputs) {
  std::printf("[I] Output Tensors:\n");
  for (const auto& [name, array] : outputs)
    std::printf("[I] %s: (%s)\n[I] %s\n", name.c_str(), shape_text(array.shape).c_str(),
                joined(array, " ", false).c_str());
}

void export_outputs(const std::map<std::string, Array>& outputs, const std::string& path) {
  std::string text = "[";
  for (const auto& [name, array] : outputs)
    text += std::string(text.size() == 1 ? "\n  " : ",\n  ") + "{ \"name\" : " + json_text(name) +
            ", \"dimensions\" : \"" + shape_text(array.shape) + "\", \"values\" : [ " + joined(array, ", ", true) +
            " ] }";
  write_text(path, text + "\n]\n");
}

void write_raw(const std::map<std::string, Array>& arrays, const char* role) {
  for (const auto& [name, array] : arrays) {
    std::string file = file_name(name) + "." + role;
    for (const int64_t d : array.shape) file += "." + std::to_string(d);
    file += std::string(".") + dtype_name(array.dtype) + ".raw";
    write_file(file, array.bytes.data(), array.bytes.size());
    std::printf("[I] %s -> %s\n", name.c_str(), file.c_str());
  }
}

void write_debug_tensors(const std::map<std::string, Array>& values, const Exec& e) {
  for (const auto& [name, path] : e.debug_tensors) {
    const auto found = values.find(name);
    if (found == values.end())
      throw Failure("--saveDebugTensors: no tensor '" + name + "' was shown: mark it, with --markDebug=" + name);
    write_file(path, found->second.bytes.data(), found->second.bytes.size());
  }
  if (e.all_debug_tensors.empty()) return;
  if (values.empty())
    throw Failure(
        "--saveAllDebugTensors: no tensor was shown: build with --markUnfusedTensorsAsDebugTensors or --markDebug");
  for (const std::string& how : e.all_debug_tensors)
    for (const auto& [name, array] : values) write_debug_tensor(name, array, how);
}

Array read_tensor(const std::string& path, nvinfer1::DataType type, const std::vector<int64_t>& shape) {
  std::vector<char> bytes = read_file(path);
  if (bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0) return read_npy(path);
  Array array{type, shape, std::move(bytes)};
  if (array.bytes.size() != bytes_of(array))
    throw Failure(path + ": holds " + std::to_string(array.bytes.size()) + " bytes, and " + dtype_name(type) + " " +
                  shape_text(shape) + " takes " + std::to_string(bytes_of(array)));
  return array;
}

void compare_outputs(const std::map<std::string, Array>& outputs, const Reference& reference,
                     const Accuracy& accuracy) {
  static const char* const kNames[] = {"l0", "l1", "l2", "lInf", "cos"};
  std::string failed;
  for (const auto& [name, path] : reference.outputs) {
    const auto output = outputs.find(name);
    if (output == outputs.end()) throw Failure("--loadRefOutputs: the engine has no output '" + name + "'");
    const Array& got = output->second;
    const Array want = read_tensor(path, got.dtype, got.shape);
    if (want.shape != got.shape)
      throw Failure(path + ": is " + shape_text(want.shape) + ", and output '" + name + "' is " +
                    shape_text(got.shape));
    const double loss = loss_between(elements_of(got), elements_of(want), accuracy);
    const bool passed = loss <= accuracy.threshold;  // never of NaN
    std::printf("[%s] Accuracy of output '%s': loss %s = %g, threshold %g: %s\n", passed ? "I" : "E", name.c_str(),
                kNames[static_cast<size_t>(accuracy.algorithm)], loss, accuracy.threshold,
                passed ? "PASSED" : "FAILED");
    if (!passed) failed += (failed.empty() ? "'" : ", '") + name + "'";
  }
  if (!failed.empty()) throw Failure("outputs are not what the references say: " + failed);
}

}  // namespace wootz_cli

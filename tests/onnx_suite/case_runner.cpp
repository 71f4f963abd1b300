#include "onnx_suite/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "onnx/import.h"
#include "onnx/tensor_file.h"
#include "ops/interpreter.h"

namespace wootz::onnx_suite {
namespace {

Result<HostTensor> read_tensor(const std::string& path, const Item& item) {
  if (item.proto != "TensorProto") return unsupported("'{}' is a {}", item.name, item.proto);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return make_error(Code::kIo, "cannot read {}", path);
  WOOTZ_ASSIGN_OR_RETURN(NamedTensor named, parse_onnx_tensor(std::as_bytes(std::span(bytes))));
  return std::move(named.tensor);
}

Result<std::vector<HostTensor>> read_tensors(const std::string& folder, const std::vector<Item>& items) {
  std::vector<HostTensor> tensors;
  for (const Item& item : items) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, read_tensor(folder + item.file, item));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// What an input may be for the model to need it when it is built.
enum class Bake { kNone, kShapeLike, kSmall };

bool baked(Bake bake, const HostTensor& tensor) {
  switch (bake) {
    case Bake::kNone: return false;
    case Bake::kShapeLike: return is_integer(tensor.dtype()) && tensor.rank() <= 1 && tensor.volume() <= 64;
    case Bake::kSmall: return tensor.rank() <= 1 && tensor.volume() <= 64;
  }
  return false;
}

Outcome outcome(const Status& status) {
  return {status.code() == Code::kUnsupported ? Verdict::kUnsupported : Verdict::kFailed, status.message()};
}

Outcome attempt(const Case& test, const DataSet& set, const std::string& root, Bake bake,
                const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& expected) {
  ImportOptions options;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (baked(bake, inputs[i])) options.constant_inputs.emplace(set.inputs[i].name, inputs[i]);
  if (bake != Bake::kNone && options.constant_inputs.empty()) return {Verdict::kFailed, ""};
  Result<std::shared_ptr<Graph>> imported = import_file(root + test.model, options);
  if (!imported.ok()) return outcome(imported.status());
  const Graph& graph = **imported;
  std::vector<HostTensor> arguments;
  for (const Value* input : graph.inputs()) {
    const auto at =
        std::find_if(set.inputs.begin(), set.inputs.end(), [&](const Item& i) { return i.name == input->name(); });
    if (at == set.inputs.end()) return {Verdict::kFailed, fmt::format("no data for input '{}'", input->name())};
    arguments.push_back(inputs[static_cast<size_t>(at - set.inputs.begin())]);
  }
  Result<std::vector<HostTensor>> outputs = run_graph(graph, arguments);
  if (!outputs.ok()) return outcome(outputs.status());
  for (size_t i = 0; i < expected.size(); ++i) {
    size_t at = 0;
    while (at < outputs->size() && graph.outputs()[at]->name() != set.outputs[i].name) ++at;
    if (at == outputs->size()) return {Verdict::kFailed, fmt::format("no output '{}'", set.outputs[i].name)};
    const std::string text = difference((*outputs)[at], expected[i], test.rtol, test.atol);
    if (!text.empty()) return {Verdict::kFailed, fmt::format("output '{}': {}", set.outputs[i].name, text)};
  }
  return {bake == Bake::kNone ? Verdict::kPassed : Verdict::kPassedAsConstants, ""};
}

Outcome run_set(const Case& test, const DataSet& set, const std::string& root) {
  const std::string folder = root + test.model.substr(0, test.model.rfind('/') + 1);
  const Result<std::vector<HostTensor>> inputs = read_tensors(folder, set.inputs);
  const Result<std::vector<HostTensor>> expected = read_tensors(folder, set.outputs);
  if (!inputs.ok() || !expected.ok()) {
    // The model's own reason says more, when it has one.
    const Result<std::shared_ptr<Graph>> imported = import_file(root + test.model);
    if (!imported.ok()) return outcome(imported.status());
    return outcome(inputs.ok() ? expected.status() : inputs.status());
  }
  const Outcome first = attempt(test, set, root, Bake::kNone, *inputs, *expected);
  if (first.verdict == Verdict::kPassed) return first;
  for (const Bake bake : {Bake::kShapeLike, Bake::kSmall}) {
    const Outcome again = attempt(test, set, root, bake, *inputs, *expected);
    if (again.verdict == Verdict::kPassedAsConstants) return again;
  }
  return first;
}

}  // namespace

Outcome run_case(const Case& test, const std::string& root) {
  Outcome worst{Verdict::kPassed, ""};
  for (const DataSet& set : test.sets) {
    Outcome one = run_set(test, set, root);
    if (one.verdict == Verdict::kFailed || one.verdict == Verdict::kUnsupported) return one;
    if (one.verdict == Verdict::kPassedAsConstants) worst = one;
  }
  return worst;
}

std::string difference(const HostTensor& actual, const HostTensor& expected, double rtol, double atol) {
  if (actual.dtype() != expected.dtype())
    return fmt::format("it is {}, expected {}", dtype_name(actual.dtype()), dtype_name(expected.dtype()));
  if (!(actual.dims() == expected.dims()))
    return fmt::format("shape {}, expected {}", actual.dims().to_string(), expected.dims().to_string());
  if (actual.dtype() == DType::kBF16) rtol = std::max(rtol, 0x1p-6);  // two units in the last place
  int64_t wrong = 0, worst = -1;
  double worst_excess = 0;
  for (int64_t i = 0; i < expected.volume(); ++i) {
    const double a = actual.get_f64(i), e = expected.get_f64(i);
    if ((std::isnan(a) && std::isnan(e)) || a == e) continue;
    double excess = std::abs(a - e) - (atol + rtol * std::abs(e));
    if (std::isnan(excess) || std::isinf(a) || std::isinf(e)) excess = INFINITY;
    if (excess <= 0) continue;
    ++wrong;
    if (worst < 0 || excess > worst_excess) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ, worst [{}]: {}, expected {}", wrong, expected.volume(), worst,
                     actual.get_f64(worst), expected.get_f64(worst));
}

}  // namespace wootz::onnx_suite

// One test of the exported ONNX suite: import, run with the reference interpreter, compare.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"

namespace wootz::onnx_suite {

struct Item {
  std::string name, file, proto;
};
struct DataSet {
  std::vector<Item> inputs, outputs;
};
struct Case {
  std::string name, kind, model;  // model: path below the suite's folder
  double rtol = 1e-3, atol = 1e-7;
  std::vector<std::string> ops;
  std::vector<DataSet> sets;
};

enum class Verdict : char { kPassed = 'P', kPassedAsConstants = 'C', kFailed = 'F', kUnsupported = 'U' };

struct Outcome {
  Verdict verdict = Verdict::kFailed;
  std::string reason;
};

// Inputs that the model needs at build time (shapes, axes, pads) are given as constants when it cannot be imported, or
// run, without; the verdict tells.
Outcome run_case(const Case& test, const std::string& root);

// Empty when equal within the tolerances of ONNX's own comparison (NumPy's assert_allclose; dtype and shape exact).
std::string difference(const HostTensor& actual, const HostTensor& expected, double rtol, double atol);

}  // namespace wootz::onnx_suite

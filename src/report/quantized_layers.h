// What became of a model in another number format: as JSON, as text, and as a page for a browser.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/record.h"

namespace wootz {

struct OutputError {
  std::string name;
  double error = 0, largest_difference = 0, cosine = 1;  // as ValueErrors tells them
};

struct QuantizedLayer {
  std::string name, op, input, output;
  std::string why_not;  // why it stays in float; empty: it does not
  std::string format;   // that it has where it does not
  double scale = 0, range = 0;
  int zero_point = 0;
  double weight_scale[2] = {};
  double weight_error = 0;
  std::optional<double> pruned;       // part of its weights that became 0
  std::string not_pruned;             // why none, where weights were to be pruned and it has the format
  std::optional<double> error;        // of its result, in the whole network
  std::optional<double> correction;   // of its bias, root mean square
  std::optional<double> sensitivity;  // error of the network's outputs by this layer alone, in its fastest format
  std::vector<std::pair<std::string, double>> times;  // by format, "float" last, in microseconds; where measured
};

struct QuantizationReport {
  std::string model, output, format, ranges;  // several formats with commas between
  std::string sparse;                         // pattern of zeros that weights were pruned to; empty: they were not
  size_t batches = 0;
  std::optional<double> budget;
  std::optional<double> uncorrected;  // error of the outputs with biases as they were, where a correction was tried
  bool corrected = false;             // and kept, since the error is less with it
  std::vector<QuantizedLayer> layers;
  std::vector<OutputError> outputs;
  struct Point {
    size_t in_float = 0;  // layers that the budget moved there, the most sensitive first
    size_t moves = 0;     // of layers to a slower format or to float
    double error = 0;
  };
  std::vector<Point> curve;
};

double largest_error(const std::vector<OutputError>& outputs);
Json quantization_json(const QuantizationReport& report);
std::string quantization_text(const Json& report);
std::string quantization_page(const Json& report);

}  // namespace wootz

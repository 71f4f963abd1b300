#include "shapes.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "logger.h"

namespace wootz_cli {

using nvinfer1::Dims;

Dims to_dims(const std::vector<int64_t>& shape, const std::string& name) {
  if (shape.size() > Dims::MAX_DIMS) throw Failure("'" + name + "' has more than 8 dimensions");
  Dims dims{};
  dims.nbDims = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), dims.d);
  return dims;
}

std::vector<int64_t> to_shape(const Dims& dims) { return {dims.d, dims.d + std::max(0, dims.nbDims)}; }

bool dynamic(const Dims& dims) {
  return std::any_of(dims.d, dims.d + dims.nbDims, [](int64_t d) { return d < 0; });
}

int64_t elements_of(const Dims& dims) {
  return std::accumulate(dims.d, dims.d + dims.nbDims, int64_t{1}, std::multiplies<>());
}

void check_values(const std::string& name, const std::vector<int64_t>& values, const Dims& dims) {
  const int64_t elements = elements_of(dims);
  if (static_cast<int64_t>(values.size()) != elements)
    throw Failure("the values of input '" + name + "' are a shape: --shapes and its like take them, " +
                  std::to_string(elements) + " numbers; " + std::to_string(values.size()) + " are given");
}

Shapes parse_shapes(const std::string& text, const char* option) {
  Shapes shapes;
  const auto wrong = [&](const std::string& part) {
    return Usage(std::string(option) + ": '" + part + "' is not NAME:1x2x3");
  };
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos || colon == 0) throw wrong(part);
    std::vector<int64_t> shape;
    const std::string numbers = part.substr(colon + 1);
    for (size_t n = 0; n < numbers.size();) {
      const size_t x = std::min(numbers.find('x', n), numbers.size());
      const std::string number = numbers.substr(n, x - n);
      const std::string digits = number.substr(number.find_first_not_of('-') == 1 ? 1 : 0);  // values may be negative
      if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
        throw wrong(part);
      shape.push_back(std::stoll(number));
      n = x + 1;
    }
    if (numbers != "scalar" && shape.empty()) throw wrong(part);
    std::string name = part.substr(0, colon);
    if (name.size() > 2 && name.front() == '\'' && name.back() == '\'') name = name.substr(1, name.size() - 2);
    shapes[name] = std::move(shape);
    at = comma + 1;
  }
  return shapes;
}

}  // namespace wootz_cli

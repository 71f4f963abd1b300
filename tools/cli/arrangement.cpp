#include "arrangement.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "files.h"
#include "npy.h"
#include "shapes.h"

namespace wootz_cli {

Arrangement::Arrangement(const nvinfer1::ICudaEngine& engine, const nvinfer1::IExecutionContext& context,
                         const std::string& name)
    : name_(name), row_major_(engine.getTensorFormat(name.c_str()) == nvinfer1::TensorFormat::kLINEAR) {
  if (row_major_) return;
  shape_ = to_shape(context.getTensorShape(name.c_str()));
  strides_ = to_shape(context.getTensorStrides(name.c_str()));
  if (const int32_t axis = engine.getTensorVectorizedDim(name.c_str()); axis >= 0) {
    axis_ = static_cast<size_t>(axis);
    together_ = engine.getTensorComponentsPerElement(name.c_str());
  }
  size_ = element_bits(engine.getTensorDataType(name.c_str())) / 8;
  const auto open = [](int64_t d) { return d < 0; };
  if (size_ == 0 || shape_.empty() || strides_.size() != shape_.size() || axis_ >= shape_.size() ||
      std::any_of(shape_.begin(), shape_.end(), open) || std::any_of(strides_.begin(), strides_.end(), open))
    throw Failure("tensor '" + name + "' has the format '" + engine.getTensorFormatDesc(name.c_str()) +
                  "', and its strides are not known");
}

int64_t Arrangement::elements() const {
  return std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
}

int64_t Arrangement::places() const { return elements() == 0 ? 0 : shape_[0] * strides_[0] * together_; }

template <typename Move>
void Arrangement::for_each(Move move) const {
  std::vector<int64_t> at(shape_.size(), 0);
  const int64_t count = elements();
  for (int64_t e = 0; e < count; ++e) {
    int64_t place = at[axis_] % together_;
    for (size_t a = 0; a < at.size(); ++a) place += (a == axis_ ? at[a] / together_ : at[a]) * strides_[a] * together_;
    move(static_cast<size_t>(e) * size_, static_cast<size_t>(place) * size_);
    for (size_t a = at.size(); a-- > 0;) {
      if (++at[a] < shape_[a]) break;
      at[a] = 0;
    }
  }
}

std::vector<char> Arrangement::pack(const std::vector<char>& rows) const {
  if (rows.size() < static_cast<size_t>(elements()) * size_)
    throw Failure("tensor '" + name_ + "' has " + std::to_string(elements()) + " elements, and its data is shorter");
  std::vector<char> memory(static_cast<size_t>(places()) * size_, 0);
  for_each([&](size_t element, size_t place) { std::copy_n(rows.data() + element, size_, memory.data() + place); });
  return memory;
}

std::vector<char> Arrangement::unpack(const std::vector<char>& memory) const {
  if (memory.size() < static_cast<size_t>(places()) * size_)
    throw Failure("tensor '" + name_ + "' takes " + std::to_string(places()) + " elements, and its memory is smaller");
  std::vector<char> rows(static_cast<size_t>(elements()) * size_);
  for_each([&](size_t element, size_t place) { std::copy_n(memory.data() + place, size_, rows.data() + element); });
  return rows;
}

}  // namespace wootz_cli

#include "ir/tensor_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace wootz {
namespace {

constexpr int64_t kMaxListed = 16;  // elements written out one by one

std::string print_element(const HostTensor& tensor, int64_t i) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kU64) return std::to_string(static_cast<uint64_t>(tensor.get_i64(i)));
  if (!is_float(dtype)) return std::to_string(tensor.get_i64(i));
  const double value = tensor.get_f64(i);
  // Shortest for the type it has: every narrower float is exact in f32.
  return dtype == DType::kF64 || !std::isfinite(value) ? fmt::format("{}", value)
                                                       : fmt::format("{}", static_cast<float>(value));
}

Status parse_element(Scanner& in, HostTensor* tensor, int64_t i) {
  const DType dtype = tensor->dtype();
  if (is_float(dtype)) {
    WOOTZ_ASSIGN_OR_RETURN(const double value, in.floating());
    tensor->set_f64(i, value);
  } else if (dtype == DType::kU64) {
    WOOTZ_ASSIGN_OR_RETURN(const uint64_t value, in.unsigned_integer());
    tensor->set_i64(i, static_cast<int64_t>(value));
  } else {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t value, in.integer());
    tensor->set_i64(i, value);
    if (tensor->get_i64(i) != value) return in.fail(fmt::format("{} does not fit {}", value, dtype_name(dtype)));
  }
  return {};
}

bool same_bytes(const HostTensor& a, const HostTensor& b) {
  return a.bytes() == b.bytes() && (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// The text when reading it gives the same bytes (a NaN's payload, padding bits and odd bools do not survive it).
std::string if_exact(const std::string& text, const HostTensor& tensor) {
  Scanner in(text);
  size_t budget = tensor.bytes();
  const Result<HostTensor> read = parse_tensor_data(in, tensor.dtype(), tensor.dims(), &budget);
  return read.ok() && same_bytes(*read, tensor) ? text : std::string();
}

std::string print_list(const HostTensor& tensor) {
  std::string s = "[";
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    if (i != 0) s += ", ";
    s += print_element(tensor, i);
  }
  return s + ']';
}

// Whether each element may equal the next; if_exact() decides where elements share bytes.
bool looks_uniform(const HostTensor& tensor) {
  const size_t bits = static_cast<size_t>(dtype_bits(tensor.dtype()));
  const size_t step = bits < 8 ? 1 : bits / 8,
               bytes = tensor.bytes() - (bits < 8 ? 1 : 0);  // the last byte may be padded
  const auto* data = static_cast<const char*>(tensor.data());
  return bytes <= step || std::memcmp(data, data + step, bytes - step) == 0;
}

std::string print_hex(const HostTensor& tensor) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string s = "hex\"";
  s.reserve(tensor.bytes() * 2 + 8);
  const auto* data = static_cast<const unsigned char*>(tensor.data());
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    s += kDigits[data[i] >> 4];
    s += kDigits[data[i] & 15];
  }
  return s + '"';
}

unsigned digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); }

}  // namespace

std::string print_float(double value) {
  std::string s = fmt::format("{}", value);
  if (s.find_first_of(".eni") == std::string::npos) s += ".0";
  return s == "-nan" ? "nan" : s;
}

std::string print_tensor_data(const HostTensor& tensor) {
  std::string s;
  if (tensor.volume() <= kMaxListed)
    s = if_exact(print_list(tensor), tensor);
  else if (looks_uniform(tensor))
    s = if_exact("splat(" + print_element(tensor, 0) + ")", tensor);
  return s.empty() ? print_hex(tensor) : s;
}

Result<HostTensor> parse_tensor_data(Scanner& in, DType dtype, const Dims& dims, size_t* splat_budget) {
  if (dtype_bits(dtype) == 0) return in.fail(fmt::format("a constant cannot be of type {}", dtype_name(dtype)));
  const Result<int64_t> checked = checked_volume(dims.span());
  if (!checked.ok()) return in.fail(checked.status().message());
  const int64_t volume = *checked;
  const size_t bytes = dtype_bytes(dtype, volume);
  const bool list = in.peek() == '[', splat = in.peek_word() == "splat";
  if (in.accept("elided")) return in.fail("the constant was elided when this text was written");
  // Memory only for what the text itself holds, or within the budget.
  if (splat && bytes > *splat_budget)
    return in.fail(fmt::format("splats take more than {} bytes", limits::kMaxFoldedBytes));
  if (!splat && static_cast<uint64_t>(volume) / (list ? 1 : 8) > in.remaining())
    return in.fail(fmt::format("data of {} elements expected", volume));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(dtype, dims));
  if (in.accept('[')) {
    for (int64_t i = 0; i < volume; ++i) {
      if (i != 0 && !in.accept(',')) return in.expected("','");
      WOOTZ_RETURN_IF_ERROR(parse_element(in, &tensor, i));
    }
    if (!in.accept(']')) return in.expected(fmt::format("']' after {} elements", volume));
  } else if (in.accept("splat")) {
    *splat_budget -= bytes;
    if (!in.accept('(')) return in.expected("'('");
    // A tensor without elements has no place for the value.
    WOOTZ_ASSIGN_OR_RETURN(HostTensor one, HostTensor::allocate(dtype, Dims{1}));
    WOOTZ_RETURN_IF_ERROR(parse_element(in, &one, 0));
    if (!in.accept(')')) return in.expected("')'");
    if (const size_t step = dtype_bytes(dtype, 1); dtype_bits(dtype) >= 8) {
      for (size_t at = 0; at < bytes; at += step)
        std::memcpy(static_cast<char*>(tensor.mutable_data()) + at, one.data(), step);
    } else {
      for (int64_t i = 0; i < volume; ++i) tensor.set_i64(i, one.get_i64(0));
      if (is_float(dtype))
        for (int64_t i = 0; i < volume; ++i) tensor.set_f64(i, one.get_f64(0));
    }
  } else if (in.accept("hex")) {
    WOOTZ_ASSIGN_OR_RETURN(const std::string_view digits, in.hex_digits());
    if (digits.size() != bytes * 2)
      return in.fail(fmt::format("{} bytes for a constant {}{} of {}", digits.size() / 2, dtype_name(dtype),
                                 dims.to_string(), bytes));
    auto* data = static_cast<unsigned char*>(tensor.mutable_data());
    for (size_t i = 0; i < bytes; ++i)
      data[i] = static_cast<unsigned char>(digit(digits[2 * i]) << 4 | digit(digits[2 * i + 1]));
  } else {
    return in.expected("the constant's data");
  }
  return tensor;
}

}  // namespace wootz

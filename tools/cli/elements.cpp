#include "elements.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "files.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using nvinfer1::DataType;

template <typename T>
double read_as(const char* bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

// A float of few bits. `bias` and `mantissa` as the format has them; `finite`: all ones in the exponent are a number,
// and only all ones throughout are NaN.
double small_float(unsigned bits, int exponent_bits, int mantissa, int bias, bool finite) {
  const unsigned top = (1U << exponent_bits) - 1, ones = (1U << mantissa) - 1;
  const double sign = (bits >> (exponent_bits + mantissa) & 1U) != 0 ? -1 : 1;
  const unsigned exponent = bits >> mantissa & top, fraction = bits & ones;
  if (exponent == top && !finite) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == top && finite && mantissa > 1 && fraction == ones) return NAN;
  const double part = std::ldexp(static_cast<double>(fraction), -mantissa);
  return sign * (exponent == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, static_cast<int>(exponent) - bias));
}

unsigned unsigned_at(const char* bytes, size_t i, int width) {
  if (width == 16) {
    uint16_t value = 0;
    std::memcpy(&value, bytes + 2 * i, 2);
    return value;
  }
  const auto byte = static_cast<unsigned char>(bytes[width == 8 ? i : i / 2]);
  return width == 8 ? byte : (i % 2 == 0 ? byte & 15U : byte >> 4);
}

constexpr DataType extended(int number) { return static_cast<DataType>(WOOTZ_EXTENDED_TYPE + number); }

struct Reader {
  DataType dtype;
  bool is_float;
  double (*read)(const char* bytes, size_t i);
};
constexpr Reader kReaders[] = {
    {DataType::kFLOAT, true, read_as<float>},
    {extended(4), true, read_as<double>},
    {DataType::kHALF, true,
     [](const char* b, size_t i) { return small_float(unsigned_at(b, i, 16), 5, 10, 15, false); }},
    {DataType::kBF16, true,
     [](const char* b, size_t i) { return small_float(unsigned_at(b, i, 16), 8, 7, 127, false); }},
    {DataType::kFP8, true, [](const char* b, size_t i) { return small_float(unsigned_at(b, i, 8), 4, 3, 7, true); }},
    {DataType::kFP4, true, [](const char* b, size_t i) { return small_float(unsigned_at(b, i, 4), 2, 1, 1, true); }},
    {DataType::kE8M0, true,
     [](const char* b, size_t i) {
       const unsigned bits = unsigned_at(b, i, 8);
       return bits == 255 ? NAN : std::ldexp(1.0, static_cast<int>(bits) - 127);
     }},
    {DataType::kINT8, false, read_as<int8_t>},
    {DataType::kINT32, false, read_as<int32_t>},
    {DataType::kINT64, false, read_as<int64_t>},
    {DataType::kUINT8, false, read_as<uint8_t>},
    {DataType::kBOOL, false, read_as<uint8_t>},
    {DataType::kINT4, false,
     [](const char* b, size_t i) {
       const int bits = static_cast<int>(unsigned_at(b, i, 4));
       return static_cast<double>(bits > 7 ? bits - 16 : bits);
     }},
    {extended(7), false, read_as<int16_t>},
    {extended(8), false, read_as<uint16_t>},
    {extended(10), false, read_as<uint32_t>},
    {extended(12), false, read_as<uint64_t>},
};

const Reader& reader_of(DataType dtype) {
  for (const Reader& r : kReaders)
    if (r.dtype == dtype) return r;
  throw Failure(std::string("elements of type ") + dtype_name(dtype) + " are not read here");
}

}  // namespace

bool is_float(DataType dtype) { return reader_of(dtype).is_float; }

std::vector<double> elements_of(const Array& array) {
  const Reader& reader = reader_of(array.dtype);
  size_t count = 1;
  for (const int64_t d : array.shape) count *= static_cast<size_t>(d);
  if (array.bytes.size() < bytes_of(array)) throw Failure("an array is shorter than its shape");
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = reader.read(array.bytes.data(), i);
  return values;
}

std::string element_text(double value, DataType dtype) {
  char text[40];
  std::snprintf(text, sizeof text, !is_float(dtype) || element_bits(dtype) > 32 ? "%.17g" : "%.9g", value);
  return text;
}

}  // namespace wootz_cli

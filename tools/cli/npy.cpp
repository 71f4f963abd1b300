#include "npy.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "files.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using nvinfer1::DataType;

constexpr DataType extended(int number) { return static_cast<DataType>(WOOTZ_EXTENDED_TYPE + number); }

struct TypeRow {
  DataType dtype;
  const char* name;
  const char* descr;  // NumPy's; null: numpy has no such type
  size_t bits;
};
constexpr TypeRow kTypes[] = {
    {DataType::kFLOAT, "float32", "<f4", 32}, {DataType::kHALF, "float16", "<f2", 16},
    {DataType::kINT8, "int8", "|i1", 8},      {DataType::kINT32, "int32", "<i4", 32},
    {DataType::kBOOL, "bool", "|b1", 8},      {DataType::kUINT8, "uint8", "|u1", 8},
    {DataType::kINT64, "int64", "<i8", 64},   {DataType::kBF16, "bfloat16", "<V2", 16},
    {DataType::kFP8, "float8", "|V1", 8},     {DataType::kINT4, "int4", nullptr, 4},
    {DataType::kFP4, "float4", nullptr, 4},   {DataType::kE8M0, "e8m0", "|V1", 8},
    {extended(4), "float64", "<f8", 64},      {extended(7), "int16", "<i2", 16},
    {extended(8), "uint16", "<u2", 16},       {extended(10), "uint32", "<u4", 32},
    {extended(12), "uint64", "<u8", 64},      {extended(15), "float8e4m3fnuz", "|V1", 8},
    {extended(16), "float8e5m2", "|V1", 8},   {extended(17), "float8e5m2fnuz", "|V1", 8},
    {extended(21), "uint4", nullptr, 4},      {extended(22), "int2", nullptr, 2},
    {extended(23), "uint2", nullptr, 2},
};

const TypeRow& row(DataType dtype) {
  for (const TypeRow& r : kTypes)
    if (r.dtype == dtype) return r;
  throw std::runtime_error("a tensor of a type that has no name here (" + std::to_string(static_cast<int>(dtype)) +
                           ")");
}

[[noreturn]] void bad(const std::string& path, const std::string& why) { throw std::runtime_error(path + ": " + why); }

// The value of a key in the header's dictionary, as text up to its end.
std::string field(const std::string& header, const std::string& key, const std::string& path) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) bad(path, "the header has no '" + key + "'");
  const size_t start = header.find_first_not_of(' ', colon + 1);
  if (start == std::string::npos) bad(path, "the header ends early");
  if (header[start] == '(') return header.substr(start + 1, header.find(')', start) - start - 1);
  if (header[start] == '\'') return header.substr(start + 1, header.find('\'', start + 1) - start - 1);
  return header.substr(start, header.find_first_of(",}", start) - start);
}

}  // namespace

size_t element_bits(DataType dtype) { return row(dtype).bits; }
size_t bytes_of(const Array& array) {
  size_t volume = 1;
  for (const int64_t d : array.shape) volume *= static_cast<size_t>(d);
  return (volume * element_bits(array.dtype) + 7) / 8;
}
const char* dtype_name(DataType dtype) { return row(dtype).name; }
bool has_npy_form(DataType dtype) { return row(dtype).descr != nullptr; }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t d : shape) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text.empty() ? "scalar" : text;
}

Array read_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) bad(path, "cannot be opened");
  const int64_t end = in.seekg(0, std::ios::end).tellg();
  in.seekg(0);
  return read_npy(in, end, path);
}

Array read_npy(std::istream& in, int64_t end, const std::string& path) {
  char magic[8];
  if (!in.read(magic, 8) || std::memcmp(magic, "\x93NUMPY", 6) != 0) bad(path, "is not a .npy file");
  uint32_t length = 0;
  if (!in.read(reinterpret_cast<char*>(&length), magic[6] == 1 ? 2 : 4) || length > (1u << 20))
    bad(path, "has a bad header");
  std::string header(length, '\0');
  if (!in.read(header.data(), length)) bad(path, "has a truncated header");
  if (field(header, "fortran_order", path).rfind("True", 0) == 0)
    bad(path, "is in Fortran order; save it with numpy.ascontiguousarray");
  Array array;
  const std::string descr = field(header, "descr", path);
  bool known = false;
  for (const TypeRow& r : kTypes) {
    if (r.descr == nullptr || descr != r.descr) continue;
    array.dtype = r.dtype;
    known = true;
    break;
  }
  if (!known) bad(path, "has elements of type '" + descr + "', which no engine takes");
  const std::string shape = field(header, "shape", path);
  int64_t volume = 1;
  for (size_t at = 0; at < shape.size();) {
    const size_t digit = shape.find_first_of("0123456789", at);
    if (digit == std::string::npos) break;
    size_t used = 0;
    const int64_t d = std::stoll(shape.substr(digit, 18), &used);
    array.shape.push_back(d);
    if (__builtin_mul_overflow(volume, d, &volume)) bad(path, "has too many elements");
    at = digit + used;
  }
  const int64_t rest = end - in.tellg();
  const int64_t bytes = static_cast<int64_t>(element_bits(array.dtype) / 8);
  if (rest < 0 || volume > rest / bytes)
    bad(path, "holds fewer bytes than its shape " + shape_text(array.shape) + " needs");
  array.bytes.resize(static_cast<size_t>(volume * bytes));
  if (!in.read(array.bytes.data(), volume * bytes)) bad(path, "cannot be read");
  return array;
}

void write_npy(const std::string& path, const Array& array) {
  const TypeRow& type = row(array.dtype);
  std::string header = std::string("{'descr': '") + (type.descr != nullptr ? type.descr : "|u1") +
                       "', 'fortran_order': False, 'shape': (";
  if (type.descr != nullptr) {
    for (int64_t d : array.shape) header += std::to_string(d) + ",";
  } else {
    header += std::to_string(array.bytes.size()) + ",";  // packed: numpy has no such type
  }
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(array.bytes.begin(), array.bytes.end());
  write_file(path, file.data(), file.size());
}

}  // namespace wootz_cli

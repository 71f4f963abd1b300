#include "backend/problem.h"

#include <fmt/format.h>

#include <array>

namespace wootz {
namespace {

constexpr const char* kFamilies[] = {
#define FAMILY(enumerator, text) text,
#include "backend/families.def"
#undef FAMILY
};
static_assert(std::size(kFamilies) == kFamilyCount);

constexpr const char* kLayouts[] = {"linear", "channels_last", "blocked8", "blocked16", "opaque"};

int64_t channel_block(Layout layout) { return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 1; }

template <typename T>
const T* param_of(const Problem& problem, std::string_view name) {
  const auto it = problem.params.find(name);
  return it == problem.params.end() ? nullptr : std::get_if<T>(&it->second);
}

// Text that no two values share. Each kind starts differently.
std::string text_of(int64_t v) { return std::to_string(v); }
std::string text_of(double v) { return fmt::format("f{:a}", v); }
std::string text_of(const std::string& v) {  // quoted, so that no content looks like structure
  std::string s = "\"";
  for (const char c : v) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s + '"';
}
template <typename T>
std::string text_of(const std::vector<T>& list) {
  std::string s = std::is_same_v<T, double> ? "f[" : "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != 0) s += ',';
    s += text_of(list[i]);
  }
  return s + ']';
}

void append(std::string* key, const TensorDesc& t) {
  *key += fmt::format("{}:{}{}", dtype_name(t.dtype), layout_name(t.layout), t.dims.to_string());
  if (t.dynamic()) *key += "<=" + t.max_dims.to_string();
  if (t.constant) *key += "const";
}

}  // namespace

const char* family_name(Family family) {
  const auto index = static_cast<size_t>(family);
  return index < std::size(kFamilies) ? kFamilies[index] : "invalid";
}

bool family_from_name(std::string_view name, Family* family) {
  for (size_t i = 0; i < std::size(kFamilies); ++i) {
    if (name != kFamilies[i]) continue;
    *family = static_cast<Family>(i);
    return true;
  }
  return false;
}

const char* layout_name(Layout layout) {
  const auto index = static_cast<size_t>(layout);
  return index < std::size(kLayouts) ? kLayouts[index] : "invalid";
}

size_t layout_bytes(Layout layout, DType dtype, const Dims& dims) {
  if (layout == Layout::kOpaque) return 0;
  uint64_t count = 1;
  bool overflow = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return SIZE_MAX;
    if (dims[i] == 0) return 0;
    auto extent = static_cast<uint64_t>(dims[i]);
    const auto block = static_cast<uint64_t>(dims.rank() >= 3 && i == 1 ? channel_block(layout) : 1);
    extent = (extent + block - 1) / block * block;
    overflow |= __builtin_mul_overflow(count, extent, &count);
  }
  overflow |= __builtin_mul_overflow(count, static_cast<uint64_t>(dtype_bits(dtype)), &count);
  return overflow ? SIZE_MAX : static_cast<size_t>(count / 8 + (count % 8 != 0));
}

Dims layout_strides(Layout layout, const Dims& dims) {
  if (layout == Layout::kLinear || (layout == Layout::kChannelsLast && dims.rank() < 3)) return dims.strides();
  if (layout != Layout::kChannelsLast) return {};
  Dims strides = Dims::filled(dims.rank(), 1);  // dimension 1 stays 1
  int64_t step = dims[1];
  for (size_t i = dims.size() - 1; i >= 2; --i) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[0] = step;
  return strides;
}

int64_t Problem::get_int(std::string_view name, int64_t fallback) const {
  const auto* found = param_of<int64_t>(*this, name);
  return found ? *found : fallback;
}

double Problem::get_float(std::string_view name, double fallback) const {
  const auto* found = param_of<double>(*this, name);
  return found ? *found : fallback;
}

std::string Problem::get_string(std::string_view name, std::string_view fallback) const {
  const auto* found = param_of<std::string>(*this, name);
  return found ? *found : std::string(fallback);
}

std::vector<int64_t> Problem::get_ints(std::string_view name) const {
  const auto* found = param_of<std::vector<int64_t>>(*this, name);
  return found ? *found : std::vector<int64_t>();
}

std::vector<double> Problem::get_floats(std::string_view name) const {
  const auto* found = param_of<std::vector<double>>(*this, name);
  return found ? *found : std::vector<double>();
}

std::string Problem::key() const {
  std::string s = family_name(family);
  s += '{';
  for (const auto& [name, value] : params) {
    if (s.back() != '{') s += ';';
    s += text_of(name) + '=' + std::visit([](const auto& v) { return text_of(v); }, value);
  }
  s += "}(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i != 0) s += i == static_cast<size_t>(num_main) ? ';' : ',';
    append(&s, inputs[i]);
  }
  s += ")->(";
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i != 0) s += ',';
    append(&s, outputs[i]);
  }
  s += fmt::format(")main={};acc={}", num_main, dtype_name(acc_dtype));
  const std::string body = epilogue.to_string();
  if (!body.empty()) s += ";epilogue={" + body + '}';
  return s;
}

}  // namespace wootz

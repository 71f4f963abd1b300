// What follows from a table of parameters: choices, ranges, defaults, and values from attributes.
#include "backend/params.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>

namespace wootz {
namespace {

constexpr size_t kMostElements = size_t{1} << 24;  // of one list

// Of the first number that is out of range, or nothing.
struct RangeCheck {
  ParamRange range;
  bool operator()(const void*) const { return true; }
  bool operator()(const BoxRef&) const { return true; }
  bool operator()(const int64_t* v) const { return range.holds(static_cast<double>(*v)); }
  bool operator()(const double* v) const { return !range.bounded() || range.holds(*v); }
  bool operator()(const ChoiceRef& v) const { return *v.value < choice_count(v.names); }
  bool operator()(const ChoicesRef& v) const {
    for (size_t i = 0; i < v.size(v.list); ++i)
      if (v.at(v.list, i) >= choice_count(v.names)) return false;
    return true;
  }
  template <typename T>
  bool operator()(const std::optional<T>* v) const {
    return !*v || (*this)(&**v);
  }
  template <typename T>
  bool operator()(const std::vector<T>* v) const {
    return v->size() <= kMostElements && std::all_of(v->begin(), v->end(), [&](const T& e) { return (*this)(&e); });
  }
};

struct Same {
  template <typename T>
  bool operator()(T* a, const ParamRef& other) const {
    const auto* b = std::get<T*>(other);
    if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b);
    else
      return *a == *b;
  }
  bool operator()(const ChoiceRef& a, const ParamRef& other) const {
    return *a.value == *std::get<ChoiceRef>(other).value;
  }
  bool operator()(const ChoicesRef& a, const ParamRef& other) const {
    const auto& b = std::get<ChoicesRef>(other);
    bool same = a.size(a.list) == b.size(b.list);
    for (size_t i = 0; same && i < a.size(a.list); ++i) same = a.at(a.list, i) == b.at(b.list, i);
    return same;
  }
  bool operator()(const BoxRef& a, const ParamRef& other) const { return *a.box == *std::get<BoxRef>(other).box; }
};

// Set from an attribute. The types of attributes are few, and flags among them are integers.
struct Assign {
  const ParamSource& from;
  template <typename T>
  bool operator()(T*) const {
    return false;
  }
  template <typename T>
  bool take(T* to) const {
    const auto* found = std::get_if<T>(&from);
    if (found != nullptr) *to = *found;
    return found != nullptr;
  }
  bool operator()(const ChoicesRef&) const { return false; }
  bool operator()(const BoxRef&) const { return false; }
  bool operator()(int64_t* v) const { return take(v); }
  bool operator()(double* v) const { return take(v); }
  bool operator()(std::string* v) const { return take(v); }
  bool operator()(Ints* v) const { return take(v); }
  bool operator()(Floats* v) const { return take(v); }
  bool operator()(MaybeInt* v) const { return take(&v->emplace()); }
  bool operator()(MaybeInts* v) const { return take(&v->emplace()); }
  bool operator()(bool* v) const {
    int64_t value = 0;
    const bool taken = take(&value);
    *v = value != 0;
    return taken;
  }
  bool operator()(const ChoiceRef& v) const {
    const auto* name = std::get_if<std::string>(&from);
    for (size_t i = 0; name != nullptr && i < choice_count(v.names); ++i) {
      const std::string_view choice = choice_name(v.names, i);
      const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
      if (!std::equal(choice.begin(), choice.end(), name->begin(), name->end(), same)) continue;
      *v.value = static_cast<uint8_t>(i);
      return true;
    }
    return false;
  }
};

bool same_value(const ParamRef& a, const ParamRef& b) {
  return std::visit([&](const auto& ref) { return Same()(ref, b); }, a);
}

}  // namespace

std::string_view choice_name(std::string_view names, size_t index) {
  for (; index > 0; --index) {
    const size_t blank = names.find(' ');
    if (blank == std::string_view::npos) return "";
    names.remove_prefix(blank + 1);
  }
  return names.substr(0, names.find(' '));
}

size_t choice_count(std::string_view names) {
  return static_cast<size_t>(std::count(names.begin(), names.end(), ' ')) + 1;
}

std::optional<size_t> choice_index(std::string_view names, std::string_view name) {
  for (size_t i = 0; i < choice_count(names); ++i)
    if (!name.empty() && choice_name(names, i) == name) return i;
  return std::nullopt;
}

std::string ParamRange::to_string() const {
  std::string s;
  if (low > -std::numeric_limits<double>::max()) s = fmt::format("at least {:.0f}", low);
  if (high < std::numeric_limits<double>::max()) s += fmt::format("{}at most {:.0f}", s.empty() ? "" : ", ", high);
  return s;
}

bool ParamsBox::operator==(const ParamsBox& other) const {
  if (table() != other.table() || params() == other.params()) return table() == other.table();
  const auto fields = table()->fields;
  return std::all_of(fields.begin(), fields.end(), [&](const ParamField& field) {
    return same_value(read_ref(field, params()), read_ref(field, other.params()));
  });
}

bool is_default(const ParamTable& table, const ParamField& field, const void* params) {
  return same_value(read_ref(field, params), read_ref(field, table.defaults));
}

bool is_allowed(const ParamField& field, const ParamRef& value) { return std::visit(RangeCheck{field.range}, value); }

double sort_of_real(double v) {
  if (v == 0 || v == 1) return v;
  return v > 0 ? 2 : -1;  // NaN with the negative ones
}

void blur_reals(const ParamTable& table, void* params) {
  for (const ParamField& field : table.fields) {
    const ParamRef ref = field.of(params);
    if (auto* const* one = std::get_if<double*>(&ref)) **one = sort_of_real(**one);
    if (auto* const* many = std::get_if<Floats*>(&ref))
      for (double& v : **many) v = sort_of_real(v);
    if (const auto* box = std::get_if<BoxRef>(&ref); box != nullptr && box->box->table() != nullptr) {
      ParamSet inner = box->kind->copy(*box->box);
      blur_reals(*inner.table, inner.params);
      *box->box = ParamsBox(std::move(inner));
    }
  }
}

bool assign_param(const ParamField& field, void* params, const ParamSource& value) {
  const ParamRef ref = field.of(params);
  return std::visit(Assign{value}, ref) && is_allowed(field, ref);
}

}  // namespace wootz

// What a table of parameters consists of (families.def, op_kernels.def): their types, and how one is reached by name.
// Text, comparison, verification, plans and documentation follow from the tables through this.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/pointwise.h"
#include "base/status.h"

namespace wootz {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using IntLists = std::vector<Ints>;
using MaybeInt = std::optional<int64_t>;
using MaybeInts = std::optional<Ints>;
using MaybeIntLists = std::vector<MaybeInts>;

// A set of parameters of some table, kept alive by its owner.
struct ParamTable;
struct ParamSet {
  const ParamTable* table = nullptr;
  void* params = nullptr;
  std::shared_ptr<void> owner;
};

// A set of parameters as the value of a parameter: shared, never changed. Empty: none.
class ParamsBox {
 public:
  ParamsBox() = default;
  explicit ParamsBox(ParamSet set) : set_(std::move(set)) {}
  const ParamTable* table() const { return set_.table; }
  const void* params() const { return set_.params; }
  const void* owner() const { return set_.owner.get(); }
  bool operator==(const ParamsBox& other) const;

 private:
  ParamSet set_;
};

// What a box may hold.
struct BoxKind {
  ParamSet (*make)(std::string_view name);         // with nothing set; without a table: there is none of this name
  ParamSet (*copy)(const ParamsBox& box);          // of a box that is not empty, to be changed
  bool (*within_itself)(const ParamTable& table);  // such parameters may be in a box among such parameters
};
extern const BoxKind kFamilyBoxes;  // families.h
extern const BoxKind kOpBoxes;      // op_kernels.h

// Parameters of another family.
struct FamilyBox;
class FamilyParamsBox : public ParamsBox {
 public:
  using ParamsBox::ParamsBox;
  const FamilyBox* get() const { return static_cast<const FamilyBox*>(owner()); }
};
// What kernels need of an op. Empty: no kernel knows the op.
struct OpKernelBox;
class OpParamsBox : public ParamsBox {
 public:
  using ParamsBox::ParamsBox;
  const OpKernelBox* get() const { return static_cast<const OpKernelBox*>(owner()); }
};

// ---- Named choices: an enumeration whose names stand in the table, in order, separated by blanks.

std::string_view choice_name(std::string_view names, size_t index);  // "": there is none
std::optional<size_t> choice_index(std::string_view names, std::string_view name);
size_t choice_count(std::string_view names);

template <typename E>
std::string_view name_of(E value) {
  return choice_name(choice_names(E()), static_cast<size_t>(value));
}
template <typename E>
std::optional<E> choice_from_name(std::string_view name) {
  const std::optional<size_t> index = choice_index(choice_names(E()), name);
  return index ? std::optional<E>(static_cast<E>(*index)) : std::nullopt;
}

// ---- A parameter whose type is only known from the table.

struct ChoiceRef {
  uint8_t* value;
  std::string_view names;
};
struct ChoicesRef {
  void* list;
  size_t (*size)(const void* list);
  uint8_t (*at)(const void* list, size_t index);
  void (*add)(void* list, uint8_t value);
  std::string_view names;
};
struct BoxRef {
  ParamsBox* box;
  const BoxKind* kind;
};
using ParamRef = std::variant<bool*, int64_t*, double*, std::string*, DType*, Ints*, Floats*, IntLists*, MaybeInt*,
                              MaybeInts*, MaybeIntLists*, PointwiseExpr*, ChoiceRef, ChoicesRef, BoxRef>;

inline ParamRef param_ref(FamilyParamsBox& box) { return BoxRef{&box, &kFamilyBoxes}; }
inline ParamRef param_ref(OpParamsBox& box) { return BoxRef{&box, &kOpBoxes}; }

template <typename T>
ParamRef param_ref(T& value) {
  return ParamRef(std::in_place_type<T*>, &value);
}
template <typename E>
requires(std::is_enum_v<E> && !std::is_same_v<E, DType>) ParamRef param_ref(E& value) {
  static_assert(std::is_same_v<std::underlying_type_t<E>, uint8_t>);
  return ChoiceRef{reinterpret_cast<uint8_t*>(&value), choice_names(E())};
}
template <typename E>
requires std::is_enum_v<E> ParamRef param_ref(std::vector<E>& list) {
  using List = std::vector<E>;
  return ChoicesRef{&list, [](const void* l) { return static_cast<const List*>(l)->size(); },
                    [](const void* l, size_t i) { return static_cast<uint8_t>((*static_cast<const List*>(l))[i]); },
                    [](void* l, uint8_t v) { static_cast<List*>(l)->push_back(static_cast<E>(v)); }, choice_names(E())};
}

// What a number, or each of a list, may be. Types with values of their own (flags, choices) need none.
struct ParamRange {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool holds(double value) const { return value >= low && value <= high; }
  bool bounded() const {
    return low > -std::numeric_limits<double>::max() || high < std::numeric_limits<double>::max();
  }
  std::string to_string() const;
};
inline constexpr double kMostParam = 2147483647;  // steps, extents and counts that stand in kernels as 32 bits
inline constexpr ParamRange kAny{};
constexpr ParamRange at_least(double low) { return {low}; }
constexpr ParamRange within(double low, double high) { return {low, high}; }

struct ParamField {
  const char* name;
  const char* type;  // as the table has it
  const char* meaning;
  ParamRange range;
  ParamRef (*of)(void* params);
};

// One family's parameters. `defaults` is one with nothing set.
struct ParamTable {
  const char* name;
  std::span<const ParamField> fields;
  const void* defaults;
};

// Where the struct of a variant of such structs is.
template <typename... P>
void* params_address(std::variant<P...>& params) {
  return std::visit([](auto& p) -> void* { return &p; }, params);
}
template <typename... P>
const void* params_address(const std::variant<P...>& params) {
  return std::visit([](const auto& p) -> const void* { return &p; }, params);
}

// ---- What follows from a table; its texts are in backend/params_text.h. `params` is a struct of that table.

// Real numbers become one of their sort: negative, 0, 1, other.
double sort_of_real(double value);
void blur_reals(const ParamTable& table, void* params);
// Sets a parameter from a graph's attribute of its name. False: it has another type, or no such value is allowed.
using ParamSource = std::variant<int64_t, double, std::string, Ints, Floats>;
bool assign_param(const ParamField& field, void* params, const ParamSource& value);
// Is it as in `defaults`?
bool is_default(const ParamTable& table, const ParamField& field, const void* params);
// Is the value one that the field's range or choices allow?
bool is_allowed(const ParamField& field, const ParamRef& value);
// Fields are read through the same function that writes them.
inline ParamRef read_ref(const ParamField& field, const void* params) { return field.of(const_cast<void*>(params)); }

}  // namespace wootz

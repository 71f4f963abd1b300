// The kernel families' parameters as structs, one for each block of families.def, and what holds any of them.
#pragma once

#include "backend/params.h"
#include "base/limits.h"

namespace wootz {

class ParamReader;

#define CHOICES(Type, names, ...)            \
  enum class Type : uint8_t { __VA_ARGS__ }; \
  constexpr std::string_view choice_names(Type) { return names; }
#define FAMILY(Name, ...) struct Name##Params {
#define PARAM(type, name, value, range, meaning) type name = value;
#define END(Name)                                       \
  bool operator==(const Name##Params&) const = default; \
  }                                                     \
  ;
#include "backend/families.def"
#undef CHOICES
#undef FAMILY
#undef PARAM
#undef END

enum class Family : uint8_t {
#define CHOICES(...)
#define PARAM(...)
#define END(...)
#define FAMILY(Name, ...) k##Name,
#include "backend/families.def"
#undef FAMILY
};

// A variant of a table's structs: the list that ends in void.
template <typename Taken, typename... Rest>
struct CollectVariant;
template <typename... Taken, typename Next, typename... Rest>
struct CollectVariant<std::variant<Taken...>, Next, Rest...> : CollectVariant<std::variant<Taken..., Next>, Rest...> {};
template <typename... Taken>
struct CollectVariant<std::variant<Taken...>, void> {
  using type = std::variant<Taken...>;
};

using FamilyVariant = CollectVariant<std::variant<>,
#define FAMILY(Name, ...) Name##Params,
#include "backend/families.def"
#undef FAMILY
                                     void>::type;
#undef CHOICES
#undef PARAM
#undef END

inline constexpr int kFamilyCount = static_cast<int>(std::variant_size_v<FamilyVariant>);

// The family is the alternative. Copied and compared in one place: all who hold one would compile twenty structs' worth
// of it.
struct FamilyParams : FamilyVariant {
  using FamilyVariant::FamilyVariant;
  FamilyParams();
  FamilyParams(const FamilyParams&);
  FamilyParams(FamilyParams&&) noexcept;
  FamilyParams& operator=(const FamilyParams&);
  FamilyParams& operator=(FamilyParams&&) noexcept;
  ~FamilyParams();
  bool operator==(const FamilyParams& other) const;
};

// What the rest of the system asks about a family.
enum FamilyTraits : unsigned {
  kPlain = 0,
  kNoExpression = 1,  // its problems carry no expression
  kRunsItself = 2,    // no provider is asked for it: the reference or the runtime runs it
  kMayOmit = 4,       // operands or results may be left out
  kMayJump = 8,       // a small change of an operand may change a result by much
  kMultiplies = 16,   // products of its operands' elements are summed: what TF32 rounds
};

const char* family_name(Family family);
bool family_from_name(std::string_view name, Family* family);
const char* family_layer(Family family);  // as reports call it
unsigned family_traits(Family family);
inline bool has_trait(Family family, FamilyTraits trait) { return (family_traits(family) & trait) != 0; }
const ParamTable& family_table(Family family);

inline Family family_of(const FamilyParams& params) { return static_cast<Family>(params.index()); }
FamilyParams default_params(Family family);

// What a FamilyParamsBox holds.
struct FamilyBox {
  FamilyParams params;
};
FamilyParamsBox box_params(FamilyParams params);

// The same for any family: see backend/params.h.
void append_params(const FamilyParams& params, std::string* text);  // name and braces
Result<FamilyParams> parse_family_params(std::string_view text);
Result<FamilyParams> read_family_params(ParamReader& in);  // what stands first in a text
Status check_params(const FamilyParams& params);

}  // namespace wootz

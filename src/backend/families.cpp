#include "backend/families.h"

#include "backend/param_table.h"
#include "backend/params_text.h"

namespace wootz {
namespace {

// One list of fields for each block.
#define CHOICES(...)
#define FAMILY(Name, ...) PARAM_FIELDS(Name, Name##Params)
#define PARAM PARAM_FIELD
#define END PARAM_FIELDS_END
#include "backend/families.def"
#undef FAMILY
#undef PARAM
#undef END
#define PARAM(...)
#define END(...)

struct Entry {
  const char *text, *layer;
  unsigned traits;
  ParamTable table;
  FamilyParams (*make)();
};
const Entry kEntries[] = {
#define FAMILY(Name, text, layer, traits, ...)                                                                  \
  {text, layer, traits, {text, fields_of(fields_##Name::all), &kDefaults<Name##Params>}, []() -> FamilyParams { \
     return FamilyParams(std::in_place_type<Name##Params>);                                                     \
   }},
#include "backend/families.def"
#undef FAMILY
};
#undef CHOICES
#undef PARAM
#undef END
static_assert(std::size(kEntries) == kFamilyCount);

const Entry* entry_of(Family family) {
  const auto index = static_cast<size_t>(family);
  return index < std::size(kEntries) ? &kEntries[index] : nullptr;
}

}  // namespace

const char* family_name(Family family) {
  const Entry* entry = entry_of(family);
  return entry == nullptr ? "invalid" : entry->text;
}

bool family_from_name(std::string_view name, Family* family) {
  for (size_t i = 0; i < std::size(kEntries); ++i) {
    if (name != kEntries[i].text) continue;
    *family = static_cast<Family>(i);
    return true;
  }
  return false;
}

const char* family_layer(Family family) { return entry_of(family)->layer; }
unsigned family_traits(Family family) { return entry_of(family)->traits; }
const ParamTable& family_table(Family family) { return entry_of(family)->table; }
FamilyParams::FamilyParams() = default;
FamilyParams::FamilyParams(const FamilyParams&) = default;
FamilyParams::FamilyParams(FamilyParams&&) noexcept = default;
FamilyParams& FamilyParams::operator=(const FamilyParams&) = default;
FamilyParams& FamilyParams::operator=(FamilyParams&&) noexcept = default;
FamilyParams::~FamilyParams() = default;
bool FamilyParams::operator==(const FamilyParams& other) const {
  return static_cast<const FamilyVariant&>(*this) == static_cast<const FamilyVariant&>(other);
}

FamilyParams default_params(Family family) { return entry_of(family)->make(); }

namespace {

ParamSet set_of(FamilyParams params) {
  const auto owner = std::make_shared<FamilyBox>(FamilyBox{std::move(params)});
  return {&family_table(family_of(owner->params)), params_address(owner->params), owner};
}
ParamSet make_set(std::string_view name) {
  Family family{};
  return family_from_name(name, &family) ? set_of(default_params(family)) : ParamSet();
}
ParamSet copy_set(const ParamsBox& box) { return set_of(static_cast<const FamilyBox*>(box.owner())->params); }

}  // namespace

const BoxKind kFamilyBoxes{make_set, copy_set,
                           [](const ParamTable& table) { return &table == &family_table(Family::kChain); }};

FamilyParamsBox box_params(FamilyParams params) { return FamilyParamsBox(set_of(std::move(params))); }

void append_params(const FamilyParams& params, std::string* text) {
  const ParamTable& table = family_table(family_of(params));
  *text += table.name;
  append_params(table, params_address(params), text);
}

Result<FamilyParams> read_family_params(ParamReader& in) {
  Family family{};
  const std::string_view name = in.word();
  if (!family_from_name(name, &family))
    return unsupported("this build knows no kernel family '{}'", name.substr(0, 64));
  FamilyParams params = default_params(family);
  WOOTZ_RETURN_IF_ERROR(parse_params(family_table(family), in, params_address(params)));
  return params;
}

Result<FamilyParams> parse_family_params(std::string_view text) {
  ParamReader in(text);
  WOOTZ_ASSIGN_OR_RETURN(FamilyParams params, read_family_params(in));
  if (!in.at_end()) return corrupt("{}: text after the parameters", family_name(family_of(params)));
  return params;
}

Status check_params(const FamilyParams& params) {
  return check_params(family_table(family_of(params)), params_address(params));
}

}  // namespace wootz

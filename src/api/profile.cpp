#include "api/profile.h"

#include <algorithm>

#include "api/runtime/convert.h"

namespace wootz::api {

using nvinfer1::OptProfileSelector;

namespace {

constexpr const char* kSelectors[] = {"kMIN", "kOPT", "kMAX"};

Result<size_t> index_of(const char* name, OptProfileSelector select) {
  const auto i = static_cast<int32_t>(select);
  if (name == nullptr) return invalid_argument("the input name is null");
  if (i < 0 || i >= 3) return invalid_argument("input '{}': unknown selector {}", name, i);
  return static_cast<size_t>(i);
}

// Of the three lists those that are there must not fall.
template <class List>
bool rising(const std::array<const List*, 3>& lists) {
  const List* before = nullptr;
  for (const List* list : lists) {
    if (list == nullptr) continue;
    if (before != nullptr) {
      if (before->size() != list->size()) return false;
      for (size_t i = 0; i < list->size(); ++i)
        if ((*before)[i] > (*list)[i]) return false;
    }
    before = list;
  }
  return true;
}

}  // namespace

bool ProfileImpl::ordered(const std::array<std::optional<Dims>, 3>& dims) {
  std::array<const Dims*, 3> lists{};
  for (size_t i = 0; i < 3; ++i) lists[i] = dims[i] ? &*dims[i] : nullptr;
  return rising(lists);
}

bool ProfileImpl::ordered(const std::array<std::optional<Values>, 3>& values) {
  std::array<const std::vector<int64_t>*, 3> lists{};
  for (size_t i = 0; i < 3; ++i) lists[i] = values[i] ? &values[i]->wide : nullptr;
  return rising(lists);
}

bool ProfileImpl::setDimensions(const char* inputName, OptProfileSelector select, const nvinfer1::Dims& dims) noexcept {
  return attempt(reporter_, "IOptimizationProfile::setDimensions", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const size_t i, index_of(inputName, select));
    Result<Dims> extents = from_api(dims, 0);
    if (!extents.ok()) return extents.status().with_prefix(fmt::format("input '{}'", inputName));
    const auto found = dims_.find(std::string_view(inputName));
    std::array<std::optional<Dims>, 3> next =
        found == dims_.end() ? std::array<std::optional<Dims>, 3>{} : found->second;
    next[i] = *extents;
    if (!ordered(next))
      return invalid_argument("input '{}': {} {} contradicts what was set: ranks must agree, and min <= opt <= max",
                              inputName, kSelectors[i], extents->to_string());
    dims_.insert_or_assign(inputName, next);
    return Status();
  });
}

nvinfer1::Dims ProfileImpl::getDimensions(const char* inputName, OptProfileSelector select) const noexcept {
  return attempt_or(reporter_, "IOptimizationProfile::getDimensions", bad_dims(), [&]() -> Result<nvinfer1::Dims> {
    WOOTZ_ASSIGN_OR_RETURN(const size_t i, index_of(inputName, select));
    const auto found = dims_.find(std::string_view(inputName));
    return found == dims_.end() || !found->second[i] ? bad_dims() : to_api(*found->second[i]);
  });
}

Status ProfileImpl::set_values(const char* name, OptProfileSelector select, Values values) {
  WOOTZ_ASSIGN_OR_RETURN(const size_t i, index_of(name, select));
  const auto found = values_.find(std::string_view(name));
  std::array<std::optional<Values>, 3> next;
  if (found != values_.end()) next = found->second;
  next[i] = std::move(values);
  if (!ordered(next))
    return invalid_argument(
        "input '{}': the {} values contradict what was set: counts must agree, and min <= opt <= max", name,
        kSelectors[i]);
  values_.insert_or_assign(name, std::move(next));
  return Status();
}

bool ProfileImpl::setShapeValuesV2(const char* inputName, OptProfileSelector select, const int64_t* values,
                                   int32_t nbValues) noexcept {
  return attempt(reporter_, "IOptimizationProfile::setShapeValuesV2", [&]() -> Status {
    if (values == nullptr || nbValues < 0 || nbValues > limits::kMaxShapeValues)
      return invalid_argument("{} values at {}", nbValues, static_cast<const void*>(values));
    return set_values(inputName, select, {std::vector<int64_t>(values, values + nbValues), {}});
  });
}

bool ProfileImpl::setShapeValues(const char* inputName, OptProfileSelector select, const int32_t* values,
                                 int32_t nbValues) noexcept {
  return attempt(reporter_, "IOptimizationProfile::setShapeValues", [&]() -> Status {
    if (values == nullptr || nbValues < 0 || nbValues > limits::kMaxShapeValues)
      return invalid_argument("{} values at {}", nbValues, static_cast<const void*>(values));
    return set_values(
        inputName, select,
        {std::vector<int64_t>(values, values + nbValues), std::vector<int32_t>(values, values + nbValues)});
  });
}

const int64_t* ProfileImpl::getShapeValuesV2(const char* inputName, OptProfileSelector select) const noexcept {
  return attempt_or<const int64_t*>(
      reporter_, "IOptimizationProfile::getShapeValuesV2", nullptr, [&]() -> Result<const int64_t*> {
        WOOTZ_ASSIGN_OR_RETURN(const size_t i, index_of(inputName, select));
        const auto found = values_.find(std::string_view(inputName));
        return found == values_.end() || !found->second[i] ? nullptr : found->second[i]->wide.data();
      });
}

const int32_t* ProfileImpl::getShapeValues(const char* inputName, OptProfileSelector select) const noexcept {
  return attempt_or<const int32_t*>(
      reporter_, "IOptimizationProfile::getShapeValues", nullptr, [&]() -> Result<const int32_t*> {
        WOOTZ_ASSIGN_OR_RETURN(const size_t i, index_of(inputName, select));
        const auto found = values_.find(std::string_view(inputName));
        const bool narrow = found != values_.end() && found->second[i] && !found->second[i]->narrow.empty();
        return narrow ? found->second[i]->narrow.data() : nullptr;
      });
}

int32_t ProfileImpl::getNbShapeValues(const char* inputName) const noexcept {
  const auto found = values_.find(std::string_view(inputName == nullptr ? "" : inputName));
  if (found == values_.end()) return -1;
  for (const std::optional<Values>& values : found->second)
    if (values) return static_cast<int32_t>(values->wide.size());
  return -1;
}

bool ProfileImpl::isValid() const noexcept {
  const auto whole = [](const auto& entry) {
    return entry.second[0].has_value() && entry.second[1].has_value() && entry.second[2].has_value() &&
           ordered(entry.second);
  };
  return std::all_of(dims_.begin(), dims_.end(), whole) && std::all_of(values_.begin(), values_.end(), whole);
}

BuildProfile ProfileImpl::to_build_profile() const {
  BuildProfile profile;
  for (const auto& [name, dims] : dims_) profile.dims[name] = {*dims[0], *dims[1], *dims[2]};
  for (const auto& [name, values] : values_) profile.values[name] = {values[0]->wide, values[1]->wide, values[2]->wide};
  return profile;
}

}  // namespace wootz::api

// Optimization profiles.
#include "casters.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

using Profile = IOptimizationProfile;
constexpr OptProfileSelector kAll[] = {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX};

void set_shape(Profile& p, const char* input, const Dims& min, const Dims& opt, const Dims& max) {
  const bool ok = p.setDimensions(input, OptProfileSelector::kMIN, min) &&
                  p.setDimensions(input, OptProfileSelector::kOPT, opt) &&
                  p.setDimensions(input, OptProfileSelector::kMAX, max);
  if (!ok)
    throw nb::value_error(
        (std::string("profile: the shapes of '") + input + "' do not satisfy min <= opt <= max").c_str());
}

// Nothing was set: an empty list.
std::vector<Dims> get_shape(const Profile& p, const char* input) {
  std::vector<Dims> shapes;
  for (const OptProfileSelector which : kAll) shapes.push_back(p.getDimensions(input, which));
  if (shapes.front().nbDims < 0) shapes.clear();
  return shapes;
}

void set_values(Profile& p, const char* input, const std::vector<int64_t>& min, const std::vector<int64_t>& opt,
                const std::vector<int64_t>& max) {
  const auto set = [&](OptProfileSelector which, const std::vector<int64_t>& v) {
    return p.setShapeValuesV2(input, which, v.data(), static_cast<int32_t>(v.size()));
  };
  if (!set(OptProfileSelector::kMIN, min) || !set(OptProfileSelector::kOPT, opt) || !set(OptProfileSelector::kMAX, max))
    throw nb::value_error((std::string("profile: bad shape values of '") + input + "'").c_str());
}

std::vector<std::vector<int64_t>> get_values(const Profile& p, const char* input) {
  std::vector<std::vector<int64_t>> all;
  const int32_t count = p.getNbShapeValues(input);
  for (const OptProfileSelector which : kAll)
    if (const int64_t* const values = p.getShapeValuesV2(input, which); count >= 0 && values != nullptr)
      all.emplace_back(values, values + count);
  return all;
}

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<Profile>(m, "IOptimizationProfile")
      .def("set_shape", &set_shape, nb::arg("input"), nb::arg("min"), nb::arg("opt"), nb::arg("max"))
      .def("get_shape", &get_shape, nb::arg("input"))
      .def("set_shape_input", &set_values, nb::arg("input"), nb::arg("min"), nb::arg("opt"), nb::arg("max"))
      .def("get_shape_input", &get_values, nb::arg("input"))
      .def_prop_rw("extra_memory_target", &Profile::getExtraMemoryTarget,
                   [](Profile& p, float target) {
                     if (!p.setExtraMemoryTarget(target))
                       throw nb::value_error("extra_memory_target: a number from 0 to 1 is wanted");
                   })
      .def("__bool__", &Profile::isValid);
}

}  // namespace wootz_python

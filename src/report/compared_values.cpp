#include "report/compared_values.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr const char* kSides[] = {"a", "b"};

std::vector<int64_t> place_of(const Dims& dims, int64_t index) {
  std::vector<int64_t> place(static_cast<size_t>(dims.rank()));
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    place[static_cast<size_t>(axis)] = dims[axis] == 0 ? 0 : index % dims[axis];
    index = dims[axis] == 0 ? 0 : index / dims[axis];
  }
  return place;
}

Json value_json(const ComparedValue& value, double tolerance) {
  const ValueErrors& errors = value.errors;
  Json json = {{"name", value.name},
               {"output", value.output},
               {"types", {dtype_name(value.types[0]), dtype_name(value.types[1])}},
               {"shape", std::vector<int64_t>(value.dims.begin(), value.dims.end())},
               {"layers", {value.layers[0], value.layers[1]}}};
  if (!value.not_comparable.empty()) {
    json["not_comparable"] = value.not_comparable;
    return json;
  }
  json["agrees"] = agrees(value, tolerance);
  json["elements"] = errors.elements();
  json["error"] = errors.error();
  json["largest_difference"] = errors.largest_difference();
  json["mean_difference"] = errors.mean_difference();
  json["largest_value"] = errors.largest_value();
  json["cosine"] = errors.cosine();
  json["not_finite"] = {errors.not_finite(0), errors.not_finite(1)};
  json["mismatched"] = errors.mismatched();
  json["histogram"] = errors.histogram();
  return json;
}

// Where the first infinity or NaN of a side is.
Json first_not_finite(const Comparison& comparison, int side) {
  for (const ComparedValue& value : comparison.values)
    if (value.errors.not_finite(side) != 0)
      return {{"name", value.name},
              {"place", place_of(value.dims, value.errors.first_not_finite(side))},
              {"count", value.errors.not_finite(side)}};
  return nullptr;
}

std::string figure(const Json& value, const char* key) { return fmt::format("{:.3g}", value.value(key, 0.0)); }

std::string row(const Json& value) {
  const std::string name = value["name"].get<std::string>() + (value["output"].get<bool>() ? " (output)" : "");
  const std::string types = value["types"][0] == value["types"][1]
                                ? value["types"][0].get<std::string>()
                                : value["types"][0].get<std::string>() + " / " + value["types"][1].get<std::string>();
  if (value.contains("not_comparable"))
    return fmt::format("  {:<40} {:<11} {}\n", name, types, value["not_comparable"].get<std::string>());
  const uint64_t odd = value["not_finite"][0].get<uint64_t>() + value["not_finite"][1].get<uint64_t>();
  return fmt::format("{} {:<40} {:<11} {:>10} {:>10} {:>10} {:>9.6f}{}\n", value["agrees"].get<bool>() ? " " : "!",
                     name, types, figure(value, "error"), figure(value, "largest_difference"),
                     figure(value, "largest_value"), value["cosine"].get<double>(),
                     odd == 0 ? ""
                              : fmt::format("  {} / {} not finite", value["not_finite"][0].get<uint64_t>(),
                                            value["not_finite"][1].get<uint64_t>()));
}

std::string not_finite_line(const Json& comparison, int side) {
  const Json& first = comparison["first_not_finite"][static_cast<size_t>(side)];
  if (first.is_null()) return "";
  return fmt::format("{}: the first infinite value or NaN is in '{}', at {}\n", side == 0 ? "A" : "B",
                     first["name"].get<std::string>(), first["place"].dump());
}

}  // namespace

bool agrees(const ComparedValue& value, double tolerance) {
  if (!value.not_comparable.empty()) return true;
  return value.errors.mismatched() == 0 && value.errors.error() <= tolerance;
}

Json comparison_json(const Comparison& comparison) {
  Json json = {{"same", true},
               {"tolerance", comparison.tolerance},
               {"batches", comparison.batches},
               {"first_divergence", nullptr},
               {"first_not_finite", {first_not_finite(comparison, 0), first_not_finite(comparison, 1)}}};
  Json& values = json["values"] = Json::array();
  size_t differing = 0;
  for (const ComparedValue& value : comparison.values) {
    values.push_back(value_json(value, comparison.tolerance));
    // An output that cannot be compared is no agreement.
    const bool same = agrees(value, comparison.tolerance) && (value.not_comparable.empty() || !value.output);
    if (same) continue;
    ++differing;
    if (json["first_divergence"].is_null()) json["first_divergence"] = value.name;
  }
  json["same"] = differing == 0;
  json["differing"] = differing;
  json["histogram_powers"] = {ValueErrors::kFirstPower, ValueErrors::kFirstPower + ValueErrors::kBins - 2};
  for (size_t side = 0; side < 2; ++side) json[fmt::format("only_in_{}", kSides[side])] = comparison.only[side];
  return json;
}

std::string compared_values_text(const Json& comparison) {
  constexpr size_t kMostRows = 40;
  const Json& values = comparison["values"];
  std::string text = fmt::format("{} values that both have, {} batches, tolerance {:g}\n", values.size(),
                                 comparison["batches"].get<size_t>(), comparison["tolerance"].get<double>());
  text += fmt::format("  {:<40} {:<11} {:>10} {:>10} {:>10} {:>9}\n", "value", "type", "error", "max diff", "max |A|",
                      "cosine");
  size_t rows = 0, left = 0;
  for (const Json& value : values) {
    // Of many, those that say something.
    const bool shown = values.size() <= kMostRows || value["output"].get<bool>() || !value.value("agrees", false);
    if (!shown || (rows >= kMostRows && !value["output"].get<bool>())) {
      ++left;
      continue;
    }
    text += row(value);
    ++rows;
  }
  if (left > 0) text += fmt::format("  ... and {} more\n", left);
  for (int side = 0; side < 2; ++side) text += not_finite_line(comparison, side);
  if (comparison["same"].get<bool>()) return text + "The same, within the tolerance.\n";
  return text + fmt::format("{} differ; the first in the order of execution: '{}'\n",
                            comparison["differing"].get<size_t>(), comparison["first_divergence"].get<std::string>());
}

}  // namespace wootz

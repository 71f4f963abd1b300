// Stage `calibrate`: scales of activations from the application's batches, its cache or the ranges that it sets, and
// the Quantize and Dequantize that follow from them.
#include <algorithm>

#include "build/calibration_preview.h"
#include "build/calibration_run.h"
#include "build/session.h"
#include "build/stages.h"
#include "quant/calibration_cache.h"
#include "quant/insert_qdq.h"

namespace wootz {
namespace {

// "'a', 'b', 'c' and 4 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown) : text;
}

// Of a cache that this algorithm wrote. Nullopt: the batches are to be asked for.
Result<std::optional<TensorScales>> cached_scales(const BuildSession& session, CalibrationSource& source) {
  WOOTZ_ASSIGN_OR_RETURN(const std::string text, source.read_cache());
  if (text.empty()) return std::optional<TensorScales>();
  Result<CalibrationCache> cache = read_calibration_cache(text);
  if (!cache.ok()) return cache.status().with_prefix("the calibration cache");
  const RangeMethod wanted = calibration_rule(session, source).method;
  if (cache->method == wanted) {
    session.log.info(fmt::format("Calibration: {} scales from the calibrator's cache", cache->scales.size()));
    return std::optional(std::move(cache->scales));
  }
  session.log.warning(fmt::format("the calibration cache is of {}, the calibrator's algorithm is {}: calibrated anew",
                                  range_method_name(cache->method), range_method_name(wanted)));
  return std::optional<TensorScales>();
}

// `fresh`: they are not from a cache, which is to have them.
Result<CalibrationResult> calibrated_scales(BuildSession& session, bool* fresh) {
  CalibrationSource* const source = session.services.calibration;
  if (source == nullptr) return CalibrationResult();
  WOOTZ_ASSIGN_OR_RETURN(std::optional<TensorScales> cached, cached_scales(session, *source));
  if (cached) return CalibrationResult{.scales = std::move(*cached)};
  *fresh = true;
  return run_calibration(session, *source);
}

Status keep_scales(const BuildSession& session, TensorScales scales) {
  CalibrationSource& source = *session.services.calibration;
  const CalibrationCache cache{calibration_rule(session, source).method, std::move(scales)};
  return source.write_cache(write_calibration_cache(cache, session.settings.calibration_version));
}

Status check_ranges(const CalibrationResult& calibrated, const std::vector<std::string>& unscaled) {
  for (const std::string& name : unscaled)
    if (const auto why = calibrated.without_range.find(name); why != calibrated.without_range.end())
      return invalid_argument("calibration: tensor '{}': {}; ITensor::setDynamicRange can say its range", name,
                              why->second);
  return Status();
}

bool has_origin(const Node& node, const AskedType& type) {
  return std::any_of(type.origins.begin(), type.origins.end(), [&](const std::string& origin) {
    return std::find(node.provenance().begin(), node.provenance().end(), origin) != node.provenance().end();
  });
}

// Layers that the application asked to compute in INT8, and that stay in float.
Status check_asked(const BuildSession& session, const InsertedQdq& inserted) {
  for (const AskedType& asked : session.settings.layer_types) {
    if (asked.type != DType::kI8) continue;
    const auto is_one = [&](const Node* node) { return has_origin(*node, asked); };
    if (std::any_of(inserted.products.begin(), inserted.products.end(), is_one)) continue;
    const std::string text = fmt::format(
        "layer '{}' is asked to compute in i8: it is no convolution or product of an activation that has a scale and "
        "constant weights, which this device has an 8-bit kernel for",
        asked.layer);
    if (session.settings.obey_layer_types)
      return unsupported("{}; the build is to obey the types of layers: ask for another, or only prefer them", text);
    session.log.warning(text);
  }
  return Status();
}

}  // namespace

bool takes_scales(const BuildSession& session) {
  const bool given = session.services.calibration != nullptr || !session.settings.scales.empty();
  return session.settings.int8 && given && !has_quantization(session.graph);
}

Status calibrate_network(BuildSession& session) {
  const BuildSettings& settings = session.settings;
  if (!takes_scales(session)) return Status();
  bool fresh = false;
  WOOTZ_ASSIGN_OR_RETURN(CalibrationResult calibrated, calibrated_scales(session, &fresh));
  session.scales = calibrated.scales;
  for (const auto& [name, scale] : settings.scales) session.scales[name] = scale;
  const auto stays_float = [&](const Node& node) {
    return std::any_of(settings.layer_types.begin(), settings.layer_types.end(),
                       [&](const AskedType& type) { return is_float(type.type) && has_origin(node, type); });
  };
  WOOTZ_ASSIGN_OR_RETURN(const CalibrationPreview preview, try_quantized(session, stays_float));
  WOOTZ_RETURN_IF_ERROR(check_ranges(calibrated, preview.unscaled));
  const auto has_kernel = [&](const Node& node) {
    return std::any_of(node.provenance().begin(), node.provenance().end(),
                       [&](const std::string& origin) { return preview.in_8_bits.count(origin) != 0; });
  };
  WOOTZ_ASSIGN_OR_RETURN(const InsertedQdq inserted, insert_qdq(session.graph, session.scales, [&](const Node& node) {
                           return stays_float(node) || (is_product(node) && !has_kernel(node));
                         }));
  if (fresh) WOOTZ_RETURN_IF_ERROR(keep_scales(session, std::move(calibrated.scales)));
  if (!preview.unscaled.empty())
    session.log.warning(
        fmt::format("no scale is known of {}: what reads them is computed in float", listed(preview.unscaled)));
  if (inserted.products.empty())
    session.log.warning(
        "nothing is computed in INT8: the network has no convolution or product of an activation that has a scale and "
        "constant weights, which this device has an 8-bit kernel for");
  else
    session.log.info(fmt::format("Calibration: {} convolutions and products in INT8", inserted.products.size()));
  return check_asked(session, inserted);
}

}  // namespace wootz

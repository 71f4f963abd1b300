// Anchors: constants that follow from fields and extents.
#include <algorithm>
#include <cmath>

#include "stock/tables.h"

namespace wootz::stock {
namespace {

// Boxes and their variances as [1, 2, K * 4, 1].
Value* with_variances(GraphBuilder& b, std::vector<double> boxes, const std::vector<double>& variance) {
  const size_t count = boxes.size();
  for (size_t i = 0; i < count; ++i) boxes.push_back(variance[i % 4]);
  return floats(b, boxes, Dims{1, 2, static_cast<int64_t>(count), 1});
}

// Per map: every cell of it has one box for each aspect ratio, relative to the image.
std::vector<double> grid_boxes(int64_t height, int64_t width, const std::vector<double>& scales,
                               const std::vector<double>& ratios) {
  std::vector<double> boxes;
  // The height of the map measures both directions: maps are taken to be those of square images.
  const double step = 1 / static_cast<double>(height);
  for (int64_t h = 0; h < height; ++h)
    for (int64_t w = 0; w < width; ++w)
      for (size_t r = 0; r < ratios.size(); ++r) {
        const double y = (static_cast<double>(h) + 0.5) * step, x = (static_cast<double>(w) + 0.5) * step;
        const double half_w = scales[r] * std::sqrt(ratios[r]) / 2, half_h = scales[r] / std::sqrt(ratios[r]) / 2;
        boxes.insert(boxes.end(), {x - half_w, y - half_h, x + half_w, y + half_h});
      }
  return boxes;
}

int num_layers(const Fields& fields) {
  const FieldValue* const value = fields.find("numLayers");
  const auto* number = value == nullptr ? nullptr : std::get_if<HostTensor>(value);
  constexpr int64_t kMost = 64;
  return number == nullptr || number->volume() < 1
             ? 0
             : static_cast<int>(std::clamp<int64_t>(number->get_i64(0), 0, kMost));
}

Status expand_grid(Layer& l, bool rectangular) {
  const std::vector<int64_t> maps = l.integers("featureMapShapes");
  const std::vector<double> ratios = l.numbers("aspectRatios"), variance = l.numbers("variance");
  const auto layers = static_cast<int64_t>(l.num_outputs());
  if (static_cast<int64_t>(maps.size()) != layers * (rectangular ? 2 : 1))
    return l.fail("featureMapShapes has {} values for {} layers", maps.size(), layers);
  if (variance.size() != 4 || ratios.size() < 3)
    return l.fail("{} variances and {} aspectRatios; 4 and 3 or more are needed", variance.size(), ratios.size());
  if (layers < 2) return l.fail("numLayers is {}; it must be 2 or more", layers);
  const double least = l.number("minSize"), most = l.number("maxSize");
  const auto scale = [&](int64_t i) {
    return least + (most - least) * static_cast<double>(i) / static_cast<double>(layers - 1);
  };
  for (int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<size_t>(rectangular ? 2 * i : i);
    const int64_t height = maps[at], width = rectangular ? maps[at + 1] : maps[at];
    WOOTZ_RETURN_IF_ERROR(
        l.bounded("the number of anchors", {height, width, static_cast<int64_t>(ratios.size()) + 1, 8}));
    // The first map has fewer boxes; the others have one more, between this scale and the next.
    std::vector<double> of_layer(ratios.begin(), i == 0 ? ratios.begin() + 3 : ratios.end());
    std::vector<double> scales(of_layer.size(), scale(i));
    if (i == 0) {
      scales[0] = 0.1;
    } else {
      of_layer.push_back(1);
      scales.push_back(std::sqrt(scale(i) * (i == layers - 1 ? 1 : scale(i + 1))));
    }
    l.out(static_cast<size_t>(i), with_variances(l.b, grid_boxes(height, width, scales, of_layer), variance));
  }
  return l.b.status();
}

Status expand_grid_square(Layer& l) { return expand_grid(l, false); }
Status expand_grid_rectangle(Layer& l) { return expand_grid(l, true); }

// 1, then those given that are new, each with its reciprocal when they are flipped.
std::vector<double> all_ratios(const std::vector<double>& given, bool flip) {
  std::vector<double> all{1};
  for (const double ratio : given) {
    bool known = false;
    for (const double r : all) known = known || std::abs(r - ratio) < 1e-6;
    if (known) continue;
    all.push_back(ratio);
    if (flip) all.push_back(1 / ratio);
  }
  return all;
}

struct Image {
  double height, width, step_h, step_w;
};

// What is 0 follows from the extents of the map [N, C, H, W] and of the image.
Result<Image> read_image(Layer& l, int64_t height, int64_t width) {
  Image image{static_cast<double>(l.integer("imgH")), static_cast<double>(l.integer("imgW")), l.number("stepH"),
              l.number("stepW")};
  if (image.height == 0 || image.width == 0) {
    if (!l.has(1)) return l.fail("imgH and imgW are 0, and input 1, the image, is missing");
    WOOTZ_ASSIGN_OR_RETURN(const int64_t h, l.fixed(1, 2));
    WOOTZ_ASSIGN_OR_RETURN(const int64_t w, l.fixed(1, 3));
    image.height = static_cast<double>(h);
    image.width = static_cast<double>(w);
  }
  if (image.step_h == 0 || image.step_w == 0) {
    image.step_h = image.height / static_cast<double>(height);
    image.step_w = image.width / static_cast<double>(width);
  }
  return image;
}

// Width and height of each box of a cell, in pixels.
std::vector<std::pair<double, double>> prior_sizes(Layer& l) {
  const std::vector<double> least = l.numbers("minSize"), most = l.numbers("maxSize");
  const std::vector<double> ratios = all_ratios(l.numbers("aspectRatios"), l.flag("flip"));
  std::vector<std::pair<double, double>> sizes;
  for (size_t i = 0; i < least.size(); ++i)
    for (size_t r = 0; r < ratios.size(); ++r) {
      sizes.emplace_back(least[i] * std::sqrt(ratios[r]), least[i] / std::sqrt(ratios[r]));
      if (r == 0 && i < most.size()) sizes.emplace_back(std::sqrt(least[i] * most[i]), std::sqrt(least[i] * most[i]));
    }
  return sizes;
}

Status expand_prior(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}, false));
  if (l.has(1)) WOOTZ_RETURN_IF_ERROR(l.need(1, {4}, false));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t height, l.fixed(0, 2));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t width, l.fixed(0, 3));
  WOOTZ_ASSIGN_OR_RETURN(const Image image, read_image(l, height, width));
  const std::vector<double> variance = l.numbers("variance");
  if (variance.size() != 4) return l.fail("{} variances; 4 are needed", variance.size());
  if (l.count("maxSize") != 0 && l.count("maxSize") != l.count("minSize"))
    return l.fail("maxSize has {} values, minSize {}", l.count("maxSize"), l.count("minSize"));
  WOOTZ_RETURN_IF_ERROR(
      l.bounded("the number of anchors", {height, width, l.count("minSize"), 2 * l.count("aspectRatios") + 2, 8}));
  const std::vector<std::pair<double, double>> sizes = prior_sizes(l);
  std::vector<double> boxes;
  for (int64_t h = 0; h < height; ++h)
    for (int64_t w = 0; w < width; ++w)
      for (const auto& [box_w, box_h] : sizes) {
        const double x = (static_cast<double>(w) + l.number("offset")) * image.step_w;
        const double y = (static_cast<double>(h) + l.number("offset")) * image.step_h;
        for (double v : {(x - box_w / 2) / image.width, (y - box_h / 2) / image.height, (x + box_w / 2) / image.width,
                         (y + box_h / 2) / image.height})
          boxes.push_back(l.flag("clip") ? std::min(std::max(v, 0.0), 1.0) : v);
      }
  Value* const all = with_variances(l.b, std::move(boxes), variance);
  if (l.b.failed()) return l.b.status();
  // The same for each image.
  const bool one = l.shape(0)[0] == Dim(1);
  l.out(0, one ? all : expand_to(l.b, all, {l.b.extent(l.in(0), 0), l.b.slice(l.b.shape_of(all), 0, 1, 4)}));
  return l.b.status();
}

using enum FieldType;
constexpr Field kGrid[] = {{"minSize", kFloat, "0.2"},        {"maxSize", kFloat, "0.95"},
                           {"aspectRatios", kFloat, nullptr}, {"featureMapShapes", kInt, nullptr},
                           {"variance", kFloat, nullptr},     {"numLayers", kInt, "6"}};
constexpr Field kPrior[] = {
    {"minSize", kFloat, nullptr}, {"maxSize", kFloat, ""},  {"aspectRatios", kFloat, ""},
    {"flip", kInt, "1"},          {"clip", kInt, "0"},      {"variance", kFloat, "0.1,0.1,0.2,0.2"},
    {"imgH", kInt, "0"},          {"imgW", kInt, "0"},      {"stepH", kFloat, "0"},
    {"stepW", kFloat, "0"},       {"offset", kFloat, "0.5"}};

}  // namespace

std::span<const Plugin> anchor_plugins() {
  static constexpr Plugin kAnchorsPlugins[] = {
      {"GridAnchor_TRT", "1", Interface::kV2, kGrid, 0, 0, 0, expand_grid_square,
       "anchors of square maps as [1, 2, K, 1]: boxes, and variances", num_layers},
      {"GridAnchorRect_TRT", "1", Interface::kV2, kGrid, 0, 0, 0, expand_grid_rectangle,
       "the same for maps of a height and a width", num_layers},
      {"PriorBox_TRT", "1", Interface::kV2, kPrior, 1, 2, 1, expand_prior,
       "anchors of one map as [N, 2, K, 1], in the image that the second input or the fields say"},
  };
  return kAnchorsPlugins;
}

}  // namespace wootz::stock

#include "layer_times.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "files.h"

namespace wootz_cli {

void LayerTimes::reportLayerTime(const char* layer, float ms) noexcept {
  try {
    if (at_ == layers_.size()) layers_.push_back({layer, {}});
    layers_[at_++].ms.push_back(ms);
  } catch (...) {
    at_ = layers_.size();  // no memory: the rest of the run is not kept
  }
}

double LayerTimes::Layer::total() const {
  double sum = 0;
  for (const float t : ms) sum += t;
  return sum;
}

double LayerTimes::Layer::median() const {
  std::vector<float> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

double LayerTimes::total() const {
  double sum = 0;
  for (const Layer& layer : layers_) sum += layer.total();
  return sum;
}

void LayerTimes::print() const {
  const double all = total(), runs = static_cast<double>(std::max<size_t>(1, runs_));
  std::printf("[I] === Profile (%zu iterations ) ===\n[I] %12s %12s %12s %8s   %s\n", runs_, "Time(ms)", "Avg.(ms)",
              "Median(ms)", "Time(%)", "Layer");
  double medians = 0;
  for (const Layer& layer : layers_) {
    const double ms = layer.total();
    medians += layer.median();
    std::printf("[I] %12.2f %12.4f %12.4f %8.1f   %s\n", ms, ms / runs, layer.median(), all > 0 ? ms / all * 100 : 0,
                layer.name.c_str());
  }
  std::printf("[I] %12.2f %12.4f %12.4f %8.1f   %s\n", all, all / runs, medians, 100.0, "Total");
}

void LayerTimes::write(const std::string& path) const {
  const double all = total(), runs = static_cast<double>(std::max<size_t>(1, runs_));
  wootz::OrderedJson rows = wootz::OrderedJson::array();
  rows.push_back({{"count", runs_}});
  for (const Layer& layer : layers_) {
    const double ms = layer.total();
    rows.push_back({{"name", layer.name},
                    {"timeMs", ms},
                    {"averageMs", ms / runs},
                    {"medianMs", layer.median()},
                    {"percentage", all > 0 ? ms / all * 100 : 0}});
  }
  const std::string text = rows.dump(1, ' ', false, wootz::OrderedJson::error_handler_t::replace);
  write_file(path, text.data(), text.size());
}

}  // namespace wootz_cli

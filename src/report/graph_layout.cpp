#include "report/graph_layout.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace wootz {
namespace {

constexpr int kOrderSweeps = 8;
constexpr int kPlaceSweeps = 12;
constexpr double kBendWidth = 14;

// A box, or a bend of an edge in a layer that it passes.
struct Item {
  int layer = 0;
  double width = 0, x = 0, key = 0;
  bool bend = false;
  std::vector<int> up, down;  // items of the layers above and below
};

class LayerLayout {
 public:
  LayerLayout(std::vector<LayoutBox>* boxes, std::vector<LayoutEdge>* edges, double gap_x, double gap_y)
      : boxes_(*boxes), edges_(*edges), gap_x_(gap_x), gap_y_(gap_y) {}

  Layout2D run() {
    assign_layers();
    add_bends();
    order();
    place();
    return finish();
  }

 private:
  bool usable(const LayoutEdge& e) const {
    return e.from >= 0 && e.from < e.to && static_cast<size_t>(e.to) < boxes_.size();
  }

  void assign_layers() {
    const size_t n = boxes_.size();
    std::vector<std::vector<int>> users(n);
    std::vector<int> sources(n, 0);
    items_.resize(n);
    for (const LayoutEdge& e : edges_)
      if (usable(e)) users[static_cast<size_t>(e.from)].push_back(e.to), ++sources[static_cast<size_t>(e.to)];
    for (size_t i = 0; i < n; ++i)  // numbers rise along edges: one walk is enough
      for (const int to : users[i])
        items_[static_cast<size_t>(to)].layer = std::max(items_[static_cast<size_t>(to)].layer, items_[i].layer + 1);
    for (size_t i = n; i-- > 0;) {  // what starts a path stands right above its first reader
      items_[i].width = boxes_[i].width;
      if (sources[i] != 0 || users[i].empty()) continue;
      int nearest = INT32_MAX;
      for (const int to : users[i]) nearest = std::min(nearest, items_[static_cast<size_t>(to)].layer);
      items_[i].layer = nearest - 1;
    }
    int layers = 1;
    for (const Item& item : items_) layers = std::max(layers, item.layer + 1);
    layers_.resize(static_cast<size_t>(layers));
  }

  // All edges from one box share one line of bends, which they leave where they arrive.
  void add_bends() {
    bends_.resize(edges_.size());
    std::map<std::pair<int, int>, int> lines;  // (box, layer) -> bend
    size_t spent = 0;
    for (size_t k = 0; k < edges_.size(); ++k) {
      const LayoutEdge& e = edges_[k];
      if (!usable(e)) continue;
      int at = e.from;
      const int last = items_[static_cast<size_t>(e.to)].layer;
      for (int layer = items_[static_cast<size_t>(e.from)].layer + 1; layer < last && spent < kMostBends; ++layer) {
        const auto [found, fresh] = lines.try_emplace({e.from, layer}, static_cast<int>(items_.size()));
        if (fresh) {
          ++spent;
          Item bend;
          bend.layer = layer;
          bend.width = kBendWidth;
          bend.bend = true;
          items_.push_back(std::move(bend));
          link(at, found->second);
        }
        at = found->second;
        bends_[k].push_back(at);
      }
      if (items_[static_cast<size_t>(at)].layer + 1 == last) link(at, e.to);
    }
    for (size_t i = 0; i < items_.size(); ++i)
      layers_[static_cast<size_t>(items_[i].layer)].push_back(static_cast<int>(i));
  }

  void link(int from, int to) {
    items_[static_cast<size_t>(from)].down.push_back(to);
    items_[static_cast<size_t>(to)].up.push_back(from);
  }

  double mean_of(const std::vector<int>& list, double Item::*value) const {
    double sum = 0;
    for (const int i : list) sum += items_[static_cast<size_t>(i)].*value;
    return sum / static_cast<double>(list.size());
  }

  // Barycentres, down and up in turn.
  void order() {
    for (std::vector<int>& layer : layers_)
      for (size_t k = 0; k < layer.size(); ++k) items_[static_cast<size_t>(layer[k])].x = static_cast<double>(k);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t l = 0; l < layers_.size(); ++l) {
        std::vector<int>& layer = layers_[down ? l : layers_.size() - 1 - l];
        for (const int i : layer) {
          Item& item = items_[static_cast<size_t>(i)];
          const std::vector<int>& others = down ? item.up : item.down;
          item.key = others.empty() ? item.x : mean_of(others, &Item::x);
        }
        std::stable_sort(layer.begin(), layer.end(), [&](int a, int b) {
          return items_[static_cast<size_t>(a)].key < items_[static_cast<size_t>(b)].key;
        });
        for (size_t k = 0; k < layer.size(); ++k) items_[static_cast<size_t>(layer[k])].x = static_cast<double>(k);
      }
    }
  }

  // Moves a layer's items as near as their order and widths allow to where they want to be (item.key): least squares
  // by pooling neighbours that would overlap.
  void settle(const std::vector<int>& layer) {
    struct Pool {
      double sum, weight;
      size_t first;
    };
    std::vector<Pool> pools;
    std::vector<double> offset(layer.size(), 0);
    for (size_t k = 1; k < layer.size(); ++k) {
      const Item &a = items_[static_cast<size_t>(layer[k - 1])], &b = items_[static_cast<size_t>(layer[k])];
      offset[k] = offset[k - 1] + (a.width + b.width) / 2 + (a.bend && b.bend ? gap_x_ / 3 : gap_x_);
    }
    for (size_t k = 0; k < layer.size(); ++k) {
      const Item& item = items_[static_cast<size_t>(layer[k])];
      const double weight = item.bend ? 4 : 1;  // long edges go straight
      pools.push_back({(item.key - offset[k]) * weight, weight, k});
      while (pools.size() > 1) {
        const Pool &b = pools.back(), &a = pools[pools.size() - 2];
        if (a.sum / a.weight <= b.sum / b.weight) break;
        const Pool both{a.sum + b.sum, a.weight + b.weight, a.first};
        pools.pop_back();
        pools.back() = both;
      }
    }
    for (size_t p = 0; p < pools.size(); ++p) {
      const size_t end = p + 1 < pools.size() ? pools[p + 1].first : layer.size();
      for (size_t k = pools[p].first; k < end; ++k)
        items_[static_cast<size_t>(layer[k])].x = pools[p].sum / pools[p].weight + offset[k];
    }
  }

  void place() {
    for (const std::vector<int>& layer : layers_) {
      for (const int i : layer) items_[static_cast<size_t>(i)].key = 0;
      settle(layer);
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t l = 0; l < layers_.size(); ++l) {
        const std::vector<int>& layer = layers_[down ? l : layers_.size() - 1 - l];
        for (const int i : layer) {
          Item& item = items_[static_cast<size_t>(i)];
          const std::vector<int>& others = down ? item.up : item.down;
          item.key = others.empty() ? item.x : mean_of(others, &Item::x);
        }
        settle(layer);
      }
    }
  }

  Layout2D finish() {
    double left = 0, right = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      left = i == 0 ? items_[i].x - items_[i].width / 2 : std::min(left, items_[i].x - items_[i].width / 2);
      right = i == 0 ? items_[i].x + items_[i].width / 2 : std::max(right, items_[i].x + items_[i].width / 2);
    }
    std::vector<double> top(layers_.size() + 1, 0), height(layers_.size(), 0);
    for (size_t i = 0; i < boxes_.size(); ++i) {
      const auto l = static_cast<size_t>(items_[i].layer);
      height[l] = std::max(height[l], boxes_[i].height);
    }
    for (size_t l = 0; l < layers_.size(); ++l) top[l + 1] = top[l] + height[l] + gap_y_;
    const auto y_of = [&](const Item& item) {
      const auto l = static_cast<size_t>(item.layer);
      return top[l] + height[l] / 2;
    };
    for (size_t i = 0; i < boxes_.size(); ++i) boxes_[i].center = {items_[i].x - left, y_of(items_[i])};
    for (size_t k = 0; k < edges_.size(); ++k) {
      LayoutEdge& e = edges_[k];
      e.points.clear();
      if (!usable(e)) continue;
      const LayoutBox &a = boxes_[static_cast<size_t>(e.from)], &b = boxes_[static_cast<size_t>(e.to)];
      e.points.push_back({a.center.x, a.center.y + a.height / 2});
      for (const int i : bends_[k]) {
        const Item& bend = items_[static_cast<size_t>(i)];
        const auto l = static_cast<size_t>(bend.layer);
        e.points.push_back({bend.x - left, top[l]});
        e.points.push_back({bend.x - left, top[l] + height[l]});
      }
      e.points.push_back({b.center.x, b.center.y - b.height / 2});
    }
    return {right - left, std::max(0.0, top[layers_.size()] - gap_y_)};
  }

  std::vector<LayoutBox>& boxes_;
  std::vector<LayoutEdge>& edges_;
  double gap_x_, gap_y_;
  std::vector<Item> items_;  // boxes first
  std::vector<std::vector<int>> layers_, bends_;
};

}  // namespace

Layout2D lay_out(std::vector<LayoutBox>* boxes, std::vector<LayoutEdge>* edges, double gap_x, double gap_y) {
  if (boxes->empty()) return {};
  return LayerLayout(boxes, edges, gap_x, gap_y).run();
}

}  // namespace wootz

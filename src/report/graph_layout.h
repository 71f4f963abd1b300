// Places the boxes of a directed graph in layers, from the top down, and leads the edges around them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace wootz {

struct Point {
  double x = 0, y = 0;
};
struct LayoutBox {
  double width = 0, height = 0;
  Point center;  // filled in
};
struct LayoutEdge {
  int from = 0, to = 0;
  std::vector<Point> points;  // filled in: from the lower side of one box to the upper side of the other
};
struct Layout2D {
  double width = 0, height = 0;
};

// Edges lead from lower to higher numbers; others are left without points. Takes about n log n for networks as they
// are: at most `kMostBends` bends are spent on edges that pass layers, the remaining such edges go straight.
inline constexpr size_t kMostBends = 40000;
Layout2D lay_out(std::vector<LayoutBox>* boxes, std::vector<LayoutEdge>* edges, double gap_x = 28, double gap_y = 44);

}  // namespace wootz

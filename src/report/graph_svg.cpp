#include <algorithm>
#include <cmath>

#include "report/graph_layout.h"
#include "report/page.h"
#include "runtime/report/kept_report.h"

namespace wootz {
namespace {

constexpr double kWidth = 268, kHead = 40, kRow = 18, kPadding = 10, kIoHeight = 30, kSmallHeight = 30;
constexpr size_t kMostRows = 7;
constexpr size_t kTitleLetters = 31, kRowLetters = 34, kSubLetters = 28;
constexpr double kMargin = 24;

// The palette of page.css, for a picture that stands alone.
constexpr const char* kStyle = R"css(
:root{--bg:#fbfbfa;--card:#fff;--ink:#1c2128;--soft:#667085;--line:#d5d9e0;--edge:#98a2b3;--chip:#f2f4f7;
--c-conv:#2f6fde;--c-gemm:#7a4fd0;--c-attention:#b0399a;--c-point:#12805c;--c-norm:#0e7c9b;--c-reduce:#b4690e;
--c-move:#6b7280;--c-pool:#c2410c;--c-other:#475467;--hot:#d92d20}
@media (prefers-color-scheme:dark){:root{--bg:#12151a;--card:#1b2027;--ink:#e6e9ee;--soft:#98a2b3;--line:#343b46;
--edge:#5d6675;--chip:#262c35;--c-conv:#6ea1ff;--c-gemm:#b39bff;--c-attention:#f08ad8;--c-point:#4fd1a1;
--c-norm:#56c8e8;--c-reduce:#f0b357;--c-move:#9aa3b2;--c-pool:#ff9466;--c-other:#aab4c3;--hot:#ff6b5e}}
svg{background:var(--bg);font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
)css";
constexpr const char* kShapes = R"css(
.region>.box{fill:var(--card);stroke:var(--line)}.region>.bar{fill:var(--c,var(--c-other))}
.region .title{font-weight:600;fill:var(--ink)}.region .sub{fill:var(--soft);font-size:10.5px}
.region .time{fill:var(--ink);font-size:10.5px;font-weight:600}.region .heat{fill:var(--hot)}
.chip rect{fill:var(--chip)}.chip .op{fill:var(--c,var(--c-other));font-weight:600;font-size:10.5px}
.chip .node{fill:var(--soft);font-size:10.5px}
.io>.box{fill:var(--chip);stroke:var(--edge)}.io text{fill:var(--ink);font-weight:600}
.edge{fill:none;stroke:var(--edge);stroke-width:1.3}.tip{fill:var(--edge)}
.region.small>.box{stroke-dasharray:4 3}
.t-Convolution{--c:var(--c-conv)}.t-MatrixMultiply{--c:var(--c-gemm)}.t-Attention{--c:var(--c-attention)}
.t-PointWise{--c:var(--c-point)}.t-Normalization,.t-SoftMax{--c:var(--c-norm)}.t-Reduce,.t-TopK{--c:var(--c-reduce)}
.t-Shuffle,.t-Reformat,.t-Gather,.t-Scatter{--c:var(--c-move)}.t-Pooling,.t-Resize{--c:var(--c-pool)}
)css";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

// At most so many letters, the middle left out: names differ at both ends.
std::string shortened(const std::string& text, size_t most) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  if (starts.size() <= most) return escape(text);
  const size_t head = most * 3 / 5, tail = most - head - 1;
  return escape(text.substr(0, starts[head])) + "…" + escape(text.substr(starts[starts.size() - tail]));
}

std::string time_text(double us) {
  if (us >= 1e4) return fmt::format("{:.1f} ms", us * 1e-3);
  return us >= 100 ? fmt::format("{:.0f} µs", us) : fmt::format("{:.1f} µs", us);
}

std::string text_of(const Json& json, const char* key) {
  const Json* found = member(json, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}
double number_of(const Json& json, const char* key, double fallback) {
  const Json* found = member(json, key);
  return found != nullptr && found->is_number() ? found->get<double>() : fallback;
}

class Drawing {
 public:
  explicit Drawing(const Json& report) : report_(report), layers_(list_or_empty(report, "layers")) {
    for (const Json& binding : list_or_empty(report, "bindings"))
      (text_of(binding, "Kind") == "input" ? inputs_ : outputs_).push_back(text_of(binding, "Name"));
    for (const Json& node : list_or_empty(report, "nodes")) ops_.emplace(text_of(node, "Name"), text_of(node, "Op"));
    for (const Json& layer : layers_) total_us_ += number_of(layer, "TimeUs", 0);
  }

  std::string draw(bool alone) {
    for (size_t i = 0; i < inputs_.size(); ++i) boxes_.push_back({kWidth * 0.7, kIoHeight, {}});
    for (const Json& layer : layers_)
      boxes_.push_back({is_small(layer) ? kWidth * 0.72 : kWidth, height_of(layer), {}});
    for (size_t o = 0; o < outputs_.size(); ++o) boxes_.push_back({kWidth * 0.7, kIoHeight, {}});
    for (const Json& e : list_or_empty(report_, "edges")) {
      if (!e.is_array() || e.size() < 3 || !e[0].is_number_integer() || !e[1].is_number_integer()) continue;
      edges_.push_back({box_of(e[0].get<int>()), box_of(e[1].get<int>()), {}});
      names_.push_back(e[2].is_string() ? e[2].get<std::string>() : "");
    }
    const Layout2D size = lay_out(&boxes_, &edges_);
    const double width = size.width + 2 * kMargin, height = size.height + 2 * kMargin;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\" aria-label=\"Steps of {2} and the nodes in them\"><style>{3}{4}</style>"
        "<g transform=\"translate({5} {5})\">",
        width, height, escape(text_of(report_, "network")), alone ? kStyle : "", kShapes, kMargin);
    for (size_t k = 0; k < edges_.size(); ++k) svg += edge(edges_[k], names_[k]);
    for (size_t i = 0; i < inputs_.size(); ++i) svg += io(boxes_[i], inputs_[i]);
    for (size_t s = 0; s < layers_.size(); ++s) svg += region(boxes_[inputs_.size() + s], layers_[s], s);
    for (size_t o = 0; o < outputs_.size(); ++o) svg += io(boxes_[inputs_.size() + layers_.size() + o], outputs_[o]);
    return svg + "</g></svg>\n";
  }

 private:
  int box_of(int end) const {
    const auto inputs = static_cast<int>(inputs_.size());
    return end < 0 ? -1 - end : inputs + end;
  }
  static bool is_small(const Json& layer) { return list_or_empty(layer, "Nodes").empty(); }
  static size_t rows_of(const Json& layer) { return std::min(kMostRows, list_or_empty(layer, "Nodes").size()); }
  static double height_of(const Json& layer) {
    return is_small(layer) ? kSmallHeight : kHead + static_cast<double>(rows_of(layer)) * kRow + kPadding;
  }

  static std::string edge(const LayoutEdge& e, const std::string& name) {
    if (e.points.size() < 2) return "";
    std::string path = fmt::format("M{:.1f} {:.1f}", e.points[0].x, e.points[0].y);
    for (size_t i = 1; i < e.points.size(); ++i) {
      const Point &a = e.points[i - 1], &b = e.points[i];
      const double end = i + 1 == e.points.size() ? b.y - 5 : b.y;
      if (std::abs(a.x - b.x) < 0.5)
        path += fmt::format("L{:.1f} {:.1f}", b.x, end);
      else
        path += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, (a.y + end) / 2, b.x, (a.y + end) / 2,
                            b.x, end);
    }
    const Point& tip = e.points.back();
    return fmt::format(
        "<path class=\"edge\" d=\"{}\"><title>{}</title></path><path class=\"tip\" d=\"M{:.1f} {:.1f}l-4 -7h8z\"/>",
        path, escape(name), tip.x, tip.y);
  }

  static std::string io(const LayoutBox& box, const std::string& name) {
    return fmt::format(
        "<g class=\"io\" transform=\"translate({:.1f} {:.1f})\"><title>{}</title><rect class=\"box\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" rx=\"15\"/><text x=\"{:.0f}\" y=\"19\" text-anchor=\"middle\">{}</text></g>",
        box.center.x - box.width / 2, box.center.y - box.height / 2, escape(name), box.width, box.height, box.width / 2,
        shortened(name, 24));
  }

  std::string region(const LayoutBox& box, const Json& layer, size_t number) const {
    const std::string name = text_of(layer, "Name"), type = text_of(layer, "LayerType");
    const bool small = is_small(layer);
    const double us = number_of(layer, "TimeUs", -1);
    std::string g = fmt::format(
        "<g class=\"region{} t-{}\" data-step=\"{}\" tabindex=\"0\" transform=\"translate({:.1f} "
        "{:.1f})\"><title>{}\n{}"
        "</title><rect class=\"box\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"7\"/><rect class=\"bar\" width=\"4\" "
        "height=\"{:.0f}\" rx=\"2\"/>",
        small ? " small" : "", escape(type), number, box.center.x - box.width / 2, box.center.y - box.height / 2,
        escape(name), escape(text_of(layer, "TacticName")), box.width, box.height, box.height);
    if (small) {  // "reformat x (linear to channels_last)": the box has room for what changes
      const size_t at = name.rfind('(');
      const bool plain = at == std::string::npos || !name.ends_with(')');
      return g + fmt::format("<text class=\"sub\" x=\"13\" y=\"19\">{}</text></g>",
                             shortened(plain ? name : name.substr(at + 1, name.size() - at - 2), 32));
    }
    g += fmt::format("<text class=\"title\" x=\"13\" y=\"17\">{}</text><text class=\"sub\" x=\"13\" y=\"32\">{}</text>",
                     shortened(name, kTitleLetters),
                     shortened(type + " · " + text_of(layer, "TacticName"), us >= 0 ? kSubLetters : kSubLetters + 9));
    if (us >= 0) {
      const double share = total_us_ > 0 ? us / total_us_ : 0;
      g += fmt::format("<text class=\"time\" x=\"{:.0f}\" y=\"32\" text-anchor=\"end\">{}</text>", box.width - 8,
                       time_text(us));
      if (share >= 0.01)
        g += fmt::format("<rect class=\"heat\" x=\"{:.1f}\" y=\"36\" width=\"{:.1f}\" height=\"2\" rx=\"1\"/>",
                         box.width - 8 - std::min(1.0, share * 4) * 60, std::min(1.0, share * 4) * 60);
    }
    const Json& nodes = list_or_empty(layer, "Nodes");
    for (size_t r = 0; r < rows_of(layer); ++r) {
      const double y = kHead + 2 + static_cast<double>(r) * kRow;
      const bool rest = r + 1 == kMostRows && nodes.size() > kMostRows;
      const std::string node = nodes[r].is_string() ? nodes[r].get<std::string>() : "";
      const auto op = ops_.find(node);
      const std::string kind = op == ops_.end() ? "" : op->second;
      g += fmt::format("<g class=\"chip\"><rect x=\"12\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"16\" rx=\"4\"/>", y,
                       box.width - 20);
      if (rest)
        g += fmt::format("<text class=\"node\" x=\"18\" y=\"{:.0f}\">and {} more</text></g>", y + 11.5,
                         nodes.size() - r);
      else
        g += fmt::format("<text class=\"node\" x=\"18\" y=\"{:.0f}\"><tspan class=\"op\">{}</tspan> {}</text></g>",
                         y + 11.5, escape(kind),
                         shortened(node, kind.size() < kRowLetters ? kRowLetters - kind.size() : 4));
    }
    return g + "</g>";
  }

  const Json& report_;
  const Json& layers_;
  std::vector<std::string> inputs_, outputs_, names_;
  std::map<std::string, std::string> ops_;
  double total_us_ = 0;
  std::vector<LayoutBox> boxes_;
  std::vector<LayoutEdge> edges_;
};

}  // namespace

std::string graph_svg(const Json& report, bool alone) { return Drawing(report).draw(alone); }

}  // namespace wootz

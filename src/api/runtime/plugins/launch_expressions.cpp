#include "api/runtime/plugins/launch_expressions.h"

#include <algorithm>
#include <optional>

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

constexpr size_t kMostNodes = 4096;

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// By DimensionOperation. None: it cannot be computed.
using Operation = std::optional<int64_t> (*)(int64_t a, int64_t b);
template <bool (*Overflows)(int64_t, int64_t, int64_t*)>
std::optional<int64_t> checked(int64_t a, int64_t b) {
  int64_t result = 0;
  return Overflows(a, b, &result) ? std::nullopt : std::optional(result);
}
bool sum(int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); }
bool product(int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); }
bool difference(int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); }
bool divides(int64_t a, int64_t b) { return b != 0 && !(a == INT64_MIN && b == -1); }
constexpr Operation kOperations[] = {
    checked<sum>,
    checked<product>,
    [](int64_t a, int64_t b) -> std::optional<int64_t> { return std::max(a, b); },
    [](int64_t a, int64_t b) -> std::optional<int64_t> { return std::min(a, b); },
    checked<difference>,
    [](int64_t a, int64_t b) -> std::optional<int64_t> { return a == b ? 1 : 0; },
    [](int64_t a, int64_t b) -> std::optional<int64_t> { return a < b ? 1 : 0; },
    [](int64_t a, int64_t b) { return divides(a, b) ? std::optional(floor_of(a, b)) : std::nullopt; },
    [](int64_t a, int64_t b) {
      return divides(a, b) ? std::optional(floor_of(a, b) + (a % b != 0 ? 1 : 0)) : std::nullopt;
    },
};
static_assert(static_cast<int32_t>(std::size(kOperations)) == EnumMax<DimensionOperation>());

}  // namespace

int32_t LaunchExpressions::add(const Node& node) {
  nodes_.push_back(node);
  return static_cast<int32_t>(nodes_.size() - 1);
}

Result<std::vector<int64_t>> LaunchExpressions::values(const PluginTensors& tensors) const {
  std::vector<int64_t> values;
  for (const Node& node : nodes_) {
    if (node.op == kConstant) {
      values.push_back(node.a);
    } else if (node.op == kExtent) {
      const auto input = static_cast<size_t>(node.a);
      if (input >= tensors.inputs.size() || node.b >= tensors.inputs[input].dims.rank())
        return invalid_argument("the kernel's launch depends on axis {} of input {}, which there is not", node.b,
                                node.a);
      values.push_back(tensors.inputs[input].dims[static_cast<int>(node.b)]);
    } else {
      const std::optional<int64_t> value =
          kOperations[node.op](values[static_cast<size_t>(node.a)], values[static_cast<size_t>(node.b)]);
      if (!value) return invalid_argument("the kernel's launch divides by zero, or overflows, at these extents");
      values.push_back(*value);
    }
  }
  return values;
}

OrderedJson LaunchExpressions::to_json() const {
  OrderedJson json = OrderedJson::array();
  for (const Node& node : nodes_) json.push_back(OrderedJson::array({node.op, node.a, node.b}));
  return json;
}

Result<LaunchExpressions> LaunchExpressions::from_json(const OrderedJson& json) {
  LaunchExpressions made;
  if (!json.is_array() || json.size() > kMostNodes) return corrupt("a kernel's launch that is no list of expressions");
  for (const OrderedJson& each : json) {
    const bool three = each.is_array() && each.size() == 3 &&
                       std::all_of(each.begin(), each.end(), [](const auto& v) { return v.is_number_integer(); });
    if (!three) return corrupt("a kernel's launch with an expression of another form");
    const Node node{each[0].get<int32_t>(), each[1].get<int64_t>(), each[2].get<int64_t>()};
    const auto before = [&](int64_t n) { return n >= 0 && n < static_cast<int64_t>(made.nodes_.size()); };
    const bool sound = node.op == kConstant || (node.op == kExtent && node.a >= 0 && node.b >= 0) ||
                       (node.op >= 0 && node.op < EnumMax<DimensionOperation>() && before(node.a) && before(node.b));
    if (!sound) return corrupt("a kernel's launch with an expression of nothing before it");
    made.add(node);
  }
  return made;
}

const IDimensionExpr* LaunchBuilder::made(const LaunchExpressions::Node& node, bool known, int64_t value) {
  if (expressions_.size() >= kMostNodes) return refuse("more expressions than there may be");
  return &made_.emplace_back(expressions_.add(node), known, value);
}

const IDimensionExpr* LaunchBuilder::refuse(const char* why) {
  if (refused_.ok()) refused_ = invalid_argument("IExprBuilder: {}", why);
  return nullptr;
}

const LaunchBuilder::Expression* LaunchBuilder::own(const IDimensionExpr* expression) const {
  const auto found = std::find_if(made_.begin(), made_.end(), [&](const Expression& e) { return &e == expression; });
  return found == made_.end() ? nullptr : &*found;
}

int32_t LaunchBuilder::number_of(const IDimensionExpr* expression) const {
  const Expression* const ours = own(expression);
  return ours == nullptr ? -1 : ours->number;
}

const IDimensionExpr* LaunchBuilder::constant(int64_t value) noexcept {
  try {
    return made({LaunchExpressions::kConstant, value, 0}, true, value);
  } catch (...) {
    return nullptr;
  }
}

const IDimensionExpr* LaunchBuilder::operation(DimensionOperation op, const IDimensionExpr& first,
                                               const IDimensionExpr& second) noexcept {
  try {
    const auto number = static_cast<int32_t>(op);
    const Expression *const a = own(&first), *const b = own(&second);
    if (number < 0 || number >= EnumMax<DimensionOperation>()) return refuse("an operation that there is not");
    if (a == nullptr || b == nullptr) return refuse("an expression that this builder did not make");
    std::optional<int64_t> value;
    if (a->isConstant() && b->isConstant()) value = kOperations[number](a->getConstantValue(), b->getConstantValue());
    return made({number, a->number, b->number}, value.has_value(), value.value_or(0));
  } catch (...) {
    return nullptr;
  }
}

const IDimensionExpr* LaunchBuilder::declareSizeTensor(int32_t, const IDimensionExpr&, const IDimensionExpr&) {
  return refuse("a launch has no results of its own");
}

std::vector<DimsExprs> LaunchBuilder::extents(const std::vector<PluginTensor>& inputs) {
  std::vector<DimsExprs> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    DimsExprs& exprs = all.emplace_back();
    exprs.nbDims = inputs[i].dims.rank();
    for (int a = 0; a < inputs[i].dims.rank(); ++a) {
      const int64_t extent = inputs[i].dims[a];
      exprs.d[a] = made({LaunchExpressions::kExtent, static_cast<int64_t>(i), a}, extent >= 0, extent);
    }
  }
  return all;
}

}  // namespace wootz::api

#include "stock/layer.h"

#include <algorithm>

namespace wootz::stock {
namespace {

const HostTensor* numbers_at(const Fields& fields, std::string_view name) {
  const FieldValue* const value = fields.find(name);
  return value == nullptr ? nullptr : std::get_if<HostTensor>(value);
}

}  // namespace

int64_t Layer::integer(std::string_view name) const {
  const std::vector<int64_t> list = integers(name);
  return list.empty() ? 0 : list[0];
}

double Layer::number(std::string_view name) const {
  const std::vector<double> list = numbers(name);
  return list.empty() ? 0 : list[0];
}

std::vector<int64_t> Layer::integers(std::string_view name) const {
  std::vector<int64_t> list;
  if (const HostTensor* t = numbers_at(fields_, name))
    for (int64_t i = 0; i < t->volume(); ++i) list.push_back(t->get_i64(i));
  return list;
}

std::vector<double> Layer::numbers(std::string_view name) const {
  std::vector<double> list;
  if (const HostTensor* t = numbers_at(fields_, name))
    for (int64_t i = 0; i < t->volume(); ++i)
      list.push_back(is_float(t->dtype()) ? t->get_f64(i) : static_cast<double>(t->get_i64(i)));
  return list;
}

std::string Layer::text(std::string_view name) const {
  const FieldValue* const value = fields_.find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

int64_t Layer::count(std::string_view name) const {
  const HostTensor* const t = numbers_at(fields_, name);
  return t == nullptr ? 0 : t->volume();
}

Value* Layer::weights(std::string_view name, const Dims& dims, DType type) {
  const HostTensor* const t = numbers_at(fields_, name);
  if (t == nullptr || t->volume() != dims.volume()) {
    b.refuse(invalid_argument("field '{}' has {} values; {} are needed, for extents {}", name,
                              t == nullptr ? 0 : t->volume(), dims.volume(), dims.to_string()));
    return nullptr;
  }
  if (t->dtype() == type) return b.constant(t->reshaped(dims));
  Result<HostTensor> made = HostTensor::allocate(type, dims);
  if (!made.ok()) {
    b.refuse(made.status());
    return nullptr;
  }
  for (int64_t i = 0; i < t->volume(); ++i) made->set_f64(i, t->get_f64(i));
  return b.constant(std::move(made).value());
}

Status Layer::need(size_t input, std::initializer_list<int> ranks, bool floating) {
  if (!has(input)) return fail("input {} is missing", input);
  const int rank = in(input)->rank();
  std::string wanted;
  for (const int r : ranks) wanted += (wanted.empty() ? "" : " or ") + std::to_string(r);
  if (ranks.size() != 0 && std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
    return fail("input {} is {}, which has {} dimensions; it takes {}", input, shape_to_string(shape(input)), rank,
                wanted);
  if (floating && !is_float(in(input)->dtype()))
    return fail("input {} is {}; it takes a float type", input, dtype_name(in(input)->dtype()));
  return {};
}

Result<int64_t> Layer::fixed(size_t input, size_t axis) const {
  const Dim& d = shape(input)[axis];
  if (d.is_const()) return d.value();
  return unsupported("extent {} of input {} ({}) is open until run time; the plugin must know it when it is built",
                     axis, input, shape_to_string(shape(input)));
}

Status Layer::bounded(const char* what, std::initializer_list<int64_t> factors) const {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (factor < 1) return fail("{} is {}; it must be 1 or more", what, factor);
    if (factor > kMostMade / product)
      return Status(Code::kResourceExhausted, fmt::format("{}: more than {} in all", what, kMostMade));
    product *= factor;
  }
  return {};
}

Value* clip(GraphBuilder& b, Value* x, double low, double high) {
  return b.op("Clip", {x}, {{"min", low}, {"max", high}});
}

Value* where(GraphBuilder& b, Value* condition, Value* yes, Value* no) { return b.op("Where", {condition, yes, no}); }

Value* expand_to(GraphBuilder& b, Value* x, std::vector<Value*> extents) {
  return b.op("Expand", {x, b.concat(std::move(extents), 0)});
}

Value* columns(GraphBuilder& b, Value* x, int64_t first, int64_t last) { return b.slice(x, -1, first, last); }

Value* rows_of(GraphBuilder& b, Value* x, Value* index) {
  return b.op("GatherND", {x, b.unsqueeze(index, {-1})}, {{"batch_dims", int64_t{1}}});
}

std::pair<Value*, Value*> largest(GraphBuilder& b, Value* x, int64_t count) {
  Node* const node =
      b.node("TopK", {x}, {{"axis", int64_t{-1}}, {"largest", int64_t{1}}, {"sorted", int64_t{1}}, {"k", count}}, 2);
  if (node == nullptr) return {nullptr, nullptr};
  return {node->output(0), node->output(1)};
}

Value* pad_end(GraphBuilder& b, Value* x, int64_t axis, int64_t count, double value) {
  if (b.failed() || count == 0) return x;
  const auto rank = static_cast<size_t>(x->rank());
  std::vector<int64_t> pads(2 * rank, 0);
  pads[rank + static_cast<size_t>(axis < 0 ? axis + x->rank() : axis)] = count;
  return b.op("Pad", {x}, {{"pads", std::move(pads)}, {"mode", std::string("constant")}, {"value", value}});
}

Value* floats(GraphBuilder& b, const std::vector<double>& values, const Dims& dims) {
  const std::vector<float> narrow(values.begin(), values.end());
  if (dims.volume() != static_cast<int64_t>(values.size())) {
    b.refuse(internal_error("{} values for extents {}", values.size(), dims.to_string()));
    return nullptr;
  }
  return b.constant(HostTensor::from<float>(std::span<const float>(narrow), dims));
}

Value* count_up(GraphBuilder& b, Value* x, int64_t axis) {
  if (b.failed()) return nullptr;
  const Dim& extent = x->shape()[static_cast<size_t>(axis)];
  constexpr int64_t kMostListed = 4096;  // more are made where they are needed
  if (extent.is_const() && extent.value() <= kMostListed) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < extent.value(); ++i) all.push_back(i);
    return b.ints(all);
  }
  return b.op("Range", {b.scalar(DType::kI64, 0), b.as_scalar(b.extent(x, axis)), b.scalar(DType::kI64, 1)});
}

}  // namespace wootz::stock

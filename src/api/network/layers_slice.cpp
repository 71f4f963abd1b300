// Slice, in all its modes.
#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

enum Input : size_t { kStart = 1, kSize = 2, kStride = 3, kFill = 4, kAxes = 5 };

constexpr int64_t kMostPositions = int64_t{1} << 26;

std::optional<std::vector<Dim>> known_values(const Value* v) {
  if (v == nullptr) return std::nullopt;
  if (v->shape_values()) return *v->shape_values();
  if (!v->is_constant() || !is_integer(v->dtype())) return std::nullopt;
  std::vector<Dim> values;
  for (int64_t i = 0; i < v->constant().volume(); ++i) values.emplace_back(v->constant().get_i64(i));
  return values;
}

std::optional<std::vector<int64_t>> as_ints(const std::optional<std::vector<Dim>>& dims) {
  if (!dims) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& d : *dims) {
    if (!d.is_const()) return std::nullopt;
    values.push_back(d.value());
  }
  return values;
}

class SliceLayer final : public LayerBase<ISliceLayer> {
 public:
  SliceLayer(NetworkImpl& network, const ApiDims& start, const ApiDims& size, const ApiDims& stride)
      : LayerBase(network, LayerType::kSLICE, "Slice"), start_(start), size_(size), stride_(stride) {
    most_inputs = 6;
  }
  WOOTZ_DIMS_SETTING(Start, start_)
  WOOTZ_DIMS_SETTING(Size, size_)
  WOOTZ_DIMS_SETTING(Stride, stride_)
  WOOTZ_DIMS_SETTING(Axes, axes_)
  void setMode(SampleMode mode) noexcept override {
    take_enum(*this, "ISliceLayer::setMode", "sample mode", mode, &mode_);
  }
  SampleMode getMode() const noexcept override { return mode_; }

  Status emit(Emit& e) override {
    const Value& x = *e.in(0);
    const auto rank = static_cast<size_t>(x.rank());
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, sliced_axes(e, rank));
    const auto start = as_ints(setting(e, kStart, start_)), size = as_ints(setting(e, kSize, size_)),
               stride = as_ints(setting(e, kStride, stride_));
    for (const auto& [list, what] :
         {std::pair(&start, "start"), std::pair(&size, "size"), std::pair(&stride, "stride")})
      if (*list && (*list)->size() != axes.size())
        return e.fail("{} has {} entries for {} axes of input {}", what, (*list)->size(), axes.size(),
                      shape_to_string(x.shape()));
    if (!stride) return e.fail("the stride must be known while building");
    if (mode_ == SampleMode::kSTRICT_BOUNDS) return strict(e, axes, start, size, *stride);
    if (mode_ == SampleMode::kFILL) return filled(e, axes, start, size, *stride);
    return sampled(e, axes, start, size, *stride);
  }

 private:
  using Known = std::optional<std::vector<int64_t>>;

  // A setting as expressions: its input when there is one, otherwise what was set.
  std::optional<std::vector<Dim>> setting(Emit& e, size_t input, const ApiDims& dims) const {
    if (e.has(input)) return known_values(e.in(input));
    std::vector<Dim> values;
    for (int64_t v : to_vector(dims)) values.emplace_back(v);
    return values;
  }
  // A setting as a value of the graph, i64.
  Value* as_value(Emit& e, size_t input, const ApiDims& dims) const {
    return e.has(input) ? e.cast(e.in(input), DType::kI64) : e.ints(to_vector(dims));
  }
  Result<std::vector<int64_t>> sliced_axes(Emit& e, size_t rank) const {
    std::vector<int64_t> axes;
    if (e.has(kAxes)) {
      const Known given = as_ints(known_values(e.in(kAxes)));
      if (!given) return invalid_argument("the axes, input 5, must be known while building");
      axes = *given;
    } else {
      axes = to_vector(axes_);
    }
    if (axes.empty())
      for (size_t a = 0; a < rank; ++a) axes.push_back(static_cast<int64_t>(a));
    for (int64_t& a : axes) {
      WOOTZ_ASSIGN_OR_RETURN(a, normalize_axis(a, static_cast<int>(rank)));
    }
    return axes;
  }

  // Every position is inside. A stride of 0 repeats one element.
  Status strict(Emit& e, const std::vector<int64_t>& axes, const Known& start, const Known& size,
                const std::vector<int64_t>& stride) {
    Value* x = e.in(0);
    if (start && size) {
      std::vector<int64_t> ends(axes.size()), steps(axes.size()), extents(static_cast<size_t>(x->rank()), 1);
      bool repeats = false;
      for (size_t i = 0; i < axes.size(); ++i) {
        const Dim& extent = x->shape()[static_cast<size_t>(axes[i])];
        const int64_t last = (*start)[i] + std::max<int64_t>(0, (*size)[i] - 1) * stride[i];
        const int64_t low = std::min((*start)[i], last), high = std::max((*start)[i], last);
        if ((*size)[i] < 0 || low < 0 || ((*size)[i] > 0 && extent.is_const() && high >= extent.value()))
          return e.fail("positions {} to {} along dimension {} of input {}", (*start)[i], last, axes[i],
                        shape_to_string(x->shape()));
        const bool repeat = stride[i] == 0 && (*size)[i] > 1;
        repeats = repeats || repeat;
        if (repeat) extents[static_cast<size_t>(axes[i])] = (*size)[i];
        steps[i] = stride[i] == 0 ? 1 : stride[i];
        ends[i] = (*start)[i] + (repeat ? 1 : (*size)[i]) * steps[i];
        if (steps[i] < 0 && ends[i] < 0) ends[i] = INT64_MIN / 2;  // in front of the first; -1 would be the last
      }
      Value* y = e.op("Slice", {x}, {{"starts", *start}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
      e.out(0, repeats ? e.op("Expand", {y, e.ints(extents)}) : y);
      return e.status();
    }
    // Unknown starts or sizes: ends are computed in the graph, and strides of 0 become an expansion.
    std::vector<int64_t> steps = stride, moves = stride;
    bool repeats = false;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] < 0) return e.fail("a negative stride needs start and size known while building");
      if (steps[i] != 0) continue;
      repeats = true;
      steps[i] = 1;
      moves[i] = 0;
    }
    Value *starts = as_value(e, kStart, start_), *sizes = as_value(e, kSize, size_);
    std::vector<int64_t> single(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) single[i] = stride[i] == 0;
    Value* reach = e.op("Mul", {sizes, e.ints(moves)});
    Value* ends = e.op("Add", {starts, repeats ? e.op("Add", {reach, e.ints(single)}) : reach});
    Value* y = e.op("Slice", {x, starts, ends}, {{"axes", axes}, {"steps", steps}});
    if (repeats) {
      if (axes.size() != static_cast<size_t>(x->rank()))
        return e.fail("a stride of 0 with unknown sizes needs all axes to be given");
      std::vector<int64_t> keep(steps.size());
      for (size_t i = 0; i < steps.size(); ++i) keep[i] = stride[i] != 0;
      // The size where elements repeat, 1 (which gives way) elsewhere.
      Value* extents =
          e.op("Where", {e.cast(e.ints(keep), DType::kBool), e.ints(std::vector<int64_t>(keep.size(), 1)), sizes});
      y = e.op("Expand", {y, extents});
    }
    e.out(0, y);
    return e.status();
  }

  // Outside is a constant: what is inside is cut out, and padded.
  Status filled(Emit& e, const std::vector<int64_t>& axes, const Known& start, const Known& size,
                const std::vector<int64_t>& stride) {
    Value* x = e.in(0);
    const auto rank = static_cast<size_t>(x->rank());
    Value* fill = e.has(kFill) ? e.in(kFill) : nullptr;
    const bool unit = std::all_of(stride.begin(), stride.end(), [](int64_t s) { return s == 1; });
    if (start && size) {
      std::vector<int64_t> starts, ends, steps, pads(2 * rank, 0);
      for (size_t i = 0; i < axes.size(); ++i) {
        const auto a = static_cast<size_t>(axes[i]);
        const Dim& extent = x->shape()[a];
        if (!extent.is_const()) return dynamic_fill(e, axes, unit, fill);
        // Of positions start + k * stride, k in [first, last) are inside.
        const int64_t n = extent.value(), s = stride[i], from = (*start)[i], count = (*size)[i];
        if (count < 0) return e.fail("size {}", count);
        int64_t first = 0, last = 0;
        if (s == 0) {
          last = from >= 0 && from < n ? count : 0;
        } else {
          const auto floor_div = [](int64_t p, int64_t q) { return p / q - (p % q != 0 && (p < 0) != (q < 0)); };
          const int64_t low = s > 0 ? -floor_div(from, s) : -floor_div(n - 1 - from, -s);  // first k that is inside
          const int64_t high = s > 0 ? floor_div(n - 1 - from, s) : floor_div(from, -s);
          first = std::max<int64_t>(0, low);
          last = std::min(count, high + 1);
        }
        if (first >= last) {  // nothing inside: an empty cut, all padding
          first = last = 0;
          starts.push_back(0);
          ends.push_back(0);
          steps.push_back(1);
        } else {
          starts.push_back(from + first * s);
          steps.push_back(s == 0 ? 1 : s);
          ends.push_back(starts.back() + (s == 0 ? 1 : (last - first) * s));
          if (steps.back() < 0 && ends.back() < 0) ends.back() = INT64_MIN / 2;
          if (s == 0 && last - first > 1) return e.fail("a stride of 0 with SampleMode::kFILL");
        }
        pads[a] = first;
        pads[a + rank] = count - last;
      }
      Value* y = e.op("Slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
      e.out(0, pad(e, y, e.ints(pads), fill));
      return e.status();
    }
    return dynamic_fill(e, axes, unit, fill);
  }

  // With strides of 1 it is padding by -start before and start + size - extent after, negative amounts cutting off.
  Status dynamic_fill(Emit& e, const std::vector<int64_t>& axes, bool unit, Value* fill) {
    Value* x = e.in(0);
    if (!unit) return e.fail("SampleMode::kFILL with strides other than 1 needs everything known while building");
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes.size() != static_cast<size_t>(x->rank()) || axes[i] != static_cast<int64_t>(i))
        return e.fail("SampleMode::kFILL with open extents needs all axes, in order");
    Value *starts = as_value(e, kStart, start_), *sizes = as_value(e, kSize, size_);
    Value* before = e.op("Neg", {starts});
    Value* after = e.op("Sub", {e.op("Add", {starts, sizes}), e.op("Shape", {x})});
    e.out(0, pad(e, x, e.op("Concat", {before, after}, {{"axis", int64_t{0}}}), fill));
    return e.status();
  }

  static Value* pad(Emit& e, Value* x, Value* pads, Value* fill) {
    std::vector<Value*> inputs{x, pads};
    if (fill != nullptr) inputs.push_back(fill);
    return e.op("Pad", std::move(inputs), {{"mode", std::string("constant")}});
  }

  // Outside is the tensor again, its border or its mirror image: positions worked out here, gathered axis by axis.
  Status sampled(Emit& e, const std::vector<int64_t>& axes, const Known& start, const Known& size,
                 const std::vector<int64_t>& stride) {
    if (!start || !size) return e.fail("this sample mode needs start and size known while building");
    Value* y = e.in(0);
    for (size_t i = 0; i < axes.size() && !e.failed(); ++i) {
      const Dim& extent = e.in(0)->shape()[static_cast<size_t>(axes[i])];
      if (!extent.is_const() || extent.value() < 1)
        return e.fail("this sample mode needs the extent of dimension {} of {} to be known", axes[i],
                      shape_to_string(e.in(0)->shape()));
      const int64_t n = extent.value();
      if ((*size)[i] < 0 || (*size)[i] > kMostPositions) return e.fail("size {}", (*size)[i]);
      std::vector<int64_t> positions;
      bool whole = (*size)[i] == n;
      for (int64_t k = 0; k < (*size)[i]; ++k) {
        int64_t at = (*start)[i] + k * stride[i];
        if (mode_ == SampleMode::kCLAMP) {
          at = std::clamp<int64_t>(at, 0, n - 1);
        } else if (mode_ == SampleMode::kWRAP) {
          at = ((at % n) + n) % n;
        } else {  // mirrored, the border not repeated: period 2 (n - 1)
          const int64_t period = std::max<int64_t>(1, 2 * (n - 1));
          at = ((at % period) + period) % period;
          at = n == 1 ? 0 : std::min(at, period - at);
        }
        whole = whole && at == k;
        positions.push_back(at);
      }
      if (!whole) y = e.op("Gather", {y, e.ints(positions)}, {{"axis", axes[i]}});
    }
    e.out(0, y);
    return e.status();
  }

  ApiDims start_, size_, stride_, axes_{};
  SampleMode mode_ = SampleMode::kSTRICT_BOUNDS;
};

}  // namespace

ISliceLayer* NetworkImpl::addSlice(ITensor& input, const ApiDims& start, const ApiDims& size,
                                   const ApiDims& stride) noexcept {
  return add_or_null<ISliceLayer>(*this, "INetworkDefinition::addSlice", [&]() -> Result<ISliceLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    return add_layer<SliceLayer>(std::move(inputs), 1, start, size, stride);
  });
}

}  // namespace wootz::api

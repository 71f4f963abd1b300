#include "backends/cpu/chain/kernel.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "backend/providers.h"
#include "backends/cpu/chain/rows.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/native_provider.h"
#include "backends/cpu/onednn/provider.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr size_t kMostOperands = 32;  // of one part: calls gather them on the stack
constexpr std::string_view kWhole = "whole", kRows = "rows=";

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

using Parts = std::array<std::unique_ptr<Kernel>, 2>;
using Calls = std::array<std::unique_ptr<Call>, 2>;

Result<std::unique_ptr<Kernel>> create_part(const Tactic& tactic, const Problem& problem, const Limits& limits) {
  const Provider* const provider = provider_named(tactic.provider, part_providers());
  if (provider == nullptr) return invalid_argument("chain: no provider '{}'", tactic.provider);
  return provider->create(tactic, problem, limits);
}

// Where operands of the chain go: part 0 has its own from 0 on, part 1 after what it reads from part 0.
struct Operands {
  size_t first = 0;  // operands of part 0
  size_t all = 0;    // of both, the middle not counted
};

// The two steps one after the other.
class WholeCall final : public Call {
 public:
  WholeCall(Calls calls, Operands operands, size_t middle_bytes)
      : calls_(std::move(calls)), operands_(operands), middle_(aligned(middle_bytes)) {}
  size_t workspace() const override { return middle_ + std::max(calls_[0]->workspace(), calls_[1]->workspace()) + 64; }
  Status run(const RunArgs& args) const override {
    auto* middle = static_cast<std::byte*>(args.workspace);
    void* const scratch = middle + middle_;
    void* const made = middle;
    WOOTZ_RETURN_IF_ERROR(calls_[0]->run({args.inputs, &made, scratch, nullptr, args.stream}));
    std::array<const void*, kMostOperands> inputs;
    inputs[0] = middle;
    std::copy(args.inputs + operands_.first, args.inputs + operands_.all, inputs.begin() + 1);
    return calls_[1]->run({inputs.data(), args.outputs, scratch, nullptr, args.stream});
  }

 private:
  Calls calls_;
  Operands operands_;
  size_t middle_;
};

// How far an operand advances from image to image and from row to row, in bytes; 0: it is the same everywhere.
struct Advance {
  size_t image = 0, row = 0;
  size_t at(int64_t n, int64_t r) const { return static_cast<size_t>(n) * image + static_cast<size_t>(r) * row; }
};
Advance advance_of(const TensorDesc& desc, const Dims& dims) {
  Advance a;
  if (dims.rank() != 4) return a;
  const Dims strides = layout_strides(desc.layout, dims);
  const auto bytes = [&](size_t axis) { return static_cast<size_t>(strides[axis]) * dtype_bytes(desc.dtype, 1); };
  if (strides.size() == 4 && dims[0] > 1) a.image = bytes(0);
  if (strides.size() == 4 && dims[2] > 1) a.row = bytes(2);
  return a;
}

// Bands of rows: each thread computes the middle rows of a band into memory of its own and reads them at once.
class RowsCall final : public Call {
 public:
  struct Shape {
    Band band;
    Calls calls;
  };
  int64_t images = 1;
  std::vector<Band> bands;
  std::vector<size_t> shape_of;  // by band
  std::vector<Shape> shapes;
  std::array<std::vector<Advance>, 2> advance;  // of each operand of each part; of what part 0 makes nothing
  Advance result;
  Operands operands;
  size_t middle = 0;   // bytes of a band's middle rows
  size_t scratch = 0;  // of either part
  int slots = 1;

  size_t workspace() const override { return static_cast<size_t>(slots) * (middle + scratch) + 64; }
  Status run(const RunArgs& args) const override {
    std::array<Status, kMostSlots> failed;
    const auto total = images * static_cast<int64_t>(bands.size());
    parallel_slots(total, 1, slots, [&](int slot, int64_t begin, int64_t end) {
      const ParallelScope alone(1);
      auto* const own = static_cast<std::byte*>(args.workspace) + static_cast<size_t>(slot) * (middle + scratch);
      for (int64_t i = begin; i < end; ++i) {
        const auto image = i / static_cast<int64_t>(bands.size());
        Status status = run_band(args, image, static_cast<size_t>(i % static_cast<int64_t>(bands.size())), own);
        if (!status.ok()) {
          failed[static_cast<size_t>(slot)] = std::move(status);
          return;
        }
      }
    });
    for (int s = 0; s < slots; ++s)
      if (!failed[static_cast<size_t>(s)].ok()) return failed[static_cast<size_t>(s)];
    return {};
  }

  static constexpr int kMostSlots = 64;

 private:
  Status run_band(const RunArgs& args, int64_t image, size_t b, std::byte* own) const {
    const Band& band = bands[b];
    const Calls& calls = shapes[shape_of[b]].calls;
    std::array<const void*, kMostOperands> inputs;
    const auto at = [](const void* base, size_t offset) -> const void* {
      return base == nullptr ? nullptr : static_cast<const std::byte*>(base) + offset;
    };
    inputs[0] = at(args.inputs[0], advance[0][0].at(image, band.x.first));
    for (size_t i = 1; i < operands.first; ++i)
      inputs[i] = at(args.inputs[i], advance[0][i].at(image, band.middle.first));
    void* made = own;
    WOOTZ_RETURN_IF_ERROR(calls[0]->run({inputs.data(), &made, own + middle, nullptr, args.stream}));
    inputs[0] = own;
    for (size_t i = operands.first; i < operands.all; ++i)
      inputs[i - operands.first + 1] = at(args.inputs[i], advance[1][i - operands.first + 1].at(image, band.first));
    made = static_cast<std::byte*>(args.outputs[0]) + result.at(image, band.first);
    return calls[1]->run({inputs.data(), &made, own + middle, nullptr, args.stream});
  }
};

class ChainKernel final : public Kernel {
 public:
  ChainKernel(Problem problem, ChainParts parts, ChainPlan plan, Limits limits)
      : problem_(std::move(problem)), parts_(std::move(parts)), plan_(std::move(plan)), limits_(std::move(limits)) {
    operands_ = {parts_.first.inputs.size(), problem_.inputs.size()};
    alone_ = limits_;
    alone_.threads = 1;
  }

  // The kernels that pack: those of the whole, or of the first band at the problem's own extents.
  Status prepare() {
    if (operands_.first < 1) return invalid_argument("chain: no operand");
    if (plan_.rows == 0) {
      WOOTZ_ASSIGN_OR_RETURN(packing_, create(parts_, limits_));
      return {};
    }
    const Dims &middle = parts_.second.inputs[0].dims, &y = problem_.outputs[0].dims;
    const int64_t x_rows = pointwise() ? middle[2] : parts_.first.inputs[0].dims[2];
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<Band> bands, cut_rows(parts_, x_rows, middle[2], y[2], plan_.rows));
    if (bands.empty()) return unsupported("chain: nothing to compute");
    const ParallelScope scope(1);
    WOOTZ_ASSIGN_OR_RETURN(packing_, create(band_problem(parts_, bands[0]), alone_));
    return {};
  }

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    const int first = static_cast<int>(operands_.first);
    return input < first ? packing_[0]->pack(input, source) : packing_[1]->pack(input - first + 1, source);
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1 ||
        args.outputs[0].rank() != problem_.outputs[0].dims.rank())
      return invalid_argument("chain: bound with {} inputs and {} outputs, made for {} and 1", args.inputs.size(),
                              args.outputs.size(), problem_.inputs.size());
    for (size_t i = 0; i < args.inputs.size(); ++i)
      if (args.inputs[i].rank() != problem_.inputs[i].dims.rank())
        return invalid_argument("chain: bound to {} as operand {}", args.inputs[i].to_string(), i);
    WOOTZ_ASSIGN_OR_RETURN(const Dims middle, chain_middle(parts_.first, args.inputs.first(operands_.first)));
    if (middle.rank() != parts_.second.inputs[0].dims.rank())
      return invalid_argument("chain: {} in between", middle.to_string());
    if (plan_.rows == 0 || args.outputs[0].volume() == 0 || middle.volume() == 0) return bind_whole(args, middle);
    Result<std::unique_ptr<Call>> rows = bind_rows(args, middle);
    return rows.ok() ? std::move(rows) : bind_whole(args, middle);  // extents that cannot be cut so
  }

 private:
  Result<Parts> create(const ChainParts& parts, const Limits& limits) const {
    Parts made;
    WOOTZ_ASSIGN_OR_RETURN(made[0], create_part(plan_.first, parts.first, limits));
    WOOTZ_ASSIGN_OR_RETURN(made[1], create_part(plan_.second, parts.second, limits));
    return made;
  }

  Result<Calls> bind_parts(const Parts& kernels, const std::vector<Dims>& first, const std::vector<Dims>& second,
                           const Dims& middle, const Dims& result, const BindArgs& args) const {
    Calls calls;
    const size_t cut = operands_.first;
    const auto part_of = [&](const auto& list, bool after) {
      using Element = std::remove_cvref_t<decltype(list[0])>;
      std::vector<Element> taken;
      if (list.size() != operands_.all) return taken;
      if (after) taken.push_back({});
      const size_t begin = after ? cut : 0, end = after ? operands_.all : cut;
      for (size_t i = begin; i < end; ++i) taken.push_back(list[i]);
      return taken;
    };
    for (const bool after : {false, true}) {
      const auto constants = part_of(args.constants, after);
      const auto bytes = part_of(args.constant_bytes, after);
      WOOTZ_ASSIGN_OR_RETURN(
          calls[after],
          kernels[after]->bind({after ? second : first, {after ? &result : &middle, 1}, constants, bytes}));
    }
    return calls;
  }

  Result<std::unique_ptr<Call>> bind_whole(const BindArgs& args, const Dims& middle) const {
    Parts own;
    const Parts* kernels = &packing_;
    if (plan_.rows != 0) {
      WOOTZ_ASSIGN_OR_RETURN(own, create(parts_, limits_));
      kernels = &own;
    }
    const std::vector<Dims> first(args.inputs.begin(), args.inputs.begin() + static_cast<ptrdiff_t>(operands_.first));
    std::vector<Dims> second{middle};
    second.insert(second.end(), args.inputs.begin() + static_cast<ptrdiff_t>(operands_.first), args.inputs.end());
    WOOTZ_ASSIGN_OR_RETURN(Calls calls, bind_parts(*kernels, first, second, middle, args.outputs[0], args));
    const size_t bytes = layout_bytes(plan_.middle, parts_.first.outputs[0].dtype, middle);
    return std::unique_ptr<Call>(std::make_unique<WholeCall>(std::move(calls), operands_, bytes));
  }

  bool pointwise() const { return parts_.first.family() == Family::kPointwise; }

  // Extents of an operand as one band of one image sees it.
  static Dims cut(const TensorDesc& desc, Dims dims, int64_t rows) {
    if (dims.rank() != 4) return dims;
    if (!desc.constant && dims[0] > 1) dims[0] = 1;
    if (!desc.constant && dims[2] > 1) dims[2] = rows;
    return dims;
  }

  Result<std::unique_ptr<Call>> bind_rows(const BindArgs& args, const Dims& middle) const {
    const ParallelScope scope(1);
    const Dims& y = args.outputs[0];
    const int64_t x_rows = pointwise() ? middle[2] : args.inputs[0][2];
    auto call = std::make_unique<RowsCall>();
    call->images = y[0];
    call->operands = operands_;
    WOOTZ_ASSIGN_OR_RETURN(call->bands, cut_rows(parts_, x_rows, middle[2], y[2], plan_.rows));
    const auto with_rows = [](Dims d, int64_t rows) {
      d[0] = 1;
      d[2] = rows;
      return d;
    };
    for (const Band& band : call->bands) {
      size_t s = 0;
      while (s < call->shapes.size() && !call->shapes[s].band.same_shape(band)) ++s;
      call->shape_of.push_back(s);
      if (s < call->shapes.size()) continue;
      WOOTZ_ASSIGN_OR_RETURN(const Parts kernels, create(band_problem(parts_, band), alone_));
      std::vector<Dims> first, second{with_rows(middle, band.middle.count)};
      if (!pointwise()) first.push_back(with_rows(args.inputs[0], band.x.count));
      for (size_t i = first.size(); i < operands_.all; ++i) {
        const bool after = i >= operands_.first;
        (after ? second : first)
            .push_back(cut(problem_.inputs[i], args.inputs[i], after ? band.count : band.middle.count));
      }
      WOOTZ_ASSIGN_OR_RETURN(Calls calls,
                             bind_parts(kernels, first, second, second[0], with_rows(y, band.count), args));
      call->scratch = std::max({call->scratch, aligned(calls[0]->workspace()), aligned(calls[1]->workspace())});
      call->middle = std::max(call->middle,
                              aligned(layout_bytes(Layout::kChannelsLast, parts_.first.outputs[0].dtype, second[0])));
      call->shapes.push_back({band, std::move(calls)});
    }
    for (size_t i = 0; i < operands_.all; ++i) {
      const TensorDesc& desc = problem_.inputs[i];
      const Advance advance = desc.constant ? Advance{} : advance_of(desc, args.inputs[i]);
      if (i == operands_.first) call->advance[1].push_back({});
      call->advance[i >= operands_.first].push_back(advance);
    }
    call->result = advance_of(problem_.outputs[0], y);
    const auto total = call->images * static_cast<int64_t>(call->bands.size());
    call->slots =
        static_cast<int>(std::clamp<int64_t>(std::min<int64_t>(total, limits_.threads), 1, RowsCall::kMostSlots));
    return std::unique_ptr<Call>(std::move(call));
  }

  Problem problem_;
  ChainParts parts_;
  ChainPlan plan_;
  Limits limits_, alone_;
  Operands operands_;
  Parts packing_;
};

Result<Tactic> parse_tactic(std::string_view text) {
  Tactic t;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return invalid_argument("chain: no provider in '{}'", text);
  const size_t mark = text.find('?', colon);
  t.provider = text.substr(0, colon);
  t.kernel = text.substr(colon + 1, mark == std::string_view::npos ? mark : mark - colon - 1);
  if (mark != std::string_view::npos) t.config = text.substr(mark + 1);
  return t;
}

}  // namespace

std::vector<const Provider*> part_providers() { return {&native_provider(), &onednn_provider()}; }

void fill_layouts(const Candidate& candidate, Problem* problem) {
  for (size_t i = 0; i < problem->inputs.size(); ++i) problem->inputs[i].layout = candidate.input_layouts[i];
  for (size_t o = 0; o < problem->outputs.size(); ++o) problem->outputs[o].layout = candidate.output_layouts[o];
}

std::string ChainPlan::to_string() const {
  const std::string how = rows == 0 ? std::string(kWhole) : fmt::format("{}{}", kRows, rows);
  return fmt::format("{}|{}|{}|{}", how, layout_name(middle), first.to_string(), second.to_string());
}

Result<ChainPlan> ChainPlan::parse(const std::string& config) {
  std::vector<std::string_view> words;
  for (std::string_view rest = config;;) {
    const size_t bar = rest.find('|');
    words.push_back(rest.substr(0, bar));
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  if (words.size() != 4) return invalid_argument("chain: unknown configuration '{}'", config);
  ChainPlan plan;
  if (words[0].starts_with(kRows)) {
    const char* end = words[0].data() + words[0].size();
    const auto read = std::from_chars(words[0].data() + kRows.size(), end, plan.rows);
    if (read.ec != std::errc() || read.ptr != end || plan.rows < 1 || plan.rows > INT32_MAX)
      return invalid_argument("chain: no number of rows in '{}'", config);
  } else if (words[0] != kWhole) {
    return invalid_argument("chain: unknown configuration '{}'", config);
  }
  bool known = false;
  for (const Layout l : {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16})
    if (words[1] == layout_name(l)) plan.middle = l, known = true;
  if (!known) return invalid_argument("chain: no layout is called '{}'", words[1]);
  WOOTZ_ASSIGN_OR_RETURN(plan.first, parse_tactic(words[2]));
  WOOTZ_ASSIGN_OR_RETURN(plan.second, parse_tactic(words[3]));
  return plan;
}

Result<std::unique_ptr<Kernel>> make_chain_kernel(const Problem& problem, const ChainPlan& plan, const Limits& limits) {
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(problem));
  if (parts.first.is(Family::kMove) || parts.first.is(Family::kNorm) || problem.outputs.size() != 1)
    return unsupported("chain: a concatenation or a normalization");
  if (parts.first.inputs.size() > kMostOperands || parts.second.inputs.size() > kMostOperands)
    return unsupported("chain: more than {} operands", kMostOperands);
  for (const Problem* p : {&parts.first, &parts.second})
    if (p->outputs.size() != 1 || p->outputs[0].dims.rank() < 3)
      return unsupported("chain: {} is no image", p->outputs[0].dims.to_string());
  parts.first.outputs[0].layout = parts.second.inputs[0].layout = plan.middle;
  if (plan.rows > 0) {
    WOOTZ_RETURN_IF_ERROR(can_cut(parts));
    // Rows lie together: whatever has rows is channels-last.
    bool last = plan.middle == Layout::kChannelsLast && problem.outputs[0].layout == Layout::kChannelsLast;
    for (const TensorDesc& t : problem.inputs)
      last = last && (t.constant || t.dims.rank() != 4 || t.max_dims[2] == 1 || t.layout == Layout::kChannelsLast);
    if (!last) return invalid_argument("chain: bands of rows are for channels-last tensors");
  }
  auto kernel = std::make_unique<ChainKernel>(problem, std::move(parts), plan, limits);
  WOOTZ_RETURN_IF_ERROR(kernel->prepare());
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace wootz::cpu

// The kernel of a dense problem: constant weights packed once, in the layout that serves all its extents.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>

#include "backends/cpu/onednn/primitive_call.h"
#include "base/thread_pool.h"

namespace wootz::cpu::dnn {
namespace {

// What stands before packed weights, so that bytes packed for another layout or instruction set are refused rather
// than misread.
struct PackedHeader {
  char magic[8] = {'w', 'o', 'o', 't', 'z', 'd', 'n', 'n'};
  uint64_t version = 1;
  uint64_t layout = 0;  // layout_digest
  uint64_t bytes = 0;   // after the header
  uint64_t reserved[4] = {};
};
static_assert(sizeof(PackedHeader) == 64);

uint64_t layout_digest(const memory::desc& desc) {
  std::string text = effective_isa_text();
  const auto add = [&](const memory::dims& values) {
    text += '/';
    for (const int64_t v : values) text += std::to_string(v) + ',';
  };
  add(desc.get_dims());
  add(desc.get_padded_dims());
  add(desc.get_strides());
  add(desc.get_inner_blks());
  add(desc.get_inner_idxs());
  add({static_cast<int64_t>(desc.get_data_type()), static_cast<int64_t>(desc.get_size())});
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Copies of constant weights in other layouts than the packed one, shared by the calls that need the same.
class WeightCopies {
 public:
  // `from` of layout `have` as `want`, by way of `plain`: where both have compensation, oneDNN 3.2 takes it from wrong
  // places. Unsupported where oneDNN has no such reorder.
  Result<std::shared_ptr<const void>> get(const void* from, const memory::desc& have, const memory::desc& plain,
                                          const memory::desc& want) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(copies_, [](const Copy& c) { return c.bytes.expired(); });
    for (const Copy& c : copies_)
      if (c.from == from && c.layout == want)
        if (auto bytes = c.bytes.lock()) return std::shared_ptr<const void>(std::move(bytes));
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor between, reordered(from, have, plain));
    WOOTZ_ASSIGN_OR_RETURN(HostTensor made, reordered(between.data(), plain, want));
    const auto keep = std::make_shared<HostTensor>(std::move(made));
    const std::shared_ptr<const void> bytes(keep, keep->data());
    copies_.push_back({from, want, bytes});
    return bytes;
  }

 private:
  static Result<HostTensor> reordered(const void* from, const memory::desc& have, const memory::desc& want) {
    WOOTZ_ASSIGN_OR_RETURN(const dnnl::engine* eng, engine());
    const dnnl::reorder::primitive_desc how(*eng, have, *eng, want, {}, /*allow_empty=*/true);
    if (how.get(true) == nullptr) return unsupported("oneDNN: no reorder of the weights");
    WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(DType::kU8, {static_cast<int64_t>(want.get_size())}));
    memory source(have, *eng, const_cast<void*>(from)), target(want, *eng, made.mutable_data());
    dnnl::stream stream(*eng);
    dnnl::reorder(how).execute(stream, source, target);
    stream.wait();
    return made;
  }

  struct Copy {
    const void* from;
    memory::desc layout;
    std::weak_ptr<const void> bytes;
  };
  std::mutex mutex_;
  std::vector<Copy> copies_;
};

class DenseKernel final : public Kernel {
 public:
  // `threads`: under which limit the layout of the weights was chosen; 0: it does not depend on it.
  DenseKernel(const DenseFamily& family, Problem problem, DenseTraits traits, DenseSpec spec, memory::desc weights,
              int threads)
      : family_(family),
        problem_(std::move(problem)),
        traits_(std::move(traits)),
        spec_(std::move(spec)),
        weights_(std::move(weights)),
        threads_(threads) {
    packed_ = problem_.inputs[1].constant && !(weights_ == spec_.weights);
    if (packed_) {
      header_.layout = layout_digest(weights_);
      header_.bytes = weights_.get_size();
    }
  }

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input != 1 || !packed_) return std::optional<PackedForm>{};
    const TensorDesc& want = problem_.inputs[1];
    if (source.dtype() != want.dtype || !(source.dims() == want.dims))
      return invalid_argument("oneDNN: weights {} {} to pack, the problem has {} {}", dtype_name(source.dtype()),
                              source.dims().to_string(), dtype_name(want.dtype), want.dims.to_string());
    return std::optional(
        PackedForm{packed_bytes(), [this, source](std::span<std::byte> bytes) { return write_packed(source, bytes); }});
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1)
      return invalid_argument("oneDNN: bound with {} inputs and {} outputs, made for {} and 1", args.inputs.size(),
                              args.outputs.size(), problem_.inputs.size());
    Extents extents;
    extents.inputs.assign(args.inputs.begin(), args.inputs.end());
    extents.output = args.outputs[0];
    for (const Dims& dims : extents.inputs) WOOTZ_RETURN_IF_ERROR(check(dims));
    WOOTZ_RETURN_IF_ERROR(check(extents.output));
    for (size_t i = static_cast<size_t>(problem_.num_main); i < extents.inputs.size(); ++i) {
      const Result<Dims> all = broadcast_dims(extents.inputs[i], extents.output);
      if (!all.ok() || !(*all == extents.output))
        return invalid_argument("oneDNN: epilogue operand {} does not broadcast to {}", extents.inputs[i].to_string(),
                                extents.output.to_string());
    }
    if (packed_) WOOTZ_RETURN_IF_ERROR(check_packed(args));
    return guarded("binding", [&]() -> Result<std::unique_ptr<Call>> {
      WOOTZ_ASSIGN_OR_RETURN(DenseSpec spec, family_.specify(problem_, extents));
      if (spec.empty) return make_empty_call();
      WOOTZ_ASSIGN_OR_RETURN(DensePlan plan, plan_for(spec, extents, args));
      if (packed_)
        for (ArgSource& arg : plan.args)
          if (arg.arg == DNNL_ARG_WEIGHTS && arg.from == ArgSource::From::kInput) arg.offset = sizeof(PackedHeader);
      return make_primitive_call(problem_, traits_, std::move(plan), extents);
    });
  }

  int in_place(int output) const override { return output == 0 ? traits_.sum_input : -1; }

 private:
  // Which implementations take a layout of the weights depends on extents and threads, which may both be others than
  // those that it was chosen for.
  Result<DensePlan> plan_for(const DenseSpec& spec, const Extents& extents, const BindArgs& args) const {
    const memory::desc& have = packed_ ? weights_ : spec.weights;
    Result<DensePlan> plan = plan_dense(problem_, traits_, spec, have, extents, false);
    if (plan.ok()) return plan;
    if (const void* data = constant_weights(args)) {
      Result<DensePlan> other = plan_dense(problem_, traits_, spec, any_layout(spec.weights), extents, false);
      if (other.ok()) {
        for (ArgSource& arg : other->args) {
          if (arg.arg != DNNL_ARG_WEIGHTS) continue;
          Result<std::shared_ptr<const void>> copy = copies_.get(data, have, spec.weights, arg.desc);
          if (!copy.ok()) break;
          arg.from = ArgSource::From::kFixed;
          arg.fixed = copy->get();
          other->own_weights = std::move(copy).value();
          return other;
        }
      }
    }
    if (threads_ > 0) {  // more or fewer threads than wanted, rather than a slow implementation or none
      const ParallelScope scope(threads_);
      plan = plan_dense(problem_, traits_, spec, have, extents, false);
      if (plan.ok()) plan->threads = threads_;
      if (plan.ok()) return plan;
    }
    return plan_dense(problem_, traits_, spec, have, extents, /*allow_reference=*/true);
  }

  const void* constant_weights(const BindArgs& args) const {
    if (!problem_.inputs[1].constant || args.constants.size() < 2 || args.constants[1] == nullptr) return nullptr;
    return static_cast<const std::byte*>(args.constants[1]) + (packed_ ? sizeof(PackedHeader) : 0);
  }

  static Status check(const Dims& dims) {
    WOOTZ_RETURN_IF_ERROR(checked_volume(dims.span()).status());
    for (const int64_t d : dims)
      if (d > INT32_MAX) return unsupported("oneDNN: bound to {}: extents go up to {}", dims.to_string(), INT32_MAX);
    return Status();
  }

  Status write_packed(const HostTensor& source, std::span<std::byte> bytes) const {
    WOOTZ_ASSIGN_OR_RETURN(const dnnl::engine* eng, engine());
    return guarded("packing weights", [&]() -> Status {
      std::memset(bytes.data(), 0, bytes.size());  // what pads the blocks
      std::memcpy(bytes.data(), &header_, sizeof(PackedHeader));
      memory from(spec_.weights, *eng, const_cast<void*>(source.data()));
      memory to(weights_, *eng, bytes.data() + sizeof(PackedHeader));
      dnnl::stream stream(*eng);
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
      return Status();
    });
  }
  size_t packed_bytes() const { return sizeof(PackedHeader) + weights_.get_size(); }

  Status check_packed(const BindArgs& args) const {
    const void* data = args.constants.size() > 1 ? args.constants[1] : nullptr;
    if (data == nullptr) return invalid_argument("oneDNN: bound without its packed weights");
    if (args.constant_bytes.size() > 1 && args.constant_bytes[1] != packed_bytes())
      return corrupt("oneDNN: {} bytes of packed weights, expected {}", args.constant_bytes[1], packed_bytes());
    if (std::memcmp(data, &header_, sizeof(PackedHeader)) != 0)
      return corrupt("oneDNN: the weights were packed for another layout or instruction set (this is {})",
                     effective_isa_text());
    return Status();
  }

  const DenseFamily& family_;
  Problem problem_;
  DenseTraits traits_;
  DenseSpec spec_;
  memory::desc weights_;
  bool packed_ = false;
  int threads_ = 0;
  PackedHeader header_;
  mutable WeightCopies copies_;
};

// A configuration: the layout of constant weights, and whether a residual is added in place: "w=Acdb16a;sum". A layout
// without a name is what oneDNN chooses at the optimum under a number of threads: "w=any@2".
constexpr std::string_view kWeights = "w=";
constexpr std::string_view kAny = "any@";
constexpr std::string_view kSum = "sum";
constexpr int kMaxThreads = 4096;

// Names of a layout, always the same ones in the same order: where all filter axes have extent 1, channels in front of
// them and after them are the same bytes, and oneDNN takes the one or the other, by what it computed before. The names
// with channels after come first: those it takes always.
std::vector<std::string> settled_names(const memory::desc& desc) {
  std::vector<std::string> names = tag_names(desc);
  const memory::dims dims = desc.get_dims();
  if (dims.size() < 3 || !std::all_of(dims.begin() + 2, dims.end(), [](int64_t d) { return d == 1; })) return names;
  const std::string filter = std::string("cde").substr(0, dims.size() - 2);
  for (size_t i = 0, count = names.size(); i < count; ++i)
    for (const auto& [from, to] : {std::pair(filter + "b", "b" + filter), std::pair("b" + filter, filter + "b")})
      if (const size_t at = names[i].find(from); at != std::string::npos)
        names.push_back(std::string(names[i]).replace(at, from.size(), to));
  std::erase_if(names, [](const std::string& name) { return tag_from_name(name) == memory::format_tag::undef; });
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

Result<WeightsChoice> choose_layout(const DenseFamily& family, const Problem& p, const DenseTraits& traits) {
  const Extents opt = extents_of(p, false), max = extents_of(p, true);
  WOOTZ_ASSIGN_OR_RETURN(const DenseSpec spec, family.specify(p, opt));
  if (!p.inputs[1].constant) {
    WOOTZ_RETURN_IF_ERROR(plan_dense(p, traits, spec, spec.weights, opt, false).status());
    return WeightsChoice{"", spec.weights};
  }
  const bool dynamic = !(opt.output == max.output) || !(opt.inputs[0] == max.inputs[0]);
  WOOTZ_ASSIGN_OR_RETURN(const DenseSpec large, family.specify(p, max));
  const auto fits = [&](const memory::desc& desc) {
    return plan_dense(p, traits, spec, desc, opt, false).ok() &&
           (!dynamic || plan_dense(p, traits, large, desc, max, false).ok());
  };
  Status first;
  for (const DenseSpec* at : {&spec, &large}) {
    const Extents& extents = at == &spec ? opt : max;
    const Result<DensePlan> plan = plan_dense(p, traits, *at, any_layout(spec.weights), extents, false);
    if (plan.ok()) {
      const memory::desc desc = plan->primitive.query_md(dnnl::query::weights_md, 0);
      if (desc == spec.weights && fits(spec.weights))
        return WeightsChoice{std::string(kWeights) + "plain", spec.weights};
      for (const std::string& name : settled_names(desc)) {
        const memory::desc named(desc.get_dims(), desc.get_data_type(), tag_from_name(name));
        const Result<DensePlan> again = plan_dense(p, traits, *at, named, extents, false);
        if (again.ok() && again->implementation == plan->implementation && (!dynamic || fits(named)))
          return WeightsChoice{std::string(kWeights) + name, named};
      }
      // A layout without a name can only be asked for again, at the optimum.
      if (at == &spec && (!dynamic || fits(desc)))
        return WeightsChoice{fmt::format("{}{}{}", kWeights, kAny, max_parallelism()), desc};
    } else if (first.ok()) {
      first = plan.status();
    }
    if (!dynamic) break;
  }
  if (fits(spec.weights)) return WeightsChoice{std::string(kWeights) + "plain", spec.weights};
  if (!first.ok()) return first;
  return unsupported("oneDNN: no layout of the weights serves both {} and {}", opt.output.to_string(),
                     max.output.to_string());
}

}  // namespace

Result<WeightsChoice> choose_weights(const DenseFamily& family, const Problem& p, DenseTraits* traits) {
  traits->sum_input = residual_input(p, *traits);
  if (traits->sum_input >= 0) {
    Result<WeightsChoice> choice = choose_layout(family, p, *traits);
    if (choice.ok()) {
      choice->config += choice->config.empty() ? "" : ";";
      choice->config += kSum;
      return choice;
    }
    traits->sum_input = -1;
  }
  return choose_layout(family, p, *traits);
}

Result<std::unique_ptr<Kernel>> create_dense(const DenseFamily& family, const Problem& problem,
                                             const std::string& config) {
  return guarded("creating a kernel", [&]() -> Result<std::unique_ptr<Kernel>> {
    WOOTZ_ASSIGN_OR_RETURN(DenseTraits traits, family.traits(problem));
    const Extents opt = extents_of(problem, false);
    WOOTZ_ASSIGN_OR_RETURN(DenseSpec spec, family.specify(problem, opt));
    memory::desc weights = spec.weights;
    int threads = 0;
    std::string_view layout = config;
    if (layout.ends_with(kSum)) {
      layout.remove_suffix(kSum.size());
      if (layout.ends_with(';')) layout.remove_suffix(1);
      traits.sum_input = residual_input(problem, traits);
      if (traits.sum_input < 0) return invalid_argument("oneDNN: configuration '{}' without a residual", config);
    }
    if (problem.inputs[1].constant) {
      if (!layout.starts_with(kWeights)) return invalid_argument("oneDNN: unknown configuration '{}'", config);
      const std::string_view name = layout.substr(kWeights.size());
      if (name.starts_with(kAny)) {
        const char* end = name.data() + name.size();
        const auto read = std::from_chars(name.data() + kAny.size(), end, threads);
        if (read.ec != std::errc() || read.ptr != end || threads < 1 || threads > kMaxThreads)
          return invalid_argument("oneDNN: no number of threads in the configuration '{}'", config);
        const ParallelScope scope(threads);
        WOOTZ_ASSIGN_OR_RETURN(const DensePlan plan,
                               plan_dense(problem, traits, spec, any_layout(spec.weights), opt, false));
        weights = plan.primitive.query_md(dnnl::query::weights_md, 0);
      } else if (name != "plain") {
        const memory::format_tag tag = tag_from_name(name);
        if (tag == memory::format_tag::undef) return invalid_argument("oneDNN: no layout is called '{}'", name);
        weights = memory::desc(spec.weights.get_dims(), spec.weights.get_data_type(), tag);
      }
    } else if (!layout.empty()) {
      return invalid_argument("oneDNN: configuration '{}' for weights that are not constant", config);
    }
    // Whether it runs at all. Fast implementations may want another layout under this limit of threads: see bind().
    if (!spec.empty) {
      const ParallelScope scope(threads > 0 ? threads : max_parallelism());
      const auto runs = [&](const memory::desc& with) {
        return plan_dense(problem, traits, spec, with, opt, /*allow_reference=*/true).status();
      };
      Status status = runs(weights);
      if (!status.ok() && problem.inputs[1].constant) status = runs(any_layout(spec.weights));
      WOOTZ_RETURN_IF_ERROR(status);
    }
    return std::unique_ptr<Kernel>(std::make_unique<DenseKernel>(family, problem, std::move(traits), std::move(spec),
                                                                 std::move(weights), threads));
  });
}

}  // namespace wootz::cpu::dnn

#include "backends/plugin_steps.h"

#include <atomic>
#include <charconv>

#include "backend/device.h"

namespace wootz {
namespace {

constexpr const char* kKernelName = "plugin";
constexpr size_t kAlign = 256;  // as an application's own allocations are

size_t align_up(size_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); }

size_t bytes_of(const PluginTensor& t, const Dims& dims) { return layout_bytes(t.layout, t.dtype, dims); }

// A result some of whose extents are found by running: the plugin writes to scratch memory with room for the most.
struct Unsized {
  size_t output = 0;
  Dims most;
  size_t offset = 0;  // in the workspace
};
// A result that holds such an extent.
struct Size {
  size_t output = 0;
  int64_t most = 0;
};

// What does not change from run to run.
struct Bound {
  PluginTensors tensors;
  std::vector<Dims> inputs;
  std::vector<Unsized> unsized;
  std::vector<Size> sizes;
  size_t own_workspace = 0, workspace = 0;
};

struct State final : KernelState {
  State(std::shared_ptr<const PluginSource> from, std::shared_ptr<PluginObject> of, std::unique_ptr<PluginContext> made)
      : source(std::move(from)), object(std::move(of)), context(std::move(made)) {}
  std::shared_ptr<const PluginSource> source;  // ends last: it has the plugin's library
  std::shared_ptr<PluginObject> object;
  std::unique_ptr<PluginContext> context;
  uint64_t prepared_for = 0;  // the call; 0: none
};

uint64_t next_call() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

class PluginCall final : public StatefulCall {
 public:
  PluginCall(const PluginParams& params, Bound bound, std::shared_ptr<Device> device)
      : params_(params), bound_(std::move(bound)), device_(std::move(device)), number_(next_call()) {}
  size_t workspace() const override { return bound_.workspace; }

  Status run_with(const RunArgs& args, KernelState* kept) const override {
    auto* const state = static_cast<State*>(kept);
    if (state->prepared_for != number_) {
      state->prepared_for = 0;
      WOOTZ_RETURN_IF_ERROR(state->context->prepare(bound_.tensors));
      state->prepared_for = number_;
    }
    std::vector<const void*> inputs(args.inputs, args.inputs + bound_.tensors.inputs.size());
    std::vector<void*> outputs(args.outputs, args.outputs + bound_.tensors.outputs.size());
    auto* const scratch = static_cast<std::byte*>(args.workspace);
    for (const Unsized& u : bound_.unsized) outputs[u.output] = scratch + u.offset;
    WOOTZ_RETURN_IF_ERROR(join_aliases(&inputs, outputs, args.stream));
    WOOTZ_RETURN_IF_ERROR(state->context->run(bound_.tensors, inputs.data(), outputs.data(),
                                              bound_.own_workspace == 0 ? nullptr : args.workspace, args.stream));
    return bound_.unsized.empty() || args.allocator == nullptr ? Status() : hand_over(outputs, args);
  }

 private:
  // An operand that is overwritten: its elements are where the result is going to be.
  Status join_aliases(std::vector<const void*>* inputs, const std::vector<void*>& outputs, Stream* stream) const {
    for (size_t o = 0; o < params_.aliases.size(); ++o) {
      if (params_.aliases[o] < 0) continue;
      const auto i = static_cast<size_t>(params_.aliases[o]);
      if ((*inputs)[i] == outputs[o] || outputs[o] == nullptr) continue;
      const size_t bytes = bytes_of(bound_.tensors.inputs[i], bound_.inputs[i]);
      if (bytes != 0) WOOTZ_RETURN_IF_ERROR(device_->copy(outputs[o], (*inputs)[i], bytes, stream));
      (*inputs)[i] = outputs[o];
    }
    return Status();
  }

  // Reads the sizes that the plugin has written, and moves the results to where they belong.
  Status hand_over(const std::vector<void*>& outputs, const RunArgs& args) const {
    std::vector<int64_t> sizes(outputs.size(), -1);
    for (const Size& size : bound_.sizes) WOOTZ_RETURN_IF_ERROR(read_size(size, outputs[size.output], args, &sizes));
    for (const Unsized& u : bound_.unsized) {
      WOOTZ_ASSIGN_OR_RETURN(const Dims dims, made_dims(u, sizes));
      void* const to = args.allocator->allocate(static_cast<int>(u.output), dims);
      const size_t bytes = bytes_of(bound_.tensors.outputs[u.output], dims);
      if (bytes == 0) continue;
      if (to == nullptr)
        return make_error(Code::kResourceExhausted, "no memory for output {} of {} bytes", u.output, bytes);
      WOOTZ_RETURN_IF_ERROR(device_->copy(to, outputs[u.output], bytes, args.stream));
    }
    return Status();
  }

  Status read_size(const Size& size, const void* from, const RunArgs& args, std::vector<int64_t>* sizes) const {
    const bool wide = bound_.tensors.outputs[size.output].dtype == DType::kI64;
    int64_t wide_value = 0;
    int32_t narrow_value = 0;
    if (wide)
      WOOTZ_RETURN_IF_ERROR(device_->copy(&wide_value, from, sizeof wide_value, args.stream));
    else
      WOOTZ_RETURN_IF_ERROR(device_->copy(&narrow_value, from, sizeof narrow_value, args.stream));
    if (args.stream != nullptr) WOOTZ_RETURN_IF_ERROR(args.stream->synchronize());
    const int64_t value = wide ? wide_value : narrow_value;
    if (value < 0 || value > size.most)
      return invalid_argument("{}: output {} says a size of {}, and at most {} was declared", plugin_place(params_),
                              size.output, value, size.most);
    (*sizes)[size.output] = value;
    return Status();
  }

  Result<Dims> made_dims(const Unsized& u, const std::vector<int64_t>& sizes) const {
    Dims dims = u.most;
    for (const Ints& words : params_.extents) {
      if (static_cast<size_t>(words[0]) != u.output) continue;
      const auto axis = static_cast<size_t>(words[1]);
      WOOTZ_ASSIGN_OR_RETURN(const int64_t value, evaluate_extent(std::span(words).subspan(2), bound_.inputs, sizes));
      if (value < 0 || value > u.most[axis])
        return invalid_argument("{}: extent {} of output {} is {}, and at most {} was declared", plugin_place(params_),
                                axis, u.output, value, u.most[axis]);
      dims[axis] = value;
    }
    return dims;
  }

  const PluginParams& params_;  // the kernel's
  const Bound bound_;
  std::shared_ptr<Device> device_;
  const uint64_t number_;
};

class PluginKernel final : public StatefulKernel {
 public:
  PluginKernel(Problem problem, PluginParams params, std::shared_ptr<const PluginSource> source,
               std::shared_ptr<PluginObject> object, std::shared_ptr<Device> device)
      : problem_(std::move(problem)),
        params_(std::move(params)),
        source_(std::move(source)),
        object_(std::move(object)),
        device_(std::move(device)) {}

  Result<std::unique_ptr<KernelState>> attach(const ContextServices* services) const override {
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<PluginContext> context, object_->attach(services));
    return std::unique_ptr<KernelState>(std::make_unique<State>(source_, object_, std::move(context)));
  }
  int in_place(int output) const override {
    const Ints& aliases = params_.aliases;
    return static_cast<size_t>(output) < aliases.size() ? static_cast<int>(aliases[static_cast<size_t>(output)]) : -1;
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (device_ == nullptr) return unsupported("a plugin runs on the device that it was built for, which is not here");
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != problem_.outputs.size())
      return internal_error("{} operands bound, {} expected", args.inputs.size(), problem_.inputs.size());
    Bound bound = described(args);
    WOOTZ_RETURN_IF_ERROR(find_sizes(&bound));
    WOOTZ_RETURN_IF_ERROR(check_aliases(bound));
    WOOTZ_ASSIGN_OR_RETURN(bound.own_workspace, object_->workspace(bound.tensors));
    bound.workspace = bound.own_workspace;
    for (Unsized& u : bound.unsized) {
      u.offset = bound.workspace = align_up(bound.workspace);
      bound.workspace += bytes_of(bound.tensors.outputs[u.output], u.most);
    }
    return std::unique_ptr<Call>(std::make_unique<PluginCall>(params_, std::move(bound), device_));
  }

 private:
  Bound described(const BindArgs& args) const {
    Bound bound;
    bound.inputs.assign(args.inputs.begin(), args.inputs.end());
    for (size_t i = 0; i < problem_.inputs.size(); ++i)
      bound.tensors.inputs.push_back({problem_.inputs[i].dtype, problem_.inputs[i].layout, args.inputs[i], {}, {}, {}});
    for (size_t o = 0; o < problem_.outputs.size(); ++o)
      bound.tensors.outputs.push_back(
          {problem_.outputs[o].dtype, problem_.outputs[o].layout, args.outputs[o], {}, {}, {}});
    return bound;
  }

  // Extents at their bounds: what the scratch memory must have room for.
  Status find_sizes(Bound* bound) const {
    std::vector<int64_t> most(problem_.outputs.size(), -1);
    for (const Ints& words : params_.bounds) {
      const auto o = static_cast<size_t>(words.empty() ? -1 : words[0]);
      if (o >= most.size() || bound->tensors.outputs[o].dims.rank() != 0) return corrupt("output {} is no size", o);
      WOOTZ_ASSIGN_OR_RETURN(most[o], evaluate_extent(std::span(words).subspan(1), bound->inputs, {}));
      if (most[o] < 0) return invalid_argument("{}: the bound of size {} is {}", plugin_place(params_), o, most[o]);
      bound->sizes.push_back({o, most[o]});
    }
    for (const Ints& words : params_.extents) WOOTZ_RETURN_IF_ERROR(find_extent(words, most, bound));
    for (const Unsized& u : bound->unsized) WOOTZ_RETURN_IF_ERROR(checked_volume(u.most.span()).status());
    return Status();
  }
  Status find_extent(const Ints& words, const std::vector<int64_t>& most, Bound* bound) const {
    if (words.size() < 2 || words[0] < 0 || words[0] >= static_cast<int64_t>(problem_.outputs.size()))
      return corrupt("an extent of a result that is not there");
    const auto output = static_cast<size_t>(words[0]), axis = static_cast<size_t>(words[1]);
    if (bound->unsized.empty() || bound->unsized.back().output != output) {
      bound->unsized.push_back({output, problem_.outputs[output].max_dims, 0});  // of that rank
    }
    Unsized& u = bound->unsized.back();
    if (axis >= u.most.size()) return corrupt("extent {} of result {}", axis, output);
    WOOTZ_ASSIGN_OR_RETURN(u.most[axis], evaluate_extent(std::span(words).subspan(2), bound->inputs, most));
    if (u.most[axis] < 0)
      return invalid_argument("{}: extent {} of output {} would be {}", plugin_place(params_), axis, output,
                              u.most[axis]);
    bound->tensors.outputs[output].dims = u.most;
    return Status();
  }

  Status check_aliases(const Bound& bound) const {
    const Ints& aliases = params_.aliases;
    if (aliases.empty()) return Status();
    if (aliases.size() != problem_.outputs.size())
      return corrupt("{} aliases of {} outputs", aliases.size(), problem_.outputs.size());
    for (size_t o = 0; o < aliases.size(); ++o) {
      if (aliases[o] < 0) continue;
      const auto i = static_cast<size_t>(aliases[o]);
      const PluginTensor& out = bound.tensors.outputs[o];
      const bool same = i < bound.tensors.inputs.size() && bound.tensors.inputs[i].dtype == out.dtype &&
                        bound.tensors.inputs[i].layout == out.layout && bound.tensors.inputs[i].dims == out.dims;
      if (!same)
        return invalid_argument("{}: output {} is to overwrite input {}, which has another type or shape",
                                plugin_place(params_), o, i);
    }
    return Status();
  }

  const Problem problem_;
  const PluginParams params_;
  std::shared_ptr<const PluginSource> source_;  // ends after the object: it has the plugin's library
  std::shared_ptr<PluginObject> object_;
  std::shared_ptr<Device> device_;
};

class PluginStepsProvider final : public Provider {
 public:
  explicit PluginStepsProvider(std::shared_ptr<const PluginSource> source) : source_(std::move(source)) {}
  const char* name() const override { return "plugin"; }
  std::string version() const override { return "1"; }

  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (!is_plugin(problem)) return;
    const Result<std::vector<PluginForm>> forms = forms_of(problem);
    if (!forms.ok()) {
      refusals->push_back({kKernelName, forms.status().message()});
      return;
    }
    for (const PluginForm& form : *forms) {
      for (const int32_t tactic : form.tactics) {
        Candidate candidate;
        candidate.tactic = {name(), kKernelName, fmt::format("tactic={},workspace={}", tactic, form.workspace)};
        candidate.input_layouts = form.inputs;
        candidate.output_layouts = form.outputs;
        candidate.workspace = form.workspace;
        candidate.estimate_us = 1;
        offers->push_back(std::move(candidate));
      }
    }
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    if (!is_plugin(problem)) return unsupported("the plugin provider has kernels of plugins only");
    WOOTZ_ASSIGN_OR_RETURN(const PluginTactic chosen, read_plugin_tactic(tactic));
    WOOTZ_ASSIGN_OR_RETURN(PluginParams params, read_plugin(problem));
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<PluginObject> object,
                           source_->make(problem, params, chosen.number, chosen.workspace));
    return std::unique_ptr<Kernel>(
        std::make_unique<PluginKernel>(problem, std::move(params), source_, std::move(object), limits.at));
  }

 private:
  Result<std::vector<PluginForm>> forms_of(const Problem& problem) const {
    WOOTZ_ASSIGN_OR_RETURN(const PluginParams params, read_plugin(problem));
    return source_->forms(problem, params);
  }

  std::shared_ptr<const PluginSource> source_;
};

template <typename T>
bool take_number(std::string_view* text, std::string_view label, T* value) {
  if (!text->starts_with(label)) return false;
  const char* const end = text->data() + text->size();
  const auto [next, error] = std::from_chars(text->data() + label.size(), end, *value);
  *text = std::string_view(next, static_cast<size_t>(end - next));
  return error == std::errc();
}

}  // namespace

Result<PluginTactic> read_plugin_tactic(const Tactic& tactic) {
  constexpr size_t kMostWorkspace = size_t{1} << 46;
  PluginTactic read;
  std::string_view text = tactic.config;
  if (tactic.kernel != kKernelName || !take_number(&text, "tactic=", &read.number) ||
      !take_number(&text, ",workspace=", &read.workspace) || !text.empty() || read.workspace > kMostWorkspace)
    return corrupt("'{}' is no tactic of a plugin", tactic.to_string().substr(0, 200));
  return read;
}

std::unique_ptr<const Provider> plugin_steps_provider(std::shared_ptr<const PluginSource> source) {
  return std::make_unique<PluginStepsProvider>(std::move(source));
}

}  // namespace wootz

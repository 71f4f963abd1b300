// The one file that sees cuDNN's frontend. Its headers throw: nothing of that leaves this file.
// Why so long: those headers take half a minute to compile, which is to happen once.
#include "backends/cuda/cudnn/graph.h"

#if defined(WOOTZ_HAVE_CUDNN) && defined(WOOTZ_HAVE_CUDNN_FRONTEND)

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING 1
#include <cudnn_frontend.h>

#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "backend/device.h"
#include "backends/cuda/code_store.h"
#include "backends/cuda/devices.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/dynamic_library.h"
#include "backends/cuda/null_driver.h"
#include "backends/cuda/workspace.h"

namespace fe = cudnn_frontend;

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the frontend looks its functions up here
}

namespace wootz::cuda {
namespace {

struct Library {
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnGetVersion) version = nullptr;
  cudnnHandle_t handle = nullptr;  // null: no device
  std::mutex mutex;                // the handle's stream is set and used under it
};

Result<Library*> open() {
  // One handle for all: in steady state work is replayed from recordings, not put on streams by cuDNN.
  static auto* library = new Library;
  open_null_driver();  // without a driver and without this, engines that compile at run time are not offered
  WOOTZ_ASSIGN_OR_RETURN(void* opened, open_library({"libcudnn.so.9"}));
  fe::cudnn_dlhandle = opened;
  library->create = reinterpret_cast<decltype(library->create)>(find_symbol(opened, "cudnnCreate"));
  library->set_stream = reinterpret_cast<decltype(library->set_stream)>(find_symbol(opened, "cudnnSetStream"));
  library->version = reinterpret_cast<decltype(library->version)>(find_symbol(opened, "cudnnGetVersion"));
  if (library->create == nullptr || library->set_stream == nullptr || library->version == nullptr)
    return unsupported("libcudnn.so.9 lacks functions of cuDNN 9");
  if (library->version() < 90800) return unsupported("cuDNN {}; 9.8 is needed", library->version());
  if (const Result<const Gpu*> found = gpu(); found.ok() && !driver_is_stand_in() && (*found)->enter().ok())
    if (library->create(&library->handle) != CUDNN_STATUS_SUCCESS) library->handle = nullptr;
  return library;
}

Result<Library*> cudnn() {
  if (driver_is_stand_in()) return unsupported("the stand-in has no cuDNN");
  static const Result<Library*> library = open();
  return library;
}

fe::DataType_t data_type(DType type) {
  return type == DType::kF16    ? fe::DataType_t::HALF
         : type == DType::kBF16 ? fe::DataType_t::BFLOAT16
         : type == DType::kI8   ? fe::DataType_t::INT8
                                : fe::DataType_t::FLOAT;
}

Status to_status(fe::error_t error, const char* what) {
  if (error.is_good()) return Status();
  return unsupported("cuDNN, {}: {}", what, error.get_message());
}

template <typename F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    return internal_error("cuDNN's frontend: {}", e.what());
  }
}

struct Built {
  std::shared_ptr<fe::graph::Graph> graph = std::make_shared<fe::graph::Graph>();
  std::vector<std::pair<int64_t, CudnnTensor>> tensors;  // by uid
};

Status set_mode(const CudnnStage& s, fe::graph::Pointwise_attributes* a) {
  using Mode = fe::PointwiseMode_t;
  switch (s.op) {
    case PwOp::kAdd: a->set_mode(Mode::ADD); break;
    case PwOp::kMul: a->set_mode(Mode::MUL); break;
    case PwOp::kRelu: a->set_mode(Mode::RELU_FWD); break;
    case PwOp::kLeakyRelu: a->set_mode(Mode::RELU_FWD).set_relu_lower_clip_slope(static_cast<float>(s.imm0)); break;
    case PwOp::kSigmoid: a->set_mode(Mode::SIGMOID_FWD); break;
    case PwOp::kTanh: a->set_mode(Mode::TANH_FWD); break;
    case PwOp::kGeluErf: a->set_mode(Mode::GELU_FWD); break;
    case PwOp::kGeluTanh: a->set_mode(Mode::GELU_APPROX_TANH_FWD); break;
    case PwOp::kSilu: a->set_mode(Mode::SWISH_FWD).set_swish_beta(static_cast<float>(s.imm0)); break;
    case PwOp::kElu: a->set_mode(Mode::ELU_FWD).set_elu_alpha(static_cast<float>(s.imm0)); break;
    case PwOp::kClip:
      if (s.imm0 > 0) return unsupported("a clip from {}", s.imm0);
      a->set_mode(Mode::RELU_FWD)
          .set_relu_lower_clip(static_cast<float>(s.imm0))
          .set_relu_upper_clip(static_cast<float>(s.imm1));
      break;
    default: return unsupported("cuDNN fuses no {}", pw_op_name(s.op));
  }
  a->set_compute_data_type(fe::DataType_t::FLOAT);
  return Status();
}

Result<Built> make_graph(const CudnnGraph& g, const DeviceDescription* described) {
  Built b;
  if (described != nullptr) {  // before the first node, which asks
    auto device = std::make_shared<fe::DeviceProperties>();
    const std::string& text = described->properties;
    WOOTZ_RETURN_IF_ERROR(
        to_status(device->deserialize(std::vector<uint8_t>(text.begin(), text.end())), "device properties"));
    b.graph->set_device_properties(device);
    b.graph->set_sm_version(capability_of(*described));
  }
  b.graph->set_io_data_type(data_type(g.x.dtype))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const auto tensor = [&](const CudnnTensor& t, const char* name) {
    const auto uid = static_cast<int64_t>(b.tensors.size()) + 1;
    b.tensors.emplace_back(uid, t);
    return b.graph->tensor(
        fe::graph::Tensor_attributes().set_name(name).set_uid(uid).set_dim(t.dims).set_stride(t.strides).set_data_type(
            data_type(t.dtype)));
  };
  const auto x = tensor(g.x, "x"), w = tensor(g.w, "w");
  std::vector<std::shared_ptr<fe::graph::Tensor_attributes>> operands;
  for (const CudnnTensor& t : g.operands) operands.push_back(tensor(t, "operand"));
  std::shared_ptr<fe::graph::Tensor_attributes> value;
  if (g.attention) {
    const auto v = tensor(g.v, "v");
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(false)
                       .set_attn_scale(static_cast<float>(g.scale));
    if (g.causal) options.set_causal_mask(true);
    if (g.mask >= 0) options.set_bias(operands[static_cast<size_t>(g.mask)]);
    value = b.graph->sdpa(x, w, v, options)[0];
  } else {
    value = b.graph->conv_fprop(x, w,
                                fe::graph::Conv_fprop_attributes()
                                    .set_pre_padding(g.pre_pads)
                                    .set_post_padding(g.post_pads)
                                    .set_stride(g.strides)
                                    .set_dilation(g.dilations)
                                    .set_compute_data_type(g.bytes() ? fe::DataType_t::INT32 : fe::DataType_t::FLOAT));
  }
  bool whole = g.bytes();  // the value is still a sum of integers
  for (const CudnnStage& s : g.stages) {
    value->set_data_type(std::exchange(whole, false) ? fe::DataType_t::INT32 : fe::DataType_t::FLOAT);
    fe::graph::Pointwise_attributes a;
    WOOTZ_RETURN_IF_ERROR(set_mode(s, &a));
    std::shared_ptr<fe::graph::Tensor_attributes> operand;
    if (s.operand >= 0) operand = operands[static_cast<size_t>(s.operand)];
    if (s.factor >= 0) {
      fe::graph::Pointwise_attributes times;
      WOOTZ_RETURN_IF_ERROR(set_mode({PwOp::kMul, 0, 0, 0, -1}, &times));
      operand = b.graph->pointwise(operand, operands[static_cast<size_t>(s.factor)], times);
      operand->set_data_type(fe::DataType_t::FLOAT);
    }
    value = operand != nullptr ? b.graph->pointwise(value, operand, a) : b.graph->pointwise(value, a);
  }
  const auto uid = static_cast<int64_t>(b.tensors.size()) + 1;
  b.tensors.emplace_back(uid, g.y);
  value->set_output(true).set_uid(uid).set_dim(g.y.dims).set_stride(g.y.strides).set_data_type(data_type(g.y.dtype));
  return b;
}

// Validated and lowered, for the device at hand or a described one.
Result<Built> lowered(const CudnnGraph& g, Library& library, const DeviceDescription* described) {
  if (described == nullptr) {
    if (library.handle == nullptr) return unsupported("cuDNN cannot be used: no device");
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* gpu, wootz::cuda::gpu());
    WOOTZ_RETURN_IF_ERROR(gpu->enter());
  }
  WOOTZ_ASSIGN_OR_RETURN(Built b, make_graph(g, described));
  WOOTZ_RETURN_IF_ERROR(to_status(b.graph->validate(), "validate"));
  WOOTZ_RETURN_IF_ERROR(to_status(
      described != nullptr ? b.graph->build_operation_graph() : b.graph->build_operation_graph(library.handle),
      "operation graph"));
  return b;
}

Status propose(const CudnnGraph& g, Built* b) {
  WOOTZ_RETURN_IF_ERROR(to_status(b->graph->create_execution_plans({fe::HeurMode_t::A}), "heuristics"));
  std::vector<fe::NumericalNote_t> unwanted{fe::NumericalNote_t::NONDETERMINISTIC,
                                            fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION};
  if (g.x.dtype == DType::kF32 && !g.tf32) {
    unwanted.push_back(fe::NumericalNote_t::TENSOR_CORE);
    unwanted.push_back(fe::NumericalNote_t::DOWN_CONVERT_INPUTS);
  }
  b->graph->deselect_numeric_notes(unwanted);
  return to_status(b->graph->check_support(), "support");
}

using Knobs = std::unordered_map<fe::KnobType_t, int64_t>;

std::string to_text(int64_t engine, const Knobs& knobs) {
  const std::map<int64_t, int64_t> sorted = [&] {
    std::map<int64_t, int64_t> m;
    for (const auto& [k, v] : knobs) m[static_cast<int64_t>(k)] = v;
    return m;
  }();
  std::string text = std::to_string(engine) + ":";
  for (const auto& [k, v] : sorted) text += fmt::format("{}={},", k, v);
  return text;
}

bool from_text(std::string_view text, int64_t* engine, Knobs* knobs) {
  const auto number = [&](char end, int64_t* value) {
    const size_t at = text.find(end);
    if (at == std::string_view::npos) return false;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + at, *value);
    if (error != std::errc() || stop != text.data() + at) return false;
    text.remove_prefix(at + 1);
    return true;
  };
  if (!number(':', engine)) return false;
  while (!text.empty()) {
    int64_t knob = 0, value = 0;
    if (!number('=', &knob) || !number(',', &value)) return false;
    (*knobs)[static_cast<fe::KnobType_t>(knob)] = value;
  }
  return true;
}

class Plan final : public CudnnPlan {
 public:
  Plan(Library& library, Built built, size_t workspace, int64_t index)
      : library_(library), built_(std::move(built)), workspace_(workspace), index_(index) {}
  size_t workspace() const override { return workspace_room(workspace_); }
  Status run(const RunArgs& args) const override {
    return guarded([&]() -> Status {
      std::unordered_map<int64_t, void*> pack;
      for (const auto& [uid, t] : built_.tensors)
        pack[uid] =
            static_cast<char*>(t.output ? args.outputs[t.index] : const_cast<void*>(args.inputs[t.index])) + t.offset;
      auto* const stream = static_cast<cudaStream_t>(args.stream == nullptr ? nullptr : args.stream->native());
      const std::lock_guard<std::mutex> lock(library_.mutex);
      if (library_.set_stream(library_.handle, stream) != CUDNN_STATUS_SUCCESS)
        return internal_error("cudnnSetStream failed");
      void* const workspace = workspace_ == 0 ? nullptr : aligned_workspace(args.workspace);
      fe::error_t error = index_ < 0 ? built_.graph->execute(library_.handle, pack, workspace)
                                     : built_.graph->execute_plan_at_index(library_.handle, pack, workspace, index_);
      return error.is_good() ? Status() : internal_error("cuDNN: {}", error.get_message());
    });
  }

 private:
  Library& library_;
  Built built_;
  size_t workspace_;
  int64_t index_;  // of several plans that the graph holds; -1: it has one
};

// What was found for a graph, and the plans of the last graph asked about: whoever asked is about to time them.
struct Memory {
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> choices;
  std::map<std::string, std::weak_ptr<const CudnnPlan>> plans;
  std::vector<std::shared_ptr<const CudnnPlan>> recent;
};
Memory& memory() {
  static auto* all = new Memory;
  return *all;
}

Result<Built> build_choice(const CudnnGraph& g, Library& library, const std::string& choice,
                           const DeviceDescription* described) {
  WOOTZ_ASSIGN_OR_RETURN(Built b, lowered(g, library, described));
  int64_t engine = 0;
  Knobs knobs;
  if (choice.empty() || !from_text(choice, &engine, &knobs)) return unsupported("'{}' is no choice of cuDNN's", choice);
  WOOTZ_RETURN_IF_ERROR(to_status(b.graph->create_execution_plan(engine, knobs), "engine"));
  WOOTZ_RETURN_IF_ERROR(to_status(b.graph->check_support(), "support"));
  WOOTZ_RETURN_IF_ERROR(to_status(b.graph->build_plans(), "build"));
  return b;
}

Result<Built> build_first(const CudnnGraph& g, Library& library, const DeviceDescription* described) {
  WOOTZ_ASSIGN_OR_RETURN(Built b, lowered(g, library, described));
  WOOTZ_RETURN_IF_ERROR(propose(g, &b));
  WOOTZ_RETURN_IF_ERROR(to_status(b.graph->build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE), "build"));
  return b;
}

// Of a built plan, for this version of the library and this architecture.
std::string code_key(const CudnnGraph& g, Library& library, const std::string& choice, int capability) {
  return fmt::format("cudnn {} sm_{} {}", library.version(), capability, digest_text(g.key() + choice));
}

// A plan that was built before, from these bytes. Its tensors are numbered as make_graph() numbers them.
Result<Built> restored(const CudnnGraph& g, Library& library, const std::vector<char>& code) {
  WOOTZ_ASSIGN_OR_RETURN(Built b, make_graph(g, nullptr));
  b.graph = std::make_shared<fe::graph::Graph>();
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  WOOTZ_RETURN_IF_ERROR(to_status(b.graph->deserialize(library.handle, std::vector<uint8_t>(bytes, bytes + code.size()),
                                                       false, /*run_warmup=*/false),
                                  "restore"));
  return b;
}

// Null: it cannot be.
std::optional<std::vector<char>> serialized(const Built& b) {
  std::vector<uint8_t> bytes;
  if (b.graph->serialize(bytes, /*serialize_structure=*/false).is_bad()) return std::nullopt;
  return std::vector<char>(bytes.begin(), bytes.end());
}

Result<Built> find_built(const CudnnGraph& g, Library& library, const std::string& choice) {
  WOOTZ_ASSIGN_OR_RETURN(const Gpu* gpu, wootz::cuda::gpu());
  const std::string key = code_key(g, library, choice, gpu->arch());
  std::optional<std::vector<char>> code = find_offered(key);
  if (!code) code = find_kept(key);
  if (!code) return unsupported("nothing was kept");
  return guarded([&] { return restored(g, library, *code); });
}

}  // namespace

Result<std::string> cudnn_version() {
  WOOTZ_ASSIGN_OR_RETURN(const Library* library, cudnn());
  return std::to_string(library->version());
}

Result<std::vector<std::string>> cudnn_choices(const CudnnGraph& g, const DeviceDescription* described, int most) {
  WOOTZ_ASSIGN_OR_RETURN(Library* const library, cudnn());
  Memory& known = memory();
  const std::string key = g.key() + (described == nullptr ? "" : described->properties);
  const std::lock_guard<std::mutex> lock(known.mutex);
  if (const auto found = known.choices.find(key); found != known.choices.end()) {
    if (found->second.empty()) return unsupported("cuDNN has no engine for it");
    return found->second;
  }
  return guarded([&]() -> Result<std::vector<std::string>> {
    std::vector<std::string>& choices = known.choices[key];
    WOOTZ_ASSIGN_OR_RETURN(Built b, lowered(g, *library, described));
    WOOTZ_RETURN_IF_ERROR(propose(g, &b));
    known.recent.clear();
    const int64_t count = b.graph->get_execution_plan_count();
    for (int64_t i = 0; i < count && static_cast<int>(choices.size()) < most; ++i) {
      int64_t engine = 0;
      Knobs knobs;
      if (b.graph->get_engine_and_knobs_at_index(i, engine, knobs).is_bad()) continue;
      std::string text = to_text(engine, knobs);
      if (std::find(choices.begin(), choices.end(), text) != choices.end()) continue;
      // Building is also what tells of those that were deselected or are refused late.
      int64_t workspace = 0;
      if (b.graph->build_plan_at_index(i).is_bad() || b.graph->get_workspace_size_plan_at_index(i, workspace).is_bad())
        continue;
      if (described == nullptr) {
        known.recent.push_back(
            std::make_shared<Plan>(*library, b, static_cast<size_t>(std::max<int64_t>(0, workspace)), i));
        known.plans[g.key() + text] = known.recent.back();
      }
      choices.push_back(std::move(text));
    }
    if (choices.empty()) return unsupported("cuDNN has no engine for it");
    return choices;
  });
}

Result<std::shared_ptr<const CudnnPlan>> cudnn_plan(const CudnnGraph& g, const std::string& choice) {
  WOOTZ_ASSIGN_OR_RETURN(Library* const library, cudnn());
  Memory& known = memory();
  const std::string key = g.key() + choice;
  const std::lock_guard<std::mutex> lock(known.mutex);
  if (const auto found = known.plans.find(key); found != known.plans.end())
    if (std::shared_ptr<const CudnnPlan> plan = found->second.lock()) return plan;
  return guarded([&]() -> Result<std::shared_ptr<const CudnnPlan>> {
    Result<Built> b = find_built(g, *library, choice);
    if (!b.ok()) {  // or what was kept does not load, whatever is wrong with it
      b = build_choice(g, *library, choice, nullptr);
      if (!b.ok()) b = build_first(g, *library, nullptr);
      if (!b.ok()) return b.status();
      WOOTZ_ASSIGN_OR_RETURN(const Gpu* gpu, wootz::cuda::gpu());
      if (const auto code = serialized(*b)) keep(code_key(g, *library, choice, gpu->arch()), *code);
    }
    int64_t workspace = 0;
    WOOTZ_RETURN_IF_ERROR(to_status(b->graph->get_workspace_size(workspace), "workspace"));
    std::shared_ptr<const CudnnPlan> plan = std::make_shared<Plan>(
        *library, std::move(b).value(), static_cast<size_t>(std::max<int64_t>(0, workspace)), -1);
    known.plans[key] = plan;
    return plan;
  });
}

Result<NativeCode> cudnn_code(const CudnnGraph& g, const std::string& choice, const DeviceDescription& device) {
  WOOTZ_ASSIGN_OR_RETURN(Library* const library, cudnn());
  return guarded([&]() -> Result<NativeCode> {
    Result<Built> b = build_choice(g, *library, choice, &device);
    if (!b.ok()) b = build_first(g, *library, &device);
    if (!b.ok()) return b.status();
    std::optional<std::vector<char>> code = serialized(*b);
    if (!code) return unsupported("cuDNN does not serialize it");
    return make_native(code_key(g, *library, choice, capability_of(device)), std::move(*code));
  });
}

}  // namespace wootz::cuda

#else

namespace wootz::cuda {
namespace {
Status none() { return unsupported("this build has no cuDNN: its headers or its frontend's were not found"); }
}  // namespace
Result<std::string> cudnn_version() { return none(); }
Result<std::vector<std::string>> cudnn_choices(const CudnnGraph&, const DeviceDescription*, int) { return none(); }
Result<std::shared_ptr<const CudnnPlan>> cudnn_plan(const CudnnGraph&, const std::string&) { return none(); }
Result<NativeCode> cudnn_code(const CudnnGraph&, const std::string&, const DeviceDescription&) { return none(); }
}  // namespace wootz::cuda

#endif

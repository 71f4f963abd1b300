// The provider "nccl": what several GPUs compute together, by the communicator that an application lends its context.
#include <fmt/format.h>

#include "backend/collective.h"
#include "backend/device.h"
#include "backend/plugin.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/nccl/team.h"
#include "backends/cuda/providers.h"

namespace wootz::cuda {
namespace {

constexpr const char* kKernelName = "op_nccl_collective";

struct TypeName {
  DType type;
  ncclDataType_t nccl;
};
constexpr TypeName kTypes[] = {{DType::kF32, ncclFloat32}, {DType::kF16, ncclFloat16}, {DType::kBF16, ncclBfloat16},
                               {DType::kF64, ncclFloat64}, {DType::kI8, ncclInt8},     {DType::kU8, ncclUint8},
                               {DType::kI32, ncclInt32},   {DType::kU32, ncclUint32},  {DType::kI64, ncclInt64},
                               {DType::kU64, ncclUint64}};
struct ReductionName {
  std::string_view name;
  ncclRedOp_t nccl;
};
constexpr ReductionName kReductions[] = {
    {"sum", ncclSum}, {"prod", ncclProd}, {"max", ncclMax}, {"min", ncclMin}, {"avg", ncclAvg}};

// One operation at its extents. What is not reduced is counted in bytes.
struct Transfer {
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t reduction = ncclSum;
  int root = -1;           // among those that take part
  size_t in = 0, out = 0;  // elements of the operand and of the result
  size_t out_bytes = 0;
};

struct Put {
  const NcclFunctions& api;
  const Team& team;
  const Transfer& what;
  const char* from;
  char* to;
  CUstream stream;

  bool at_root() const { return team.rank() == what.root; }
  ncclResult_t send(size_t offset, size_t count, int rank) const {
    return api.ncclSend(from + offset, count, what.type, rank, team.comm(), stream);
  }
  ncclResult_t receive(size_t offset, size_t count, int rank) const {
    return api.ncclRecv(to + offset, count, what.type, rank, team.comm(), stream);
  }
};

// A communicator that does not block may say that it is not done yet, which is asked for in the end.
bool went(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

// What `each` puts for every rank, as one operation.
template <typename Each>
ncclResult_t for_ranks(const Put& p, Each each) {
  ncclResult_t result = p.api.ncclGroupStart();
  if (!went(result)) return result;
  for (int rank = 0; rank < p.team.size() && went(result); ++rank) result = each(rank);
  const ncclResult_t ended = p.api.ncclGroupEnd();
  return went(result) ? ended : result;
}

ncclResult_t all_reduce(const Put& p) {
  return p.api.ncclAllReduce(p.from, p.to, p.what.in, p.what.type, p.what.reduction, p.team.comm(), p.stream);
}
ncclResult_t all_gather(const Put& p) {
  return p.api.ncclAllGather(p.from, p.to, p.what.in, p.what.type, p.team.comm(), p.stream);
}
ncclResult_t broadcast(const Put& p) {
  return p.api.ncclBroadcast(p.from, p.to, p.what.in, p.what.type, p.what.root, p.team.comm(), p.stream);
}
ncclResult_t reduce(const Put& p) {
  return p.api.ncclReduce(p.from, p.to, p.what.in, p.what.type, p.what.reduction, p.what.root, p.team.comm(), p.stream);
}
ncclResult_t reduce_scatter(const Put& p) {
  return p.api.ncclReduceScatter(p.from, p.to, p.what.out, p.what.type, p.what.reduction, p.team.comm(), p.stream);
}
// NCCL has functions for the following since 2.28; before, they are made of what is sent and received.
ncclResult_t all_to_all(const Put& p) {
  const size_t block = p.what.in / static_cast<size_t>(p.team.size());
  return for_ranks(p, [&](int rank) {
    const size_t at = static_cast<size_t>(rank) * block;
    const ncclResult_t sent = p.send(at, block, rank);
    return went(sent) ? p.receive(at, block, rank) : sent;
  });
}
ncclResult_t gather(const Put& p) {
  return for_ranks(p, [&](int rank) {
    const ncclResult_t sent = rank == p.what.root ? p.send(0, p.what.in, rank) : ncclSuccess;
    if (!went(sent) || !p.at_root()) return sent;
    return p.receive(static_cast<size_t>(rank) * p.what.in, p.what.in, rank);
  });
}
ncclResult_t scatter(const Put& p) {
  return for_ranks(p, [&](int rank) {
    const ncclResult_t got = rank == p.what.root ? p.receive(0, p.what.out, rank) : ncclSuccess;
    if (!went(got) || !p.at_root()) return got;
    return p.send(static_cast<size_t>(rank) * p.what.out, p.what.out, rank);
  });
}

// As collective_kinds().
struct Operation {
  std::string_view name;
  ncclResult_t (*put)(const Put&);
  bool result_at_root = false;  // and nowhere else
};
constexpr Operation kOperations[] = {
    {"all_reduce", all_reduce},         {"all_gather", all_gather}, {"broadcast", broadcast}, {"reduce", reduce, true},
    {"reduce_scatter", reduce_scatter}, {"all_to_all", all_to_all}, {"gather", gather, true}, {"scatter", scatter}};

const Operation* find_operation(std::string_view name) {
  for (const Operation& operation : kOperations)
    if (operation.name == name) return &operation;
  return nullptr;
}

std::string listed(const std::vector<int64_t>& ranks) { return fmt::format("{}", fmt::join(ranks, ", ")); }

struct State final : KernelState {
  State(const Collective& of, const Gpu& at, const ContextServices* lent) : what(of), gpu(at), services(lent) {}
  const Collective& what;  // the kernel's
  const Gpu& gpu;
  const ContextServices* services;
  std::shared_ptr<const Team> team;  // null: no communicator was lent

  Status services_changed() override {
    team.reset();
    if (services == nullptr || services->communicator == nullptr) return Status();
    const GpuScope scope(gpu);
    WOOTZ_ASSIGN_OR_RETURN(const NcclFunctions* const api, nccl());
    auto* const whole = static_cast<ncclComm_t>(services->communicator);
    int ranks = 0, device = 0;
    WOOTZ_NCCL_RETURN_IF_ERROR(*api, whole, ncclCommCount, whole, &ranks);
    WOOTZ_NCCL_RETURN_IF_ERROR(*api, whole, ncclCommCuDevice, whole, &device);
    if (ranks != what.ranks)
      return invalid_argument("the communicator has {} ranks, {} was built for {} (ILayer::setNbRanks)", ranks,
                              what.kind->name, what.ranks);
    if (device != gpu.device)
      return invalid_argument("the communicator is of GPU {}, the engine of GPU {}", device, gpu.device);
    WOOTZ_ASSIGN_OR_RETURN(team, Team::of(*api, whole, what.groups));
    return Status();
  }
};

class CollectiveCall final : public StatefulCall {
 public:
  CollectiveCall(const Collective& of, const Operation& operation, const Gpu& gpu, Transfer what)
      : of_(of), operation_(operation), gpu_(gpu), what_(what) {}
  // All ranks have to record, or none, and which addresses and shapes the others see anew is not known here.
  bool recordable() const override { return false; }

  Status run_with(const RunArgs& args, KernelState* kept) const override {
    const Team* const team = static_cast<State*>(kept)->team.get();
    if (team == nullptr)
      return make_error(Code::kInvalidState, "{} of {} ranks needs a communicator: IExecutionContext::setCommunicator",
                        of_.kind->name, of_.participants());
    if (team->rank() < 0)
      return make_error(Code::kInvalidState, "{}: this rank is none of those that take part ({})", of_.kind->name,
                        listed(of_.groups));
    if (what_.in == 0) return Status();
    auto* const stream = static_cast<CUstream>(args.stream == nullptr ? nullptr : args.stream->native());
    if (operation_.result_at_root && team->rank() != what_.root)
      WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuMemsetD8Async, reinterpret_cast<CUdeviceptr>(args.outputs[0]), 0,
                                 what_.out_bytes, stream);
    const Put put{
        team->api(), *team, what_, static_cast<const char*>(args.inputs[0]), static_cast<char*>(args.outputs[0]),
        stream};
    return check(team->api(), team->comm(), operation_.put(put), of_.kind->name).with_prefix("NCCL");
  }

 private:
  const Collective& of_;  // the kernel's
  const Operation& operation_;
  const Gpu& gpu_;
  const Transfer what_;
};

class CopyCall final : public StatefulCall {
 public:
  CopyCall(const Gpu& gpu, size_t bytes) : gpu_(gpu), bytes_(bytes) {}
  Status run_with(const RunArgs& args, KernelState*) const override {
    if (bytes_ == 0) return Status();
    auto* const stream = static_cast<CUstream>(args.stream == nullptr ? nullptr : args.stream->native());
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(args.outputs[0]),
                               reinterpret_cast<CUdeviceptr>(args.inputs[0]), bytes_, stream);
    return Status();
  }

 private:
  const Gpu& gpu_;
  size_t bytes_;
};

class CollectiveKernel final : public StatefulKernel {
 public:
  CollectiveKernel(Collective what, DType type, Result<const Gpu*> gpu)
      : what_(std::move(what)), type_(type), gpu_(std::move(gpu)) {}

  Result<std::unique_ptr<KernelState>> attach(const ContextServices* services) const override {
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* const gpu, gpu_);
    auto state = std::make_unique<State>(what_, *gpu, services);
    if (what_.participants() != 1) WOOTZ_RETURN_IF_ERROR(state->services_changed());
    return std::unique_ptr<KernelState>(std::move(state));
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* const gpu, gpu_);
    if (args.inputs.size() != 1 || args.outputs.size() != 1)
      return internal_error("{} operands and {} results to bind", args.inputs.size(), args.outputs.size());
    WOOTZ_RETURN_IF_ERROR(check_collective_extents(what_, args.inputs[0], args.outputs[0]));
    const size_t in = dtype_bytes(type_, args.inputs[0].volume()), out = dtype_bytes(type_, args.outputs[0].volume());
    if (what_.participants() == 1) return std::unique_ptr<Call>(std::make_unique<CopyCall>(*gpu, in));
    Transfer transfer;
    transfer.in = in;
    transfer.out = transfer.out_bytes = out;
    transfer.root = root();
    if (what_.kind->reduces) WOOTZ_RETURN_IF_ERROR(describe_reduction(args, &transfer));
    return std::unique_ptr<Call>(
        std::make_unique<CollectiveCall>(what_, *find_operation(what_.kind->name), *gpu, transfer));
  }

 private:
  int root() const {
    for (size_t i = 0; i < what_.groups.size(); ++i)
      if (what_.groups[i] == what_.root) return static_cast<int>(i);
    return static_cast<int>(what_.root);
  }
  Status describe_reduction(const BindArgs& args, Transfer* transfer) const {
    transfer->in = static_cast<size_t>(args.inputs[0].volume());
    transfer->out = static_cast<size_t>(args.outputs[0].volume());
    bool known = false;
    for (const TypeName& name : kTypes)
      if (name.type == type_) transfer->type = name.nccl, known = true;
    if (!known) return unsupported("{} of {}", what_.kind->name, dtype_name(type_));
    for (const ReductionName& name : kReductions)
      if (name.name == what_.reduction) transfer->reduction = name.nccl;
    return Status();
  }

  const Collective what_;
  const DType type_;
  Result<const Gpu*> gpu_;
};

class NcclProvider final : public Provider {
 public:
  const char* name() const override { return "nccl"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (!is_collective(problem)) return;
    if (const Status status = read_collective(problem).status(); !status.ok())
      return refusals->push_back({kKernelName, status.message()});
    Candidate candidate;
    candidate.tactic = {name(), kKernelName, ""};
    candidate.input_layouts = candidate.output_layouts = {Layout::kLinear};
    candidate.estimate_us = 20;
    offers->push_back(std::move(candidate));
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    if (tactic.kernel != kKernelName) return unsupported("the provider nccl has no kernel '{}'", tactic.kernel);
    WOOTZ_ASSIGN_OR_RETURN(Collective what, read_collective(problem));
    if (problem.inputs[0].layout != Layout::kLinear || problem.outputs[0].layout != Layout::kLinear ||
        !problem.epilogue.empty())
      return unsupported("{} of elements that are not in rows", what.kind->name);
    return std::unique_ptr<Kernel>(
        std::make_unique<CollectiveKernel>(std::move(what), problem.inputs[0].dtype, gpu_of(limits)));
  }
};

}  // namespace

const Provider& nccl_provider() {
  static const NcclProvider provider;
  return provider;
}

}  // namespace wootz::cuda

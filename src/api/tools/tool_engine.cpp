#include "api/tools/tool_engine.h"

#include "backends/registry.h"
#include "base/thread_pool.h"
#include "plan/storage.h"
#include "runtime/create_engine.h"

namespace wootz::api {
namespace {

bool is_open(const Shape& shape) {
  for (const Dim& dim : shape)
    if (!dim.is_const()) return true;
  return false;
}

Status check_input(const Value& input, const HostTensor& array, const HostTensor& first) {
  if (array.dtype() != input.dtype())
    return invalid_argument("it is {}, the network takes {}", dtype_name(array.dtype()), dtype_name(input.dtype()));
  if (array.rank() != input.rank())
    return invalid_argument("its shape is {}, the network takes {}", array.dims().to_string(),
                            shape_to_string(input.shape()));
  for (int axis = 0; axis < array.rank(); ++axis)
    if (const Dim& dim = input.shape()[static_cast<size_t>(axis)]; dim.is_const() && dim.value() != array.dims()[axis])
      return invalid_argument("its shape is {}, the network takes {}", array.dims().to_string(),
                              shape_to_string(input.shape()));
  if (array.dims() == first.dims()) return Status();
  return invalid_argument("its shape is {}, the first batch's {}: all batches have one shape", array.dims().to_string(),
                          first.dims().to_string());
}

}  // namespace

Status check_batches(const Graph& graph, const std::vector<Batch>& batches) {
  if (batches.empty()) return invalid_argument("there are no inputs: give data");
  for (size_t b = 0; b < batches.size(); ++b) {
    for (const Value* input : graph.inputs()) {
      const auto found = batches[b].find(input->name());
      if (found == batches[b].end()) return invalid_argument("batch {}: input '{}' is missing", b, input->name());
      const Status status = check_input(*input, found->second, batches[0].at(input->name()));
      if (!status.ok()) return status.with_prefix(fmt::format("batch {}: input '{}'", b, input->name()));
    }
    if (batches[b].size() != graph.inputs().size())
      return invalid_argument("batch {} has {} arrays, the network has {} inputs", b, batches[b].size(),
                              graph.inputs().size());
  }
  return Status();
}

std::vector<BuildProfile> profile_of(const Graph& graph, const Batch& batch) {
  BuildProfile profile;
  for (const Value* input : graph.inputs())
    if (const Dims& dims = batch.at(input->name()).dims(); is_open(input->shape()))
      profile.dims[input->name()] = {dims, dims, dims};
  if (profile.dims.empty()) return {};
  return {profile};
}

Result<ToolEngine> make_engine(Graph& graph, const BuildSettings& settings, const BuildServices& services,
                               const Reporter& reporter) {
  WOOTZ_ASSIGN_OR_RETURN(BuildOutput output, build_program(graph, settings, services));
  ToolEngine made;
  made.report = build_report(output.report, *output.program);
  WOOTZ_RETURN_IF_ERROR(make_constants(output.program.get()));
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(settings.backend));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, backend->open(settings.device_number));
  EngineOptions options;
  options.threads = std::min(settings.threads, ThreadPool::process().size());
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> core, create_engine(std::move(output.program), std::move(device),
                                                                         backend_providers(*backend), options));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const EngineInfo> info, EngineInfo::create(std::move(core)));
  made.engine = std::make_unique<EngineImpl>(std::move(info), reporter, nullptr);
  return made;
}

}  // namespace wootz::api

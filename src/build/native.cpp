// Stage `native`: machine code of all steps at the extents of the profiles' optima, made without the device.
#include <algorithm>

#include "build/session.h"
#include "build/stages.h"

namespace wootz {
namespace {

using CodeByKey = std::map<std::string, NativeCode>;  // equal steps have the same

// Nothing where an extent is known only while running.
std::optional<std::vector<Dims>> extents_of(const Program& program, const std::vector<TensorIndex>& tensors,
                                            const ShapeValues& shapes) {
  std::vector<Dims> all;
  for (const TensorIndex t : tensors) {
    const auto dims = !t.exists() ? Dims{} : tensor_dims(program.tensors[t], shapes);
    if (!dims) return std::nullopt;
    all.push_back(*dims);
  }
  return all;
}

// The one that is built for; of a plan for every generation of devices one of each that is known by name.
std::vector<DeviceDescription> targets_of(const BuildSession& session) {
  std::vector<DeviceDescription> targets{session.target.description};
  if (!session.settings.every_generation) return targets;
  for (DeviceDescription& known : session.target.backend->known_devices()) {
    const auto same = [&](const DeviceDescription& d) { return d.isa == known.isa; };
    if (std::none_of(targets.begin(), targets.end(), same)) targets.push_back(std::move(known));
  }
  return targets;
}

Status collect_step(BuildSession& session, const Program& program, const Step& step, const ShapeValues& shapes,
                    KeepNative keep, const DeviceDescription& device, CodeByKey* found) {
  const auto in = extents_of(program, step.inputs, shapes);
  const auto out = extents_of(program, step.outputs, shapes);
  if (!in || !out) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel, session.kernels->get(step));
  const std::vector<const void*> constants(in->size(), nullptr);
  std::vector<NativeCode> code;
  const Status made = kernel->native_code({*in, *out, constants}, device, keep, &code);
  if (!made.ok()) {
    session.log.verbose(
        fmt::format("layer '{}': its machine code is left to who loads the plan: {}", step.name, made.message()));
    return Status();
  }
  for (NativeCode& c : code) found->try_emplace(c.key, std::move(c));
  return Status();
}

}  // namespace

Status keep_native_code(BuildSession& session) {
  const bool elsewhere = session.target.device == nullptr && session.target.backend->can.own_memory;
  const KeepNative keep = session.settings.native.value_or(elsewhere ? KeepNative::kReproducible : KeepNative::kNone);
  if (keep == KeepNative::kNone) return Status();
  CodeByKey found;
  const std::vector<DeviceDescription> targets = targets_of(session);
  for (size_t p = 0; p < session.program->profiles.size(); ++p) {
    const auto [program, profile] = program_of(*session.program, p);
    std::vector<int64_t> symbols;
    for (const SymbolRange& range : program->profiles[profile].symbols) symbols.push_back(range.opt);
    ShapeValues shapes;
    WOOTZ_RETURN_IF_ERROR(evaluate_shapes(*program, symbols, &shapes));
    for (const DeviceDescription& device : targets)
      for (const Step& step : program->steps)
        WOOTZ_RETURN_IF_ERROR(collect_step(session, *program, step, shapes, keep, device, &found));
  }
  for (auto& [key, code] : found) session.program->native.push_back(std::move(code));
  return Status();
}

}  // namespace wootz

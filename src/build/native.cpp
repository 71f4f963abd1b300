// Stage `native`: machine code of all steps at the extents of the profiles' optima, and for other extents of theirs.
#include <algorithm>
#include <mutex>
#include <set>

#include "base/tasks.h"
#include "base/thread_pool.h"
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

using SymbolRanges = IndexedVector<SymbolIndex, SymbolRange>;

// Of a range all where they are few, else some: code that depends on an extent is the same for many of them.
std::vector<int64_t> some_of(const SymbolRange& range) {
  constexpr int64_t kMost = 32;
  std::vector<int64_t> values;
  if (range.min < 0 || range.max < range.min) return values;
  const int64_t last = std::min(kMost - 1, range.max - range.min);
  for (int64_t i = 0; i <= last; ++i)
    values.push_back(last == 0 ? range.min
                               : range.min + static_cast<int64_t>(static_cast<double>(range.max - range.min) *
                                                                  static_cast<double>(i) / static_cast<double>(last)));
  for (int64_t power = 1; power < range.max && power <= INT64_MAX / 2; power *= 2)
    if (power > range.min) values.push_back(power);
  return values;
}

// Extents that code may differ for, the optimum first: for that it is made alone, and for others takes extents as
// arguments, but for those that are 1, and for how work is divided. Of several symbols each alone, and all of them.
std::vector<std::vector<int64_t>> extents_of_profile(const SymbolRanges& symbols) {
  std::vector<int64_t> opt, min, max;
  for (const SymbolRange& range : symbols) {
    opt.push_back(range.opt);
    min.push_back(range.min);
    max.push_back(range.max);
  }
  std::vector<std::vector<int64_t>> all{opt, max, min};
  for (size_t i = 0; i < symbols.size(); ++i) {
    std::vector<int64_t> alone = max;
    alone[i] = min[i];
    all.push_back(alone);
    alone = opt;
    for (const int64_t value : some_of(symbols[SymbolIndex(i)])) {
      alone[i] = value;
      all.push_back(alone);
    }
  }
  std::sort(all.begin() + 1, all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.erase(std::remove(all.begin() + 1, all.end(), opt), all.end());
  return all;
}

// A step's machine code at some extents, for a device.
struct Piece {
  const Step* step;
  std::shared_ptr<const Kernel> kernel;
  std::vector<Dims> in, out;
  KeepNative keep;
  const DeviceDescription* device;
  Status status;
};

// Steps of which equal code is made have the same.
std::string key_of(const Step& step, const std::vector<Dims>& in, const std::vector<Dims>& out) {
  std::string key = step.tactic.to_string() + '\n' + step.problem.key();
  for (const auto* const list : {&in, &out})
    for (const Dims& dims : *list) key += dims.to_string();
  return key;
}

Status add_pieces(BuildSession& session, const Program& program, const ShapeValues& shapes, KeepNative keep,
                  const std::vector<DeviceDescription>& devices, std::set<std::string>* seen,
                  std::vector<Piece>* pieces) {
  for (const Step& step : program.steps) {
    const auto in = extents_of(program, step.inputs, shapes);
    const auto out = extents_of(program, step.outputs, shapes);
    if (!in || !out || !seen->insert(key_of(step, *in, *out)).second) continue;
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel, session.kernels->get(step));
    for (const DeviceDescription& device : devices)
      pieces->push_back({&step, kernel, *in, *out, keep, &device, Status()});
  }
  return Status();
}

// At the profiles' optima (not with `others`) what is to be kept, and at other extents what is reproducible of it.
Result<std::vector<Piece>> pieces_of(BuildSession& session, KeepNative keep, bool others,
                                     const std::vector<DeviceDescription>& devices) {
  std::vector<Piece> all;
  std::set<std::string> seen;
  for (size_t p = 0; p < session.program->profiles.size(); ++p) {
    const auto [program, profile] = program_of(*session.program, p);
    bool optimum = true;
    for (const std::vector<int64_t>& extents : extents_of_profile(program->profiles[profile].symbols)) {
      std::vector<Piece> pieces;
      ShapeValues shapes;
      const Status status = evaluate_shapes(*program, extents, &shapes);
      if (optimum) WOOTZ_RETURN_IF_ERROR(status);
      if (status.ok())  // otherwise they do not go together
        WOOTZ_RETURN_IF_ERROR(
            add_pieces(session, *program, shapes, optimum ? keep : KeepNative::kReproducible, devices, &seen, &pieces));
      if (!optimum || !others) std::move(pieces.begin(), pieces.end(), std::back_inserter(all));
      optimum = false;
    }
  }
  return all;
}

// On all processors. `found`: gets what is made, each key once; null: it is for the cache on disk alone.
void make_all(std::vector<Piece>* pieces, CodeByKey* found) {
  const bool kept = KeptCodeScope::allowed();
  std::mutex mutex;
  run_tasks(pieces->size(), ThreadPool::process().size(), [&](size_t i) {
    const KeptCodeScope scope(kept);
    Piece& piece = (*pieces)[i];
    const std::vector<const void*> constants(piece.in.size(), nullptr);
    std::vector<NativeCode> code;
    piece.status = piece.kernel->native_code({piece.in, piece.out, constants}, *piece.device, piece.keep, &code);
    if (found == nullptr || !piece.status.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex);
    for (NativeCode& c : code) found->try_emplace(c.key, std::move(c));
  });
}

}  // namespace

// Where the device is at hand and the plan keeps no code, that for other extents than the optima is made for the cache
// on disk: the first inference of a batch size need not wait for a compiler.
Status keep_native_code(BuildSession& session) {
  const bool compiles = session.target.backend->can.own_memory;
  const bool elsewhere = session.target.device == nullptr && compiles;
  const KeepNative keep = session.settings.native.value_or(elsewhere ? KeepNative::kReproducible : KeepNative::kNone);
  const bool ahead = keep == KeepNative::kNone;
  if (ahead && (!compiles || !KeptCodeScope::allowed())) return Status();
  const std::vector<DeviceDescription> devices = ahead ? std::vector{session.target.description} : targets_of(session);
  WOOTZ_ASSIGN_OR_RETURN(std::vector<Piece> pieces, pieces_of(session, keep, ahead, devices));
  CodeByKey found;
  make_all(&pieces, ahead ? nullptr : &found);
  if (ahead) return Status();
  std::set<std::string> said;  // once for all extents of a layer
  for (const Piece& piece : pieces)
    if (!piece.status.ok() && said.insert(piece.step->name + piece.status.message()).second)
      session.log.verbose(fmt::format("layer '{}': its machine code is left to who loads the plan: {}",
                                      piece.step->name, piece.status.message()));
  for (auto& [key, code] : found) session.program->native.push_back(std::move(code));
  return Status();
}

}  // namespace wootz

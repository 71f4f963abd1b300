#include "tuner/measure/prepare.h"

#include <unordered_set>

#include "backend/concurrent.h"
#include "backend/operand_dims.h"
#include "backend/providers.h"

namespace wootz {
namespace {

struct Piece {
  const Provider* provider;
  const Tactic* tactic;
  Problem problem;
};

void prepare(const Piece& piece, const Limits& limits) {
  const Result<std::unique_ptr<Kernel>> kernel = piece.provider->create(*piece.tactic, piece.problem, limits);
  if (!kernel.ok()) return;
  const auto* const prepared = dynamic_cast<const PreparedKernel*>(kernel->get());
  if (prepared == nullptr) return;
  std::vector<Dims> inputs;
  for (const TensorDesc& t : piece.problem.inputs) inputs.push_back(t.dtype == DType::kInvalid ? Dims{} : t.dims);
  const std::vector<Dims> outputs = operand_dims(piece.problem.outputs);
  const std::vector<const void*> constants(inputs.size(), nullptr);
  prepared->prepare({inputs, outputs, constants});
}

}  // namespace

bool prepare_kernels(const std::vector<Wanted>& wanted, const std::vector<const Provider*>& providers,
                     const Limits& limits, int threads, GoOn go_on) {
  std::vector<Piece> pieces;
  std::unordered_set<std::string> seen;
  for (const Wanted& w : wanted) {
    const Tactic& tactic = w.candidate->candidate.tactic;
    const Provider* const provider = provider_named(tactic.provider, providers);
    if (dynamic_cast<const ConcurrentProvider*>(provider) == nullptr) continue;
    Problem problem = with_layouts(*w.problem, w.candidate->candidate);
    if (seen.insert(tactic.to_string() + '\n' + problem.key()).second)
      pieces.push_back({provider, &tactic, std::move(problem)});
  }
  const bool kept = KeptCodeScope::allowed();
  return run_tasks(
      pieces.size(), threads,
      [&](size_t i) {
        const KeptCodeScope scope(kept);
        prepare(pieces[i], limits);
      },
      go_on);
}

}  // namespace wootz

#include "runtime/file_weights.h"

#include <map>

#include "backend/refit.h"
#include "base/mapped.h"

namespace wootz {
namespace {

// Calls f for each blob of the program that is not in a file: its address, size and owner.
template <typename F>
void each_blob(Program* program, RefitRecipe* recipe, F&& f) {
  const auto visit = [&](auto& c) {
    const std::span bytes(static_cast<const std::byte*>(c.data), c.data == nullptr ? 0 : c.bytes);
    if (!bytes.empty() && !can_release(bytes)) f(c, bytes);
  };
  for (PlanConstant& c : program->constants) visit(c);
  for (Program& body : program->bodies) each_blob(&body, nullptr, f);
  if (recipe == nullptr) return;
  for (RefitConstant& c : recipe->constants) visit(c);
}

}  // namespace

Result<std::shared_ptr<const Program>> keep_weights_in_file(std::shared_ptr<const Program> program,
                                                            const TemporaryFiles& where) {
  if (program->stripped) return program;  // a refit brings them
  auto moved = std::make_shared<Program>(*program);
  const auto recipe = program->refit == nullptr ? nullptr : std::make_shared<RefitRecipe>(*program->refit);
  std::map<const std::byte*, size_t> numbers;  // a weight of the network may be one of the program
  std::vector<std::span<const std::byte>> pieces;
  each_blob(moved.get(), recipe.get(), [&](auto&, std::span<const std::byte> bytes) {
    const auto [at, fresh] = numbers.emplace(bytes.data(), pieces.size());
    if (fresh) pieces.push_back(bytes);
    if (pieces[at->second].size() < bytes.size()) pieces[at->second] = bytes;
  });
  if (pieces.empty()) return program;
  WOOTZ_ASSIGN_OR_RETURN(const MappedCopies copies, map_copies(where, pieces));
  each_blob(moved.get(), recipe.get(), [&](auto& constant, std::span<const std::byte> bytes) {
    constant.data = copies.pieces[numbers.at(bytes.data())].data();
    constant.owner = copies.owner;
  });
  moved->refit = recipe;
  return std::shared_ptr<const Program>(std::move(moved));
}

}  // namespace wootz

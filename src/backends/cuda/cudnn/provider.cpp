// The provider "cudnn".
#include "backends/cuda/providers.h"

namespace wootz::cuda {
namespace {

class CudnnProvider final : public Provider {
 public:
  const char* name() const override { return "cudnn"; }
  std::string version() const override { return "none"; }
  void tactics(const Problem&, const Limits&, std::vector<Candidate>*, std::vector<Refusal>*) const override {}
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem&, const Limits&) const override {
    return invalid_argument("the provider cudnn has no kernel '{}'", tactic.kernel);
  }
};

}  // namespace

const Provider& cudnn_provider() {
  static const CudnnProvider provider;
  return provider;
}

}  // namespace wootz::cuda

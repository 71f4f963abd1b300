// What several devices compute together.
#include "api/network/add.h"
#include "api/runtime/level.h"
#include "base/collective.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class DistCollectiveLayer final : public LayerBase<IDistCollectiveLayer> {
 public:
  DistCollectiveLayer(NetworkImpl& network, Collective what)
      : LayerBase(network, LayerType::kDIST_COLLECTIVE, "DistCollective"), what_(std::move(what)) {}
  bool setNbRanks(int32_t nbRanks) noexcept override {
    return attempt(network().reporter(), "ILayer::setNbRanks", [&]() -> Status {
      if (nbRanks < 1 || nbRanks > kMostRanks)
        return invalid_argument("{}: {} ranks; from 1 to {} are possible", place(), nbRanks, kMostRanks);
      if (what_.ranks > 1 && nbRanks != what_.ranks)
        return make_error(Code::kInvalidState, "{}: {} ranks are set, and stay, so that it cannot be {}", place(),
                          what_.ranks, nbRanks);
      what_.ranks = nbRanks;
      changed();
      return Status();
    });
  }
  int32_t getNbRanks() const noexcept override { return static_cast<int32_t>(what_.ranks); }

  Status emit(Emit& e) override {
    if (const Status status = check_collective(what_); !status.ok()) return e.fail("{}", status.message());
    if (what_.participants() == 1) {  // it keeps what it has, and fuses away
      e.out(0, e.op("Identity", {e.in(0)}));
      return e.status();
    }
    e.out(0, e.op("Collective", {e.in(0)},
                  {{"operation", std::string(what_.kind->name)},
                   {"reduction", std::string(what_.reduction)},
                   {"ranks", what_.ranks},
                   {"root", what_.root},
                   {"groups", what_.groups}}));
    return e.status();
  }

 private:
  Collective what_;
};

// The operations that a program of this level has numbers for.
Result<const CollectiveKind*> kind_of(CollectiveOperation operation, ApiLevel level) {
  const auto number = static_cast<size_t>(static_cast<uint32_t>(operation));
  const size_t known =
      level == ApiLevel::k11 ? collective_kinds().size() : static_cast<size_t>(EnumMax<CollectiveOperation>());
  if (number < known) return &collective_kinds()[number];
  return invalid_argument("collective operation {} is not one of the {} there are", static_cast<int32_t>(operation),
                          known);
}

Result<std::string_view> reduction_of(ReduceOperation operation) {
  WOOTZ_RETURN_IF_ERROR(check_enum(operation, "reduction"));
  if (operation == ReduceOperation::kNONE) return rank_reductions()[0];
  return rank_reductions()[1 + static_cast<size_t>(operation)];
}

Result<std::vector<int64_t>> groups_of(const int64_t* groups, int64_t count) {
  if (count < 0 || count > kMostRanks || (count > 0 && groups == nullptr))
    return invalid_argument("{} ranks in groups, which are {}", count, groups == nullptr ? "null" : "a list");
  return count == 0 ? std::vector<int64_t>() : std::vector<int64_t>(groups, groups + count);
}

}  // namespace

IDistCollectiveLayer* NetworkImpl::addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
                                                     ReduceOperation reduceOp, int64_t root, int64_t* groups,
                                                     int64_t groupSize) noexcept {
  return add_or_null<IDistCollectiveLayer>(
      *this, "INetworkDefinition::addDistCollective", [&]() -> Result<IDistCollectiveLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
        Collective what;
        WOOTZ_ASSIGN_OR_RETURN(what.kind, kind_of(distCollectiveOp, reporter().level()));
        WOOTZ_ASSIGN_OR_RETURN(what.reduction, reduction_of(reduceOp));
        WOOTZ_ASSIGN_OR_RETURN(what.groups, groups_of(groups, groupSize));
        what.root = what.kind->rooted ? root : -1;
        WOOTZ_RETURN_IF_ERROR(check_kind(what));
        return add_layer<DistCollectiveLayer>(std::move(inputs), 1, std::move(what));
      });
}

}  // namespace wootz::api

#include "backends/cuda/nccl/team.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace wootz::cuda {
namespace {

// A team that is being formed, or was. Forming it waits for other ranks, which may be threads of this process.
struct Forming {
  std::once_flag once;
  std::weak_ptr<const Team> team;
};

struct Table {
  std::mutex mutex;
  std::map<std::pair<ncclComm_t, std::vector<int64_t>>, std::weak_ptr<Forming>> known;
};
Table& table() {
  static Table* const instance = new Table;  // outlives whatever ends with the process
  return *instance;
}

// With the team, so that another one is formed when all who had it are gone.
struct Shared {
  Shared(const NcclFunctions& api, ncclComm_t whole) : team(api, whole) {}
  Team team;
  std::shared_ptr<Forming> forming;
};

std::shared_ptr<Forming> forming_of(ncclComm_t whole, const std::vector<int64_t>& groups) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::erase_if(all.known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Forming>& known = all.known[{whole, groups}];
  std::shared_ptr<Forming> forming = known.lock();
  if (forming == nullptr) known = forming = std::make_shared<Forming>();
  return forming;
}

}  // namespace

Team::~Team() {
  if (own_) api_.ncclCommDestroy(comm_);
}

Status Team::form(const std::vector<int64_t>& groups) {
  const ncclComm_t whole = comm_;
  WOOTZ_NCCL_RETURN_IF_ERROR(api_, whole, ncclCommCount, whole, &size_);
  WOOTZ_NCCL_RETURN_IF_ERROR(api_, whole, ncclCommUserRank, whole, &rank_);
  bool all = groups.empty() || groups.size() == static_cast<size_t>(size_);
  for (size_t i = 0; i < groups.size(); ++i) all = all && groups[i] == static_cast<int64_t>(i);
  if (all) return Status();
  const auto mine = std::find(groups.begin(), groups.end(), rank_);
  const bool takes_part = mine != groups.end();
  const int place = static_cast<int>(mine - groups.begin());
  // Ranks of other groups split at the same time, each with the first of its group as the color.
  const int color = takes_part ? static_cast<int>(*std::min_element(groups.begin(), groups.end())) : kNcclNoColor;
  ncclComm_t part = nullptr;
  WOOTZ_NCCL_RETURN_IF_ERROR(api_, whole, ncclCommSplit, whole, color, takes_part ? place : 0, &part, nullptr);
  rank_ = -1;
  if (!takes_part) return Status();
  if (part == nullptr) return internal_error("ncclCommSplit gave no communicator");
  comm_ = part;
  own_ = true;
  WOOTZ_NCCL_RETURN_IF_ERROR(api_, part, ncclCommCount, part, &size_);
  WOOTZ_NCCL_RETURN_IF_ERROR(api_, part, ncclCommUserRank, part, &rank_);
  if (size_ != static_cast<int>(groups.size()) || rank_ != place)
    return invalid_argument(
        "rank {} of {} came out of splitting the communicator, {} of {} was to: the ranks do not "
        "agree about the groups",
        rank_, size_, place, groups.size());
  return Status();
}

Result<std::shared_ptr<const Team>> Team::of(const NcclFunctions& api, ncclComm_t whole,
                                             const std::vector<int64_t>& groups) {
  const std::shared_ptr<Forming> forming = forming_of(whole, groups);
  std::shared_ptr<const Team> team;
  Status status;
  std::call_once(forming->once, [&] {
    const auto made = std::make_shared<Shared>(api, whole);
    status = made->team.form(groups);
    if (!status.ok()) return;
    made->forming = forming;
    team = std::shared_ptr<const Team>(made, &made->team);
    forming->team = team;
  });
  WOOTZ_RETURN_IF_ERROR(status);
  if (team == nullptr) team = forming->team.lock();
  if (team == nullptr)
    return make_error(Code::kInvalidState, "the communicator could not be split for the groups before");
  return team;
}

}  // namespace wootz::cuda

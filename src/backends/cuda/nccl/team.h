// The ranks that take part in an operation: all of an application's communicator, or some in an order of their own.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/nccl/library.h"

namespace wootz::cuda {

class Team {
 public:
  // `groups`: ranks of the communicator; empty: all of them. Where they are not simply all of it, the communicator is
  // split, which every rank of it must take part in at the same time. Kernels that name the same ranks share a team.
  static Result<std::shared_ptr<const Team>> of(const NcclFunctions& api, ncclComm_t whole,
                                                const std::vector<int64_t>& groups);
  Team(const NcclFunctions& api, ncclComm_t whole) : api_(api), comm_(whole) {}
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  const NcclFunctions& api() const { return api_; }
  ncclComm_t comm() const { return comm_; }
  int size() const { return size_; }
  int rank() const { return rank_; }  // among those that take part; -1: this one does not

 private:
  Status form(const std::vector<int64_t>& groups);

  const NcclFunctions& api_;
  ncclComm_t comm_;
  int size_ = 0, rank_ = -1;
  bool own_ = false;
};

}  // namespace wootz::cuda

// Batches of inputs for the tools that run networks: from files, or random.
#pragma once

#include <memory>

#include "data.h"
#include "logger.h"
#include "shapes.h"

namespace wootz_cli {

struct InputRequest {
  std::vector<std::string> data;  // .npz and .npy files, and folders of such; none: random
  int64_t seed = -1;              // of what is random; -1: another one in each run
  int batches = 0;                // most; 0: all of the files, or one of random numbers
};

// As wootz_batches_add() takes them.
class InputBatches {
 public:
  InputBatches(const InputRequest& request, const InputForms& forms, const Logger& logger);
  void* get() const { return batches_.get(); }
  size_t count() const { return count_; }
  // Of random numbers; -1: they are from files.
  int64_t seed() const { return seed_; }

 private:
  void add(const NamedArrays& arrays, const Logger& logger);
  std::unique_ptr<void, void (*)(void*)> batches_;
  size_t count_ = 0;
  int64_t seed_ = -1;
};

}  // namespace wootz_cli

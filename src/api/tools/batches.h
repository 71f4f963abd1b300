// Inputs that an application hands over to be run (wootz_batches_add).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace wootz::api {

using Batch = std::map<std::string, HostTensor, std::less<>>;  // by the names of inputs
struct Batches {
  std::vector<Batch> all;
};

}  // namespace wootz::api

// What a refittable plan keeps beside its program: the build that it came from, as plain data. With other weights the
// same build, its choices fixed, gives what a new build with these weights would give (build/refit). Comes from plan
// files: verify_program proves that it holds together; the texts are read by those who refit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace wootz {

// Constants of the graph as the build was handed them.
struct RefitConstant {
  DType dtype = DType::kInvalid;
  Dims dims;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
  const void* data = nullptr;
  // Of a stripped plan: the bytes are not in it, a refit brings them. `digest` is what they were, where that is asked.
  bool stripped = false;
  std::array<std::byte, 16> digest{};
};

// A weight as refitters know it. One constant may be several: two layers may share it.
struct RefitWeight {
  static constexpr uint8_t kNoRole = 255;
  std::string name;        // by which it is set; empty: by layer and role alone
  std::string layer;       // of the network, where the weight is a layer's own
  uint8_t role = kNoRole;  // WeightsRole of the API
  int32_t constant = -1;   // index into RefitRecipe::constants
  bool refittable = true;  // false: it was not marked, in a plan whose weights are refitted one by one
};

struct RefitRecipe {
  std::string graph;     // ir/text.h; constants elided by name, which is their index here
  std::string settings;  // JSON (build/refit/recipe.h)
  std::string choices;   // JSON (build/refit/fixed_choices.h)
  std::vector<RefitConstant> constants;
  std::vector<RefitWeight> weights;
  bool identical = false;  // weights come back as they were: others are refused
};

}  // namespace wootz

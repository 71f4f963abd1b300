#include "tool_inputs.h"

#include <random>

#include "session.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

NamedArrays random_arrays(const InputForms& forms, std::mt19937& random) {
  NamedArrays arrays;
  for (const auto& [name, form] : forms) {
    Array& array = arrays[name];
    array.dtype = form.dtype;
    array.shape = form.shape;
    fill_random(array, random);
  }
  return arrays;
}

}  // namespace

InputBatches::InputBatches(const InputRequest& request, const InputForms& forms, const Logger& logger)
    : batches_(wootz_batches_create(), wootz_batches_destroy) {
  if (request.batches < 0) throw Usage("--batches: a number from 0");
  if (!request.data.empty()) {
    if (request.seed >= 0) throw Usage("--seed: the inputs are not random, they are from files (--data)");
    DataBatches data("data", request.data, forms);
    while (request.batches == 0 || count_ < static_cast<size_t>(request.batches)) {
      const std::optional<NamedArrays> arrays = data.next();
      if (!arrays) break;
      add(*arrays, logger);
    }
    return;
  }
  seed_ = request.seed >= 0 ? request.seed : static_cast<int64_t>(std::random_device()() & 0x7fffffffU);
  std::mt19937 random(static_cast<uint32_t>(seed_));
  for (int i = 0; i < std::max(1, request.batches); ++i) add(random_arrays(forms, random), logger);
}

void InputBatches::add(const NamedArrays& arrays, const Logger& logger) {
  std::vector<wootz_array> list;
  for (const auto& [name, array] : arrays)
    list.push_back({name.c_str(), static_cast<int>(array.dtype), static_cast<int>(array.shape.size()),
                    array.shape.data(), array.bytes.data()});
  if (wootz_batches_add(batches_.get(), list.data(), static_cast<int>(list.size())) != 0)
    fail("a batch of inputs was refused", logger);
  ++count_;
}

}  // namespace wootz_cli

#include "api/tools/batches.h"

#include "api/runtime/convert.h"
#include "api/runtime/reporter.h"
#include "wootz/extensions.h"

namespace wootz::api {
namespace {

Result<HostTensor> copied(const wootz_array& array) {
  const DType dtype = from_api(static_cast<nvinfer1::DataType>(array.type));
  if (dtype == DType::kInvalid) return invalid_argument("there is no type {}", array.type);
  if (array.rank < 0 || array.rank > limits::kMaxRank || (array.rank > 0 && array.dims == nullptr))
    return invalid_argument("rank {}", array.rank);
  Dims dims;
  for (int i = 0; i < array.rank; ++i) {
    if (array.dims[i] < 0) return invalid_argument("extent {} of axis {}", array.dims[i], i);
    dims.push_back(array.dims[i]);
  }
  WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(dtype, dims));
  if (tensor.bytes() == 0) return tensor;
  if (array.data == nullptr) return invalid_argument("its address is null");
  std::memcpy(tensor.mutable_data(), array.data, tensor.bytes());
  return tensor;
}

Status add_batch(Batches* batches, const wootz_array* arrays, int count) {
  if (batches == nullptr || (arrays == nullptr && count > 0) || count < 0)
    return invalid_argument("batches or arrays are null");
  Batch batch;
  for (int i = 0; i < count; ++i) {
    if (arrays[i].name == nullptr) return invalid_argument("array {} has no name", i);
    Result<HostTensor> tensor = copied(arrays[i]);
    if (!tensor.ok()) return tensor.status().with_prefix(fmt::format("array '{}'", arrays[i].name));
    if (!batch.emplace(arrays[i].name, std::move(tensor).value()).second)
      return invalid_argument("two arrays are named '{}'", arrays[i].name);
  }
  batches->all.push_back(std::move(batch));
  return Status();
}

}  // namespace
}  // namespace wootz::api

using wootz::api::Batches;

extern "C" {

void* wootz_batches_create(void) noexcept {
  return wootz::api::attempt_or<Batches*>(wootz::api::Reporter(wootz::api::process_logger()), "wootz_batches_create",
                                          nullptr, []() -> wootz::Result<Batches*> { return new Batches; });
}

int wootz_batches_add(void* batches, const wootz_array* arrays, int count) noexcept {
  const bool added = wootz::api::attempt(wootz::api::Reporter(wootz::api::process_logger()), "wootz_batches_add", [&] {
    return wootz::api::add_batch(static_cast<Batches*>(batches), arrays, count);
  });
  return added ? 0 : 1;
}

void wootz_batches_destroy(void* batches) noexcept { delete static_cast<Batches*>(batches); }

}  // extern "C"

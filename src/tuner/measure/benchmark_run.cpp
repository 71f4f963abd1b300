#include "tuner/measure/benchmark_run.h"

#include <algorithm>
#include <cstring>

#include "base/tolerance.h"
#include "tuner/layout/relayout.h"

namespace wootz {

Result<PackedConstants> pack_for(const Kernel& kernel, const Problem& problem, const std::vector<HostTensor>& inputs) {
  PackedConstants packed;
  packed.data.assign(problem.inputs.size(), nullptr);
  packed.bytes.assign(problem.inputs.size(), 0);
  std::vector<HostTensor> sources(problem.inputs.size());
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    if (problem.inputs[i].constant) sources[i] = inputs[i];
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    if (!problem.inputs[i].constant || !inputs[i].valid()) continue;
    const Result<std::optional<PackedForm>> form = kernel.pack_among(static_cast<int>(i), sources);
    if (!form.ok()) return form.status().with_prefix(fmt::format("packing input {}", i));
    if (form->has_value()) {
      Result<RawBytes> made = make_bytes(**form);
      if (!made.ok()) return made.status().with_prefix(fmt::format("packing input {}", i));
      const auto bytes = std::make_shared<const RawBytes>(std::move(made).value());
      packed.data[i] = bytes->data();
      packed.bytes[i] = bytes->size();
      packed.owners.push_back(bytes);
      continue;
    }
    const Layout layout = problem.inputs[i].layout == Layout::kOpaque ? Layout::kLinear : problem.inputs[i].layout;
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor moved, to_layout(inputs[i], layout));
    const auto keep = std::make_shared<const HostTensor>(moved);
    packed.data[i] = keep->data();
    packed.bytes[i] = keep->bytes();
    packed.owners.push_back(keep);
  }
  return packed;
}

Result<void*> BenchmarkRun::allocate(size_t bytes) {
  Result<void*> made = device_->allocate(std::max<size_t>(bytes, 64), 64);
  if (made.ok()) memory_.emplace_back(*made, [device = device_](void* p) { device->free(p); });
  return made;
}

Result<BenchmarkRun> BenchmarkRun::prepare(const Kernel& kernel, const Problem& problem,
                                           const PackedConstants& constants, const std::vector<HostTensor>& inputs,
                                           const std::vector<Dims>& outputs, Device& device, Stream* stream) {
  BenchmarkRun benchmark;
  benchmark.problem_ = &problem;
  benchmark.device_ = &device;
  benchmark.stream_ = stream;
  benchmark.output_dims_ = outputs;
  std::vector<Dims> in;
  for (const HostTensor& t : inputs) in.push_back(t.valid() ? t.dims() : Dims{});
  Result<std::unique_ptr<Call>> call = kernel.bind({in, outputs, constants.data, constants.bytes});
  if (!call.ok()) return call.status().with_prefix("bind");
  benchmark.call_ = std::move(call).value();
  WOOTZ_ASSIGN_OR_RETURN(benchmark.state_, attach_kernel(kernel, nullptr));
  if (!benchmark.call_->outputs_known()) return unsupported("the size of its outputs is known only after it has run");

  const auto room = [](const TensorDesc& desc, const Dims& dims) {
    return std::max(layout_bytes(desc.layout, desc.dtype, dims), layout_bytes(desc.layout, desc.dtype, desc.dims));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    benchmark.inputs_.push_back(nullptr);
    benchmark.constant_bytes_.push_back(0);
    if (!inputs[i].valid()) continue;
    const TensorDesc& desc = problem.inputs[i];
    const void* from = constants.data[i];
    size_t bytes = constants.bytes[i], size = bytes;
    HostTensor placed;
    if (!desc.constant) {
      WOOTZ_ASSIGN_OR_RETURN(placed, to_layout(inputs[i], desc.layout));
      from = placed.data();
      bytes = placed.bytes();
      size = std::max(bytes, room(desc, inputs[i].dims()));
    }
    WOOTZ_ASSIGN_OR_RETURN(void* const memory, benchmark.allocate(size));
    if (bytes != 0) WOOTZ_RETURN_IF_ERROR(device.copy(memory, from, bytes, stream));
    if (stream != nullptr) WOOTZ_RETURN_IF_ERROR(stream->synchronize());  // `placed` goes away
    benchmark.inputs_.back() = memory;
    if (desc.constant) benchmark.constant_bytes_.back() = size;
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    benchmark.outputs_.push_back(nullptr);
    if (problem.outputs[o].dtype == DType::kInvalid) continue;
    WOOTZ_ASSIGN_OR_RETURN(benchmark.outputs_.back(), benchmark.allocate(room(problem.outputs[o], outputs[o])));
  }
  // As the executor gives it, after other memory: aligned to 64 bytes and no more.
  WOOTZ_ASSIGN_OR_RETURN(void* const workspace, benchmark.allocate(benchmark.call_->workspace() + 64));
  benchmark.workspace_ = static_cast<std::byte*>(workspace) + 64;
  return benchmark;
}

bool BenchmarkRun::share_in_place(const Kernel& kernel) {
  bool shared = false;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const int i = kernel.in_place(static_cast<int>(o));
    if (i < 0 || static_cast<size_t>(i) >= inputs_.size() || inputs_[static_cast<size_t>(i)] == nullptr) continue;
    const TensorDesc &in = problem_->inputs[static_cast<size_t>(i)], &out = problem_->outputs[o];
    if (in.constant || in.dtype != out.dtype || in.layout != out.layout || !(in.dims == out.dims)) continue;
    // The first run reads what it would read; the others what came of it.
    const size_t bytes = layout_bytes(out.layout, out.dtype, output_dims_[o]);
    if (!device_->copy(outputs_[o], inputs_[static_cast<size_t>(i)], bytes, stream_).ok()) continue;
    inputs_[static_cast<size_t>(i)] = outputs_[o];
    shared = true;
  }
  return shared;
}

Result<int> BenchmarkRun::rotate_constants(std::byte* memory, size_t bytes) {
  constexpr size_t kAlign = 256;
  std::vector<size_t> places(inputs_.size(), 0);
  size_t each = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    places[i] = each;
    each += (constant_bytes_[i] + kAlign - 1) / kAlign * kAlign;
  }
  const size_t copies = each == 0 ? 0 : bytes / each;
  if (copies < 2) return 1;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (constant_bytes_[i] != 0)
      WOOTZ_RETURN_IF_ERROR(device_->copy(memory + places[i], inputs_[i], constant_bytes_[i], stream_));
  for (size_t made = 1; made < copies;) {
    const size_t more = std::min(made, copies - made);
    WOOTZ_RETURN_IF_ERROR(device_->copy(memory + made * each, memory, more * each, stream_));
    made += more;
  }
  rotated_.assign(copies, inputs_);
  for (size_t c = 0; c < copies; ++c)
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (constant_bytes_[i] != 0) rotated_[c][i] = memory + c * each + places[i];
  return static_cast<int>(copies);
}

Status BenchmarkRun::run() const {
  const std::vector<const void*>& inputs = rotated_.empty() ? inputs_ : rotated_[turn_++ % rotated_.size()];
  return run_call(*call_, {inputs.data(), outputs_.data(), workspace_, nullptr, stream_}, state_.get());
}

Result<bool> BenchmarkRun::finite() const {
  constexpr size_t kAtOnce = size_t{2} << 20;  // in memory that is there already, and stays in a cache
  const auto part = std::make_unique_for_overwrite<std::byte[]>(kAtOnce);
  if (stream_ != nullptr) WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const DType type = problem_->outputs[o].dtype;
    if (outputs_[o] == nullptr || !is_float(type)) continue;
    const size_t bytes = layout_bytes(problem_->outputs[o].layout, type, output_dims_[o]);
    for (size_t at = 0; at < bytes; at += kAtOnce) {
      const size_t more = std::min(kAtOnce, bytes - at);
      WOOTZ_RETURN_IF_ERROR(device_->copy(part.get(), static_cast<const std::byte*>(outputs_[o]) + at, more, stream_));
      if (stream_ != nullptr) WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
      const auto places = static_cast<int64_t>(more * 8) / dtype_bits(type);
      if (first_non_finite(HostTensor::wrap(type, {places}, part.get(), nullptr)) >= 0) return false;
    }
  }
  return true;
}

Result<std::vector<HostTensor>> BenchmarkRun::results() const {
  if (stream_ != nullptr) WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
  std::vector<HostTensor> tensors(outputs_.size());
  for (size_t o = 0; o < outputs_.size(); ++o) {
    if (outputs_[o] == nullptr) continue;
    const TensorDesc& desc = problem_->outputs[o];
    const size_t size = layout_bytes(desc.layout, desc.dtype, output_dims_[o]);
    const auto bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    WOOTZ_RETURN_IF_ERROR(device_->copy(bytes.get(), outputs_[o], size, stream_));
    if (stream_ != nullptr) WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
    WOOTZ_ASSIGN_OR_RETURN(tensors[o], from_layout(bytes.get(), desc.layout, desc.dtype, output_dims_[o]));
  }
  return tensors;
}

}  // namespace wootz

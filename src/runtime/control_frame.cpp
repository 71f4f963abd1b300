#include "runtime/control_frame.h"

namespace wootz {

BodyRun::BodyRun(std::shared_ptr<const EngineCore> engine) : bindings_(engine), executor_(std::move(engine)) {
  const std::shared_ptr<OutputSink> self(std::shared_ptr<void>(), this);  // owns nothing
  for (size_t o = 0; o < program().outputs.size(); ++o) bindings_.set_output_sink(o, self);
}

Status BodyRun::set_input(size_t input, const void* address, const Dims& dims) {
  bindings_.set_input_address(input, address);
  return bindings_.set_input_dims(input, dims);
}

Status BodyRun::run(PlaceFunction place) {
  place_ = &place;
  why_ = {};
  Status status = executor_.run(bindings_);
  place_ = nullptr;
  return why_.ok() ? status : why_;
}

void* BodyRun::reallocate(int output, void*, size_t bytes, const Dims& dims) {
  return (*place_)(static_cast<size_t>(output), bytes, dims);
}

Result<Dims> BodyRun::dims_of_none(size_t output) {
  WOOTZ_RETURN_IF_ERROR(bindings_.resolve_shapes());
  const PlanTensor& tensor = program().tensors[program().outputs[output].tensor];
  const ShapeValues& shapes = bindings_.plan()->shapes;
  Dims dims;
  for (const ExpressionIndex e : tensor.dims) dims.push_back(shapes.known[e] ? shapes.values[e] : 0);
  return dims;
}

ControlFrame::ControlFrame(const std::vector<std::shared_ptr<const EngineCore>>& engines, Device& device,
                           size_t num_states, size_t num_scans, size_t num_stacked) {
  for (const auto& engine : engines) bodies.push_back(std::make_unique<BodyRun>(engine));
  const auto make = [&](std::vector<GrowingBuffer>* buffers, size_t count) {
    for (size_t i = 0; i < count; ++i) buffers->emplace_back(device);
  };
  make(&states[0], num_states);
  make(&states[1], num_states);
  make(&sequences, num_scans);
  make(&stacks, num_stacked);
  carried.resize(num_states);
}

}  // namespace wootz

#include "runtime/aux_streams.h"

namespace wootz {

Status AuxStreams::prepare(Device& device, const StreamOrder& order) {
  if (order.streams == 1 || ready(order)) return Status();
  while (events_.size() < order.events) {
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, device.create_event());
    if (event == nullptr) return Status();
    events_.push_back(std::move(event));
  }
  while (own_.size() + 1 < order.streams) {
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device.create_stream());
    own_.push_back(std::move(stream));
  }
  return Status();
}

Stream& AuxStreams::stream(size_t number) const {
  if (number == 0) return *main_;
  return number <= given_.size() ? *given_[number - 1] : *own_[number - 1];
}

Status AuxStreams::begin(const StreamOrder& order, Stream& main, std::span<Stream* const> given) {
  order_ = &order;
  main_ = &main;
  given_ = given;
  return main.record(*events_[StreamOrder::kBegin]);
}

Result<Stream*> AuxStreams::before(StepIndex step) {
  Stream& on = stream(order_->stream[step]);
  for (const int32_t event : order_->waits[step])
    WOOTZ_RETURN_IF_ERROR(on.wait_for(*events_[static_cast<size_t>(event)]));
  return &on;
}

Status AuxStreams::after(StepIndex step) {
  const int32_t event = order_->record[step];
  return event < 0 ? Status() : stream(order_->stream[step]).record(*events_[static_cast<size_t>(event)]);
}

Status AuxStreams::end() {
  for (const int32_t event : order_->joins)
    WOOTZ_RETURN_IF_ERROR(main_->wait_for(*events_[static_cast<size_t>(event)]));
  return Status();
}

}  // namespace wootz

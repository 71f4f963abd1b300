// Where an engine's weights are: on the device, on their way there, or in a file.
#include <cstring>
#include <map>

#include "base/mapped.h"
#include "runtime/engine_core.h"

namespace wootz {
namespace {

constexpr size_t kAlign = 256;

size_t room_for(size_t bytes) { return (bytes + kAlign) / kAlign * kAlign; }

std::span<const std::byte> span_of(const PlanConstant& c) { return {static_cast<const std::byte*>(c.data), c.bytes}; }

}  // namespace

// Where the whole program's constants with the same bytes are on the device; null: its own. A refit gives equal bytes
// new values one by one, so that none are shared there.
IndexedVector<ConstantIndex, const void*> EngineCore::lent_constants() const {
  IndexedVector<ConstantIndex, const void*> lent(program_->constants.size(), nullptr);
  if (whole_ == nullptr || refittable_ || options_.stream_weights) return lent;
  std::map<std::pair<const void*, size_t>, const void*> known;
  const Program& whole = whole_->program();
  for (const ConstantIndex c : whole.constants.indices())
    known[{whole.constants[c].data, whole.constants[c].bytes}] = whole_->constant_address(c);
  for (const ConstantIndex c : lent.indices()) {
    const PlanConstant& constant = program_->constants[c];
    const auto found = known.find({constant.data, constant.bytes});
    if (constant.data != nullptr && found != known.end()) lent[c] = found->second;
  }
  return lent;
}

Status EngineCore::upload_constants() {
  const IndexedVector<ConstantIndex, const void*> lent = lent_constants();
  const auto stays = [&](ConstantIndex c) {
    return lent[c] == nullptr && (!residency_.way.has(c) || residency_.way[c] < 0);
  };
  IndexedVector<ConstantIndex, size_t> offsets;
  size_t total = 0;
  for (const ConstantIndex i : program_->constants.indices()) {
    offsets.push_back(total);
    if (stays(i)) total += room_for(program_->constants[i].bytes);
  }
  if (offsets.size() == 0) return Status();
  if (total != 0) {
    Result<void*> memory = device_->allocate(total, kAlign);
    if (!memory.ok()) return memory.status().with_prefix("weights");
    constant_memory_ = *memory;
  }
  RawBytes scratch;
  for (const ConstantIndex i : offsets.indices()) {
    constants_.push_back(stays(i) ? static_cast<std::byte*>(constant_memory_) + offsets[i] : lent[i]);
    if (!stays(i)) continue;
    const PlanConstant& c = program_->constants[i];
    WOOTZ_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, bytes_of(c, &scratch));
    if (!bytes.empty() && !program_->stripped)
      WOOTZ_RETURN_IF_ERROR(
          device_->copy(const_cast<void*>(constants_[i]), bytes.data(), bytes.size(), nullptr).with_prefix("weights"));
    release_pages(c);
  }
  return Status();
}

Status EngineCore::fill_host_copies() {
  size_t total = 0;
  for (const StreamedWeight& weight : residency_.streamed) {
    host_offsets_.push_back(total);
    total += room_for(program_->constants[weight.constant].bytes);
  }
  if (total == 0) return Status();
  Result<void*> memory = device_->allocate_host(total);
  if (!memory.ok()) return memory.status().with_prefix("weights in host memory");
  host_copies_ = static_cast<std::byte*>(*memory);
  for (size_t w = 0; w < residency_.streamed.size(); ++w) {
    const PlanConstant& c = program_->constants[residency_.streamed[w].constant];
    if (!program_->stripped) std::memcpy(host_copies_ + host_offsets_[w], c.data, c.bytes);
    release_pages(c);
  }
  return Status();
}

void EngineCore::drop_weights() {
  if (constant_memory_ != nullptr) device_->free(std::exchange(constant_memory_, nullptr));
  if (host_copies_ != nullptr) device_->free_host(std::exchange(host_copies_, nullptr));
  host_offsets_.clear();
  if (lender_ == nullptr) constants_ = {};
  placed_ = false;
}

Status EngineCore::place_weights() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (placed_) return Status();
  if (!device_->host_memory()) {
    const DeviceScope current(*device_);
    Status status = upload_constants();
    if (status.ok()) status = fill_host_copies();
    if (!status.ok()) {
      drop_weights();
      return status;
    }
  }
  placed_ = true;
  return Status();
}

Status EngineCore::set_weight_budget(size_t budget) {
  if (!options_.stream_weights)
    return make_error(Code::kInvalidState, "the engine was not built to stream its weights");
  WeightResidency next = plan_residency(*program_, budget);
  if (device_->host_memory() && !program_->stripped)  // a refit puts them into a file
    for (const StreamedWeight& weight : next.streamed)
      if (const PlanConstant& c = program_->constants[weight.constant]; !can_release(span_of(c)))
        return make_error(Code::kInvalidState,
                          "weights '{}' are in no file that they could come back from: load the plan from a file, or "
                          "by a runtime whose temporary directory can be written to",
                          c.name);
  const std::lock_guard<std::mutex> lock(mutex_);
  const DeviceScope current(*device_);
  drop_weights();
  residency_ = std::move(next);
  if (device_->host_memory())
    for (const StreamedWeight& weight : residency_.streamed) release_pages(program_->constants[weight.constant]);
  cache_.clear();
  generation_.fetch_add(1, std::memory_order_release);
  return Status();
}

std::span<const std::byte> EngineCore::streamed_bytes(size_t number) const {
  const PlanConstant& c = program_->constants[residency_.streamed[number].constant];
  return host_copies_ == nullptr ? span_of(c) : std::span(host_copies_ + host_offsets_[number], c.bytes);
}

// A new weight in the place of the old one, where the device has a place for it.
Status EngineCore::update_constant(ConstantIndex number, const PlanConstant& constant, Stream* stream) {
  if (constants_.empty()) return Status();
  if (void* const to = const_cast<void*>(constants_[number]))
    return device_->copy(to, constant.data, constant.bytes, stream).with_prefix("weights");
  if (stream != nullptr) WOOTZ_RETURN_IF_ERROR(stream->synchronize());
  std::memcpy(host_copies_ + host_offsets_[static_cast<size_t>(residency_.way[number])], constant.data, constant.bytes);
  return Status();
}

// New weights of a host's engine that streams come from a file as the old ones did.
Status EngineCore::keep_in_file(ProgramUpdate* update) const {
  if (!options_.stream_weights || !device_->host_memory()) return Status();
  for (ProgramUpdate& body : update->bodies) WOOTZ_RETURN_IF_ERROR(keep_in_file(&body));
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& [number, constant] : update->constants) pieces.push_back(span_of(constant));
  if (pieces.empty()) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const MappedCopies copies, map_copies(options_.temporary_files, pieces));
  for (size_t i = 0; i < pieces.size(); ++i) {
    update->constants[i].second.owner = copies.owner;
    update->constants[i].second.data = copies.pieces[i].data();
  }
  return Status();
}

}  // namespace wootz

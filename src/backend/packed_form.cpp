#include "backend/packed_form.h"

#include <cstring>
#include <new>

namespace wootz {

PackedForm packed_by(size_t bytes, std::function<Result<std::vector<std::byte>>()> pack, uint32_t version) {
  const auto make = [pack = std::move(pack)](std::span<std::byte> to) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::byte> made, pack());
    if (made.size() != to.size())
      return internal_error("{} bytes of a packed weight, {} were announced", made.size(), to.size());
    if (!made.empty()) std::memcpy(to.data(), made.data(), made.size());
    return Status();
  };
  return {bytes, make, version};
}

Result<RawBytes> make_bytes(const PackedForm& form, RawBytes room) {
  try {
    if (room.capacity() < form.bytes) room = RawBytes();  // not to be copied
    room.resize(form.bytes);
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "no memory for {} bytes of a packed weight", form.bytes);
  }
  WOOTZ_RETURN_IF_ERROR(form.make(room));
  return room;
}

}  // namespace wootz

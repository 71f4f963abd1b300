#include "base/status.h"

namespace wootz {

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kUnsupported: return "UNSUPPORTED";
    case Code::kInvalidState: return "INVALID_STATE";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kCorrupt: return "CORRUPT";
    case Code::kIo: return "IO";
    case Code::kCancelled: return "CANCELLED";
    case Code::kInternal: return "INTERNAL";
  }
  return "UNKNOWN";
}

const char* place_kind_name(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kNetwork: return "network";
    case PlaceKind::kLayer: return "layer";
    case PlaceKind::kNode: return "node";
    case PlaceKind::kTensor: return "tensor";
  }
  return "place";
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

Status Status::with_prefix(std::string_view prefix) const {
  if (ok()) return *this;
  Status outer;
  outer.rep_ = std::make_shared<const Rep>(Rep{rep_->code, fmt::format("{}: {}", prefix, rep_->message), rep_->places});
  return outer;
}

Status Status::at(PlaceKind kind, std::string_view name, std::string_view detail) const {
  if (ok()) return *this;
  Rep outer{
      rep_->code,
      fmt::format("{} '{}'{}{}: {}", place_kind_name(kind), name, detail.empty() ? "" : " ", detail, rep_->message),
      rep_->places};
  outer.places.push_back({kind, std::string(name)});
  Status status;
  status.rep_ = std::make_shared<const Rep>(std::move(outer));
  return status;
}

const StatusPlace* Status::place(PlaceKind kind) const {
  if (ok()) return nullptr;
  for (const StatusPlace& place : rep_->places)
    if (place.kind == kind) return &place;
  return nullptr;
}

std::string Status::to_string() const {
  if (ok()) return "OK";
  return fmt::format("{}: {}", code_name(rep_->code), rep_->message);
}

}  // namespace wootz

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

const std::string& Status::message() const {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

Status Status::with_prefix(std::string_view prefix) const {
  if (ok()) return *this;
  return Status(rep_->code, fmt::format("{}: {}", prefix, rep_->message));
}

std::string Status::to_string() const {
  if (ok()) return "OK";
  return fmt::format("{}: {}", code_name(rep_->code), rep_->message);
}

}  // namespace wootz

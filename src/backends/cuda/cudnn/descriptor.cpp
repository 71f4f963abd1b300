#include "backends/cuda/cudnn/descriptor.h"

#include <utility>

namespace wootz::cuda {

using cudnn::Attribute;
using cudnn::Kind;
using cudnn::ValueType;

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary& library, Kind kind)
    : library_(&library), failed_(library.cudnnBackendCreateDescriptor(kind, &raw_)) {
  if (failed_ != cudnn::kSuccess) raw_ = nullptr;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (raw_ != nullptr) library_->cudnnBackendDestroyDescriptor(raw_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : library_(other.library_), raw_(std::exchange(other.raw_, nullptr)), failed_(other.failed_) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(raw_, other.raw_);
  std::swap(failed_, other.failed_);
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(Attribute which, ValueType type, int64_t count, const void* values) {
  if (failed_ == cudnn::kSuccess) failed_ = library_->cudnnBackendSetAttribute(raw_, which, type, count, values);
  return *this;
}

Status CudnnDescriptor::finish(const char* what) {
  if (failed_ == cudnn::kSuccess) failed_ = library_->cudnnBackendFinalize(raw_);
  return failed_ == cudnn::kSuccess ? Status() : library_->error(what, failed_);
}

Result<int64_t> CudnnDescriptor::get(Attribute which, ValueType type, int64_t room, void* values) const {
  int64_t count = 0;
  const cudnn::Code code = library_->cudnnBackendGetAttribute(raw_, which, type, room, &count, values);
  if (code != cudnn::kSuccess) return library_->error("an attribute", code);
  return count;
}

Result<int64_t> CudnnDescriptor::get_number(Attribute which) const {
  int64_t value = 0;
  WOOTZ_RETURN_IF_ERROR(get(which, ValueType::kInt64, 1, &value).status());
  return value;
}

Result<std::string> CudnnDescriptor::get_text(Attribute which) const {
  WOOTZ_ASSIGN_OR_RETURN(const int64_t size, get(which, ValueType::kChar, 0, nullptr));
  std::string text(static_cast<size_t>(size), '\0');
  WOOTZ_ASSIGN_OR_RETURN(const int64_t filled, get(which, ValueType::kChar, size, text.data()));
  if (filled < size) text.resize(static_cast<size_t>(filled));
  return text;
}

Result<std::vector<CudnnDescriptor>> CudnnDescriptor::get_all(Attribute which, Kind kind, int64_t room) const {
  std::vector<CudnnDescriptor> all;
  for (int64_t i = 0; i < room; ++i) {
    all.emplace_back(*library_, kind);
    if (!all.back()) return library_->error("a descriptor", all.back().failed_);
  }
  std::vector<void*> raw = raw_of(all);
  WOOTZ_ASSIGN_OR_RETURN(const int64_t filled, get(which, ValueType::kDescriptor, room, raw.data()));
  if (filled < room) all.resize(static_cast<size_t>(filled));
  return all;
}

std::vector<void*> raw_of(const std::vector<CudnnDescriptor>& all) {
  std::vector<void*> raw;
  for (const CudnnDescriptor& d : all) raw.push_back(d.raw());
  return raw;
}

}  // namespace wootz::cuda

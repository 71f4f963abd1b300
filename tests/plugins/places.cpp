#include "plugins/places.h"

#include <cstdlib>
#include <cstring>

namespace wootz_test {

void* Place::allocate(size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
void Place::release(void* memory) { std::free(memory); }
bool Place::copy(void* to, const void* from, size_t bytes, cudaStream_t) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return true;
}
bool Place::wait(cudaStream_t) { return true; }

Place*& place() {
  static Place* now = places().front();
  return now;
}

void* Staging::at(const void* tensor, size_t bytes) {
  if (place()->is_host() || tensor == nullptr) return const_cast<void*>(tensor);
  for (Copy& copy : copies_)
    if (copy.tensor == tensor && copy.bytes.size() >= bytes) return copy.bytes.data();
  Copy& copy = copies_.emplace_back(Copy{const_cast<void*>(tensor), std::vector<char>(bytes + 1)});
  if (status_ == 0 && !place()->copy(copy.bytes.data(), tensor, bytes, stream_)) status_ = 96;
  copy.bytes.resize(bytes);
  return copy.bytes.data();
}
int32_t Staging::done(int32_t answer) {
  if (answer != 0) return answer;
  for (const Copy& copy : copies_)
    if (status_ == 0 && !place()->copy(copy.tensor, copy.bytes.data(), copy.bytes.size(), stream_)) status_ = 95;
  return status_;
}

size_t bytes_of(nvinfer1::DataType type) {
  using nvinfer1::DataType;
  switch (type) {
    case DataType::kINT64: return 8;
    case DataType::kFLOAT:
    case DataType::kINT32: return 4;
    case DataType::kHALF:
    case DataType::kBF16: return 2;
    default: return 1;
  }
}

OnEachPlace::OnEachPlace() : before_(std::getenv("WOOTZ_BACKEND")) {
  place() = GetParam();
  place()->open();
  ::setenv("WOOTZ_BACKEND", place()->backend(), 1);
}
OnEachPlace::~OnEachPlace() {
  EXPECT_EQ(place()->faults(), "");
  place() = places().front();
  before_ == nullptr ? ::unsetenv("WOOTZ_BACKEND") : ::setenv("WOOTZ_BACKEND", before_, 1);
}

}  // namespace wootz_test

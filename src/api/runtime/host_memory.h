// IHostMemory over bytes that somebody keeps alive.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "api/runtime/public.h"

namespace wootz::api {

class HostMemory final : public nvinfer1::IHostMemory {
 public:
  explicit HostMemory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  std::size_t size() const noexcept override { return bytes_.size(); }
  nvinfer1::DataType type() const noexcept override { return nvinfer1::DataType::kINT8; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace wootz::api

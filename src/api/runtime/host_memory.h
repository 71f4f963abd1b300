// IHostMemory over bytes that their owner keeps alive.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "api/runtime/public.h"
#include "base/raw_bytes.h"

namespace wootz::api {

class HostMemory final : public nvinfer1::IHostMemory {
 public:
  explicit HostMemory(RawBytes bytes) : bytes_(std::make_shared<const RawBytes>(std::move(bytes))) {}
  explicit HostMemory(std::span<const std::byte> copied) : HostMemory(RawBytes(copied.begin(), copied.end())) {}
  void* data() const noexcept override { return const_cast<std::byte*>(bytes_->data()); }
  std::size_t size() const noexcept override { return bytes_->size(); }
  // For those who go on reading when the application has deleted this.
  const std::shared_ptr<const RawBytes>& shared() const { return bytes_; }
  nvinfer1::DataType type() const noexcept override { return nvinfer1::DataType::kINT8; }

 private:
  std::shared_ptr<const RawBytes> bytes_;
};

}  // namespace wootz::api

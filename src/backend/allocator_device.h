// Devices whose memory is the application's to give.
#pragma once

#include <memory>

#include "backend/device.h"
#include "wootz/allocator.h"

namespace wootz::api {

// The device with every byte of its memory from `allocator`, which must outlive what is allocated; the device itself
// where that is null.
std::shared_ptr<Device> with_allocator(std::shared_ptr<Device> device, nvinfer1::IGpuAllocator* allocator);

}  // namespace wootz::api

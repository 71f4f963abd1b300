// The emulated GPUs: how many there are, and whose context is current on a thread.
#pragma once

#include "backends/cuda/api/driver.h"

namespace wootz::cuda {

constexpr int kMostStandIns = 16;
constexpr int kNoDevice = -1;

void set_stand_in_devices(int count);
int stand_in_devices();
int current_stand_in();  // of this thread; kNoDevice: none
CUcontext stand_in_context(int device);

CUresult stand_in_device_get(CUdevice* device, int number);
CUresult stand_in_device_count(int* count);
CUresult stand_in_retain(CUcontext* context, CUdevice device);
CUresult stand_in_push(CUcontext context);
CUresult stand_in_pop(CUcontext* context);
CUresult stand_in_get_current(CUcontext* context);
CUresult stand_in_get_device(CUdevice* device);

}  // namespace wootz::cuda

// INoCopy: root of the objects that the library hands out.
#pragma once

namespace nvinfer1 {

/// Neither copied nor moved: such an object is known by its address. Whoever received it from a create..., build... or
/// deserialize... call owns it and ends it with delete; layers and tensors belong to their network.
class INoCopy {
 protected:
  INoCopy() = default;
  virtual ~INoCopy() noexcept = default;
  INoCopy(const INoCopy&) = delete;
  INoCopy(INoCopy&&) = delete;
  INoCopy& operator=(const INoCopy&) = delete;
  INoCopy& operator=(INoCopy&&) = delete;
};

}  // namespace nvinfer1

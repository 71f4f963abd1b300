// The tables of plugins, one for each file that has some.
#pragma once

#include "stock/plugin.h"

namespace wootz::stock {

std::span<const Plugin> efficient_nms_plugins();
std::span<const Plugin> batched_nms_plugins();
std::span<const Plugin> region_plugins();
std::span<const Plugin> norm_plugins();
std::span<const Plugin> scatter_plugins();
std::span<const Plugin> deformable_plugins();
std::span<const Plugin> transformer_plugins();
std::span<const Plugin> attention_plugins();
std::span<const Plugin> point_plugins();
std::span<const Plugin> anchor_plugins();
std::span<const Plugin> mask_rcnn_plugins();
std::span<const Plugin> crop_plugins();
std::span<const Plugin> simple_plugins();

}  // namespace wootz::stock

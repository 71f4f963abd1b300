// V2 plugins and their creators.
#pragma once

#include "NvInferPluginBase.h"
#include "NvInferRuntimeBase.h"
#include "wootz/plugin_tensor.h"
#include "wootz/plugin_v2.h"

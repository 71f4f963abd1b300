// The plugin registry, with all that it mentions.
#pragma once

#include "NvInferRuntimeBase.h"
#include "NvInferRuntimePlugin.h"
#include "wootz/plugin_registry.h"

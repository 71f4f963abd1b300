// Bases of plugins, plugin creators and plugin fields.
#pragma once

#include "NvInferRuntimeBase.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_field.h"

// Forward declarations and flag types. Nothing more stands behind this header here: the classes of the API are pure
// virtual and need no second set of implementation classes.
#pragma once

#include "NvInferRuntimeBase.h"
#include "wootz/forward.h"
#include "wootz/plugin_base.h"

// Parameters of detection plugins, as plain data.
#pragma once

#include "wootz/plugin_params.h"

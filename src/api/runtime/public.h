// The public headers as this library sees them: it implements the deprecated names too.
#pragma once

#ifndef WOOTZ_NO_DEPRECATION
#define WOOTZ_NO_DEPRECATION
#endif
#include "NvInferRuntime.h"

// Replaces the version numbers of NvInferVersion.h by those of the 11.x level. Kept apart so that a text search of
// NvInferVersion.h finds one number per name.
#pragma once

#undef TRT_MAJOR_ENTERPRISE
#undef TRT_MINOR_ENTERPRISE
#undef TRT_PATCH_ENTERPRISE
#undef TRT_BUILD_ENTERPRISE

#define TRT_MAJOR_ENTERPRISE 11
#define TRT_MINOR_ENTERPRISE 1
#define TRT_PATCH_ENTERPRISE 0
#define TRT_BUILD_ENTERPRISE 0

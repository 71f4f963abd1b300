#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void depth_space_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI8})
    for (const char* mode : {"DCR", "CRD"}) {
      const std::string suffix = std::string("_") + mode + "_" + dtype_name(dtype);
      list.add("depth_space/to_space" + suffix, "DepthToSpace", {list.random(dtype, {2, 12, 3, 5})},
               {{"blocksize", int64_t{2}}, {"mode", std::string(mode)}});
      list.add("depth_space/to_depth" + suffix, "SpaceToDepth", {list.random(dtype, {2, 3, 6, 9})},
               {{"blocksize", int64_t{3}}, {"mode", std::string(mode)}});
    }
}

}  // namespace wootz::ops

#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void window_fn_cases(CaseList& list) {
  for (const char* kind : {"hann", "hamming", "blackman"})
    for (int64_t periodic : {0, 1})
      list.add("window_fn/" + std::string(kind) + (periodic ? "_periodic" : "_symmetric"), "WindowFunction",
               {HostTensor::scalar<int64_t>(10)}, {{"kind", std::string(kind)}, {"periodic", periodic}}, 1, {true});
}

}  // namespace wootz::ops

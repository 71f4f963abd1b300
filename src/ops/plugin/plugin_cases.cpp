// A plugin is nothing without an application: tests/plugins has what these cases cannot.
#include "ops/cases.h"

namespace wootz::ops {

void plugin_cases(CaseList&) {}

}  // namespace wootz::ops

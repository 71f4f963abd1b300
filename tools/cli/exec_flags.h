// trtexec's flags, of both levels and of releases before: a table of what each does here.
#pragma once

#include "exec.h"

namespace wootz_cli {

enum class FlagGroup { kBuilding, kRunning, kReporting, kPlugins, kTuning, kRefused, kCount };

struct Flag {
  const char* names;  // "--versionCompatible,--vc"
  const char* value;  // what it takes; null: nothing
  FlagGroup group;
  const char* what;  // it does, or why it is refused
  void (*act)(Exec&, const std::string& value);
  // Why there is nothing for it to act on; null: it acts, or is how things are anyway.
  const char *not_on_gpu = nullptr, *not_on_cpu = nullptr;
};
const std::vector<Flag>& exec_flags();

}  // namespace wootz_cli

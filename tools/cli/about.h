// What `wootz --help` says beside the commands, and `wootz --version`.
#pragma once

#include <string>

namespace wootz_cli {

// Environment variables, exit status and where the guide is.
std::string help_footer();
std::string version_line();

}  // namespace wootz_cli

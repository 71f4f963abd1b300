// The subcommands. Each adds itself to the command line; the callback runs it.
#pragma once

#include <CLI/CLI.hpp>

#include "session.h"

namespace wootz_cli {

void add_build(CLI::App& app, Logger& logger);
void add_run(CLI::App& app, Logger& logger);
void add_bench(CLI::App& app, Logger& logger);
void add_inspect(CLI::App& app, Logger& logger);
// `wootz exec`, also installed as trtexec: trtexec's flags and report. Parses its own arguments.
int run_exec(int argc, char** argv, Logger& logger);

}  // namespace wootz_cli

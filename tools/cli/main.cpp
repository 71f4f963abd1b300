// wootz: the command line. Exit status 0 on success, 1 on a failed operation (the reason on stderr), 2 on wrong usage,
// 3 for what differs (diff --exit-code, compare).
#include <cstdio>
#include <cstring>

#include "about.h"
#include "commands.h"

int main(int argc, char** argv) {
  using namespace wootz_cli;
  Logger logger;
  const char* slash = std::strrchr(argv[0], '/');
  const char* program = slash == nullptr ? argv[0] : slash + 1;
  if (std::strcmp(program, "trtexec") == 0) return run_exec(argc, argv, logger);
  if (argc > 1 && std::strcmp(argv[1], "exec") == 0) return run_exec(argc - 1, argv + 1, logger);
  CLI::App app("Wootz: builds, runs, times and inspects inference plans. `wootz exec` takes trtexec's flags.", "wootz");
  app.require_subcommand(1);
  app.footer(help_footer);
  app.set_version_flag("--version", version_line);
  add_build(app, logger);
  add_run(app, logger);
  add_bench(app, logger);
  add_refit(app, logger);
  add_inspect(app, logger);
  add_diff(app, logger);
  add_compare(app, logger);
  add_quantize(app, logger);
  add_plugin(app);
  add_devices(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? 0 : 2;
  } catch (const Differ&) {
    return 3;
  } catch (const Usage& error) {
    std::fprintf(stderr, "wootz: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wootz: %s\n", error.what());
    return 1;
  }
  return 0;
}

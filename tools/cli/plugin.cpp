// `wootz plugin new`: the files of a plugin project.
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "files.h"
#include "plugin_project.h"

namespace wootz_cli {
namespace {

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (const char c : name)
    if (!letter(c) && std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  return !name.empty() && letter(name[0]);
}

void write_project(const std::string& name, const std::string& given) {
  if (!is_identifier(name)) throw Usage("'" + name + "' is no name: letters, digits and underscores");
  const std::filesystem::path folder = given.empty() ? name : given;
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder))
    throw Failure("'" + folder.string() + "' is there already, and not empty");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Failure("'" + folder.string() + "' cannot be made: " + error.message());
  for (const ProjectFile& file : plugin_project(name))
    write_file((folder / file.name).string(), file.text.data(), file.text.size());
  std::printf("%s: plugin.cpp, plugin_test.cpp and CMakeLists.txt, whose first lines say how to build and test it\n",
              folder.string().c_str());
}

}  // namespace

void add_plugin(CLI::App& app) {
  struct Options {
    std::string name, folder;
  };
  CLI::App* const plugin = app.add_subcommand("plugin", "Plugins: layers of your own");
  plugin->require_subcommand(1);
  CLI::App* const made = plugin->add_subcommand("new", "Writes a project: a plugin library with a test");
  const auto options = std::make_shared<Options>();
  made->add_option("NAME", options->name, "of the plugin and its library")->required();
  made->add_option("--dir", options->folder, "where to; without it, a folder of that name");
  made->callback([options] { write_project(options->name, options->folder); });
}

}  // namespace wootz_cli

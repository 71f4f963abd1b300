// A new plugin project: a library, and a program that tests it.
#pragma once

#include <string>
#include <vector>

namespace wootz_cli {

struct ProjectFile {
  std::string name;
  std::string text;
};
std::vector<ProjectFile> plugin_project(const std::string& name);

}  // namespace wootz_cli

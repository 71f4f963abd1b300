// Plugin libraries inside plans: IBuilderConfig::setPluginsToSerialize.
#pragma once

#include <string>
#include <vector>

#include "api/runtime/plugin_registry.h"
#include "backend/program.h"
#include "base/temporary_file.h"

namespace wootz::api {

// Puts the file into the program. Errors: it cannot be read, or is no shared library.
Status carry_library(const std::string& path, Program* program);

std::vector<const NativeCode*> carried_libraries(const Program& program);
std::string carried_name(const NativeCode& library);
std::string carried_digest(const NativeCode& library);

// Opens it and registers what it exports. Runs its code.
Status open_carried(const NativeCode& library, const TemporaryFiles& where, PluginRegistry& registry);

}  // namespace wootz::api

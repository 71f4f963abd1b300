// The library of the runtime alone: what version-compatible plans carry, and what runs a plan of another version.
#pragma once

#include <span>
#include <string>

#include "api/runtime/reporter.h"
#include "base/temporary_file.h"
#include "plan/format.h"
#include "plan/write.h"

namespace wootz::api {

// Where the libraries are that this one opens or puts into plans, from now on; empty: beside this library. Error: no
// folder.
Status set_library_folder(const std::string& folder);
// The path of libwootz_runtime.so of this version. Error: it is not there, with where it was looked for.
Result<std::string> lean_library();

// A file's name without a folder: the path of that file where it is beside this library. Otherwise as it is, for the
// loader to find.
std::string beside_this_library(const std::string& name);

// What stands in the plan of a program beside it, by property::kVersionCompatible.
Result<Companion> companion_of(const Program& program);

// A runtime that a library makes for the caller's level. `name` is for errors.
Result<nvinfer1::IRuntime*> create_runtime(void* library, const std::string& name, const Reporter& reporter);

// A runtime of the library in a plan's section, which was checked against its digest. Runs its code: only where that is
// allowed. The library stays open. Errors: it is not of the version that the plan names.
Result<nvinfer1::IRuntime*> open_carried_runtime(std::span<const std::byte> section, const plan_format::Outline& plan,
                                                 const TemporaryFiles& where, const Reporter& reporter);

}  // namespace wootz::api

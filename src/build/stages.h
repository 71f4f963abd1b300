// The stages of a build. build.cpp has the table; each function is in a file named for its subject.
#pragma once

#include <span>

#include "base/status.h"

namespace wootz {

struct BuildSession;

// What a stage leaves that is worth looking at.
enum class StageResult : uint8_t { kNothing, kGraph, kProgram };

// What a refit does in its place: runs it again, nothing (what it made stays), or takes the choices that were made.
enum class StageRefit : uint8_t { kAgain, kNothing, kFixed };

struct BuildStage {
  const char* name;
  const char* what;
  Status (*run)(BuildSession& session);
  StageResult result;
  StageRefit refit = StageRefit::kAgain;
};

// In the order in which they run.
std::span<const BuildStage> build_stages();

// Stages by file: target.cpp, calibrate.cpp, optimize.cpp, lowering.cpp, tactics.cpp, finish.cpp, native.cpp,
// plugins.cpp, account.cpp.
Status open_target(BuildSession& session);
Status infer_network(BuildSession& session);
Status calibrate_network(BuildSession& session);
Status optimize_network(BuildSession& session);
Status narrow_values(BuildSession& session);
Status group_nodes(BuildSession& session);
Status lower_network(BuildSession& session);
Status name_network_steps(BuildSession& session);
Status offer_tactics(BuildSession& session);
Status measure_tactics(BuildSession& session);
Status select_tactics(BuildSession& session);
Status pack_weights(BuildSession& session);
Status place_tensors(BuildSession& session);
Status assign_streams(BuildSession& session);
Status demote_debug_tensors(BuildSession& session);
Status keep_native_code(BuildSession& session);
Status serialize_plugins(BuildSession& session);
Status account_for_all(BuildSession& session);

}  // namespace wootz

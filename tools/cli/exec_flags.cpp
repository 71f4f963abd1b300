// The command line of `wootz exec`, read by the table of flags in the order in which it is written.
#include "exec_flags.h"

#include <algorithm>
#include <cstdio>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace wootz_cli {
namespace {

constexpr const char* kGroups[] = {"Building", "Running", "Reporting",
                                   "Plugins",  "Tuning",  "Refused, each for the reason given"};
static_assert(std::size(kGroups) == static_cast<size_t>(FlagGroup::kCount));

// "--versionCompatible" of "--versionCompatible,--vc".
std::vector<std::string> names_of(const Flag& flag) {
  std::vector<std::string> names;
  const std::string all = flag.names;
  for (size_t at = 0; at < all.size();) {
    const size_t comma = std::min(all.find(',', at), all.size());
    names.push_back(all.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

const Flag& flag_named(const std::string& name) {
  for (const Flag& flag : exec_flags())
    for (const std::string& one : names_of(flag))
      if (one == name) return flag;
  throw Usage("there is no flag " + name + "; --help lists them");
}

// What a plan read from a file leaves without effect.
void note_given(Exec& e, const Flag& flag) { e.given.push_back(names_of(flag).front()); }

void note_loaded(Exec& e) {
  if (e.load_engine.empty()) return;
  for (const std::string& name : e.given)
    if (flag_named(name).group == FlagGroup::kBuilding && name != "--versionCompatible")
      e.warnings.push_back(name + " has no effect: --loadEngine builds nothing");
  if (e.skip_inference) e.warnings.emplace_back("--skipInference: nothing is built either");
}

// Types of a strongly typed network are its own.
void finish_precision(Exec& e) {
  for (const auto& [flag, type] : e.precisions) {
    if (!e.build.strongly_typed) {
      e.build.flags.push_back(type);
      continue;
    }
    if (type == nvinfer1::BuilderFlag::kINT8 && e.build.calibration.wanted())
      throw Usage("--stronglyTyped keeps the model's types: nothing is calibrated");
    const std::string line = std::string(flag) + " has no effect: --stronglyTyped keeps the model's types";
    if (std::find(e.warnings.begin(), e.warnings.end(), line) == e.warnings.end()) e.warnings.push_back(line);
  }
}

void finish(Exec& e) {
  if (e.help_routes) return;
  if (e.tuning.wanted && e.build.model.empty()) throw Usage("--tuneBuildRoutes goes with --onnx");
  if (e.tuning.save_all && (!e.tuning.wanted || e.save_engine.empty()))
    throw Usage("--saveAllEngines goes with --tuneBuildRoutes and --saveEngine");
  if (e.build.model.empty() == e.load_engine.empty()) throw Usage("give either --onnx or --loadEngine");
  if (e.load_engine.empty() && (e.version_only || e.time_deserialize || (e.stream_reader && e.save_engine.empty())))
    throw Usage("--getPlanVersionOnly, --timeDeserialize and --asyncFileReader go with --loadEngine");
  if (e.load_engine.empty() && e.runtime != RuntimeKind::kFull)
    throw Usage("--useRuntime: lean and dispatch build nothing, and go with --loadEngine");
  if (!e.lean_library.empty() && e.runtime == RuntimeKind::kFull)
    throw Usage("--leanDLLPath goes with --useRuntime=lean or --useRuntime=dispatch");
  if (e.build.opt_shapes.empty()) e.build.opt_shapes = parse_shapes(e.shapes, "--shapes");
  e.build.plugins = e.plugins;
  e.build.plugins_in_plan = e.plugins_in_plan;
  note_loaded(e);
  finish_precision(e);
  const auto& flags = e.build.flags;
  const bool int8 = std::find(flags.begin(), flags.end(), nvinfer1::BuilderFlag::kINT8) != flags.end();
  if (e.load_engine.empty()) check_calibration(e.build.calibration, int8);
}

void print_flags(std::string* text, FlagGroup group) {
  *text += std::string("\n") + kGroups[static_cast<size_t>(group)] + ":\n";
  for (const Flag& flag : exec_flags()) {
    if (flag.group != group) continue;
    std::string left = "  ";
    for (const std::string& name : names_of(flag)) left += (left.size() > 2 ? ", " : "") + name;
    if (flag.value != nullptr) left += std::string("=") + flag.value;
    *text += left + "\n      " + flag.what + "\n";
  }
}

}  // namespace

std::string exec_help() {
  std::string text =
      "wootz exec (trtexec): builds, times and looks into an engine\n"
      "  --onnx=MODEL.onnx [--saveEngine=PLAN], or --loadEngine=PLAN, and flags. --FLAG=VALUE or --FLAG VALUE.\n";
  for (size_t g = 0; g < static_cast<size_t>(FlagGroup::kCount); ++g) print_flags(&text, static_cast<FlagGroup>(g));
  return text;
}

std::vector<std::string> remarks_on(const Exec& exec, bool on_gpu) {
  std::vector<std::string> lines = exec.warnings;
  for (const std::string& name : exec.given) {
    const Flag& flag = flag_named(name);
    const char* why = on_gpu ? flag.not_on_gpu : flag.not_on_cpu;
    if (why != nullptr) lines.push_back(name + " has no effect: " + why);
  }
  return lines;
}

std::optional<Exec> parse_exec(int argc, char** argv) {
  Exec e;
  e.timing.transfers = NV_TENSORRT_MAJOR < 11;  // trtexec's default changed
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(exec_help().c_str(), stdout);
      return std::nullopt;
    }
    if (word.empty() || word[0] != '-') throw Usage("'" + word + "' is no flag; --help lists them");
    const size_t equals = word.find('=');
    const Flag& flag = flag_named(word.substr(0, equals));
    const std::string name = names_of(flag).front();
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (flag.value == nullptr && equals != std::string::npos)
      throw Usage(name + " takes no value, and is given '" + value + "'");
    if (flag.value != nullptr && equals == std::string::npos) {
      if (i + 1 == argc || std::string_view(argv[i + 1]).substr(0, 2) == "--")
        throw Usage(name + " needs a value: " + name + "=" + flag.value);
      value = argv[++i];
    }
    if (flag.value != nullptr && value.empty()) throw Usage(name + " needs a value: " + name + "=" + flag.value);
    note_given(e, flag);
    flag.act(e, value);
  }
  finish(e);
  return e;
}

}  // namespace wootz_cli

// `wootz exec --tuneBuildRoutes`: builds by several routes and keeps the fastest.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "base/json.h"
#include "exec.h"
#include "files.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;
using ordered_json = wootz::OrderedJson;

struct Tried {
  std::string route;
  double ms = 0;  // the median
  std::string why_not;
  bool good() const { return why_not.empty(); }
};

ordered_json to_json(const Tried& tried) {
  ordered_json row{{"route", tried.route}};
  if (tried.good())
    row["medianMs"] = tried.ms;
  else
    row["error"] = tried.why_not;
  return row;
}

std::string dump(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::vector<std::string> routes_to_try(const Tuning& tuning) {
  if (tuning.routes.empty()) return ordered_json::parse(wootz_build_routes()).get<std::vector<std::string>>();
  std::ifstream file(tuning.routes);
  if (!file) throw Failure(tuning.routes + ": cannot be opened");
  std::vector<std::string> routes{""};
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') routes.push_back(line);
  return routes;
}

// "without:a" and "without:b" as one.
std::string together(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "+" + b.substr(b.find(':') + 1);
}

class Search {
 public:
  Search(const Exec& e, Logger& logger) : e_(e), logger_(logger) {
    if (!e.tuning.go_on || e.tuning.cache.empty()) return;
    std::ifstream file(e.tuning.cache);
    for (std::string line; std::getline(file, line);) {
      const ordered_json row = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!row.is_object() || !row.contains("route") || !row["route"].is_string())
        throw Failure(e.tuning.cache + ": is no file of --tuningCacheFile");
      known_.push_back({row["route"], row.value("medianMs", 0.0), row.value("error", "")});
    }
  }

  void run() {
    for (const std::string& route : routes_to_try(e_.tuning)) attempt(route);
    if (e_.tuning.search != Tuning::Search::kFast) join();
  }
  const std::vector<Tried>& tried() const { return tried_; }
  // Failure: none could be built.
  const Tried& best() const {
    const Tried* found = nullptr;
    for (const Tried& t : tried_)
      if (t.good() && (found == nullptr || t.ms < found->ms)) found = &t;
    if (found == nullptr) throw Failure("no build route works: " + (tried_.empty() ? "" : tried_[0].why_not));
    return *found;
  }

 private:
  bool out_of_time() const {
    return e_.tuning.seconds > 0 && !tried_.empty() &&
           std::chrono::duration<double>(Clock::now() - start_).count() > e_.tuning.seconds;
  }

  void attempt(const std::string& route) {
    if (out_of_time()) return;
    const auto before = std::find_if(known_.begin(), known_.end(), [&](const Tried& t) { return t.route == route; });
    Tried tried{route, 0, ""};
    if (before != known_.end()) {
      tried = *before;
    } else {
      try {
        tried.ms = time_of(route);
      } catch (const std::exception& error) {
        tried.why_not = error.what();
        logger_.errors.clear();
      }
      remember(tried);
    }
    if (tried.good())
      std::printf("[I] Build route '%s': median %g ms%s\n", route.c_str(), tried.ms,
                  before != known_.end() ? " (known)" : "");
    else
      std::printf("[W] Build route '%s' fails: %s\n", route.c_str(), tried.why_not.c_str());
    tried_.push_back(std::move(tried));
  }

  double time_of(const std::string& route) {
    BuildRequest request = e_.build;
    request.options["build_route"] = route;
    if (e_.tuning.save_all) request.output = e_.save_engine + "." + std::to_string(tried_.size());
    LoadOptions options;
    options.native = true;  // made just now
    options.plugins = e_.plugins;
    const Built built = build_plan(request, logger_);
    const std::shared_ptr<Loaded> loaded = built.plan == nullptr ? load_engine(request.output, options, logger_)
                                                                 : load_engine(*built.plan, options, logger_);
    Session session(loaded, {}, logger_);
    session.prepare(parse_shapes(e_.shapes, "--shapes"), {});
    Trace trace = trace_inferences({&session}, e_.timing);
    std::vector<double> sorted;
    for (const Query& query : trace.queries) sorted.push_back(query.compute.ms());
    std::sort(sorted.begin(), sorted.end());
    return percentile(sorted, 50);
  }

  void remember(const Tried& tried) const {
    if (e_.tuning.cache.empty()) return;
    std::ofstream file(e_.tuning.cache, std::ios::app);
    file << dump(to_json(tried), -1) << '\n' << std::flush;
    if (!file) throw Failure(e_.tuning.cache + ": cannot be written");
  }

  // Those that were faster than none, the best first: each is added where that is faster still.
  void join() {
    std::vector<Tried> faster;
    for (const Tried& t : tried_)
      if (t.good() && tried_[0].good() && t.ms < tried_[0].ms) faster.push_back(t);
    std::sort(faster.begin(), faster.end(), [](const Tried& a, const Tried& b) { return a.ms < b.ms; });
    constexpr size_t kMixed = 4;
    if (e_.tuning.search == Tuning::Search::kMixed && faster.size() > kMixed) faster.resize(kMixed);
    std::string all;
    double ms = faster.empty() ? 0 : faster[0].ms;
    for (const Tried& t : faster) {
      const std::string both = together(all, t.route);
      if (both != t.route) attempt(both);
      const Tried& last = both == t.route ? t : tried_.back();
      if (last.route != both || !last.good() || last.ms > ms) continue;
      all = both;
      ms = last.ms;
    }
  }

  const Exec& e_;
  Logger& logger_;
  const Clock::time_point start_ = Clock::now();
  std::vector<Tried> known_, tried_;
};

}  // namespace

void print_routes() {
  for (const std::string& route : ordered_json::parse(wootz_build_routes()).get<std::vector<std::string>>())
    std::printf("%s\n", route.empty() ? "(the empty text: nothing is left out)" : route.c_str());
}

bool tune_routes(Exec& e, Logger& logger) {
  if (e.tuning.dry_run) {
    for (const std::string& route : routes_to_try(e.tuning)) std::printf("[I] Build route '%s'\n", route.c_str());
    return false;
  }
  Search search(e, logger);
  search.run();
  const Tried& best = search.best();
  std::printf("[I] Fastest build route: '%s', median %g ms\n", best.route.c_str(), best.ms);
  if (!e.tuning.result.empty()) {
    ordered_json result{{"best", to_json(best)}, {"routes", ordered_json::array()}};
    for (const Tried& t : search.tried()) result["routes"].push_back(to_json(t));
    const std::string text = dump(result, 1);
    write_file(e.tuning.result, text.data(), text.size());
  }
  e.build.options["build_route"] = best.route;
  return true;
}

}  // namespace wootz_cli

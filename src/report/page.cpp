#include "report/page.h"

#include "report/page_shell.h"
#include "runtime/report/kept_report.h"

namespace wootz {
namespace {

constexpr const char kScript[] =
#include "report/page_js.inc"
    ;

constexpr const char kBody[] = R"html(
<header><div class="row"><div><h1>{title}</h1><p class="lead" id="about"></p><p class="warn" id="missing"></p></div><button id="theme" title="Light or dark">Light / dark</button></div>
<div class="cards" id="cards"></div></header>
<nav><div><a href="#graph" class="on">Graph</a><a href="#layers">Layers</a><a href="#memory">Memory</a><a href="#nodes">Nodes</a><a href="#passes">Passes</a></div></nav>
<section id="graph"><h2>Fused regions</h2><p class="lead">Each box is a step of the plan; the lines in it are the model's nodes that it computes at once. Dashed boxes change a layout. Drag to move, Ctrl + wheel to zoom, click for details.</p>
<div class="tools"><input id="find" type="search" placeholder="Find a layer, node or tactic" aria-label="Find a layer, node or tactic"><button id="fit">Start</button><button id="all">Whole graph</button><button id="in" aria-label="Larger">+</button><button id="out" aria-label="Smaller">−</button><span class="gap"></span><span class="legend" id="legend"></span></div>
<div class="split"><div class="canvas">{graph}</div><div class="panel" id="panel"></div></div></section>
<section id="layers"><h2>Layers</h2><p class="lead">In order of execution. Times are of each tactic alone, taken while tuning. Click a heading to sort, a row for its rivals and why they lost.</p>
<div class="tools"><input id="layer-filter" type="search" placeholder="Filter" aria-label="Filter layers"><span class="muted" id="layer-count"></span></div>
<div class="scroll"><table id="layer-table"><thead></thead><tbody></tbody></table></div><div id="profile-tables"></div></section>
<section id="memory"><h2>Memory</h2><p class="lead">At the largest shapes of the first profile. Above: bytes of activations alive at each step. Below: where each tensor lies, from its first to its last use.</p>
<dl id="memory-facts"></dl><div class="plot" id="live"></div><div class="plot" id="map"></div></section>
<section id="nodes"><h2>The model's nodes</h2><p class="lead">Which step computes each node, or which pass made it needless.</p>
<div class="tools"><input id="node-filter" type="search" placeholder="Filter" aria-label="Filter nodes"><span class="muted" id="node-count"></span></div>
<div class="scroll"><table id="node-table"><thead><tr><th>Node</th><th>Op</th><th>Values</th><th>Now in</th></tr></thead><tbody></tbody></table></div></section>
<section id="passes"><h2>Passes</h2><div class="cols"><div><h3>What ran</h3><div id="pass-table"></div></div><div><h3>What was fused</h3><div id="fusion-list"></div></div></div><div id="note-list"></div></section>
<footer>Made by Wootz. This page needs no network.</footer><div id="tip"></div>
)html";

}  // namespace

std::string report_page(const Json& report) {
  const std::string json = dump_report(report);
  const Json clean = Json::parse(json);  // names may hold any bytes: now they are UTF-8
  const Json* network = member(clean, "network");
  std::string title = network != nullptr && network->is_string() ? network->get<std::string>() : "";
  if (title.empty()) title = "network";
  const std::string body = replaced(replaced(kBody, "{graph}", graph_svg(clean, false)), "{title}", html_text(title));
  return whole_page(title, "build report", body, json, kScript);
}

}  // namespace wootz

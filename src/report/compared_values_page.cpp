#include "report/compared_values.h"
#include "report/page_shell.h"

namespace wootz {
namespace {

constexpr const char kScript[] =
#include "report/compared_values_js.inc"
    ;

constexpr const char kBody[] = R"html(
<header><div class="row"><div><h1>Values of two engines</h1><p class="lead" id="about"></p><p class="warn" id="missing"></p></div><button id="theme" title="Light or dark">Light / dark</button></div>
<div class="cards" id="cards"></div></header>
<section><h2>Errors along the network</h2><p class="lead">A bar for each value that both hold in a tensor, in the order in which A computes them.</p><div class="plot" id="plot"></div></section>
<section><h2>Values</h2><p class="lead">Click a heading to sort, a row for the histogram of its differences and the layers that compute it.</p>
<div class="tools"><input id="filter" type="search" placeholder="Filter" aria-label="Filter values"><label><input id="only" type="checkbox" style="min-width:0"> only what differs</label><span class="muted" id="count"></span></div>
<div class="scroll"><table id="table"><thead></thead><tbody></tbody></table></div></section>
<section><h2>In one of the two alone</h2><p class="lead">The other computes these inside of a fused layer, or not at all.</p><dl><dt>A</dt><dd class="mono" id="only-a"></dd><dt>B</dt><dd class="mono" id="only-b"></dd></dl></section>
<footer>Made by Wootz. This page needs no network.</footer>
)html";

}  // namespace

std::string compared_values_page(const Json& comparison) {
  const std::string json = comparison.dump(-1, ' ', false, Json::error_handler_t::replace);
  return whole_page("Values", "comparison", kBody, json, kScript);
}

}  // namespace wootz

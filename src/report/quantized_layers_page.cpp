#include "report/page_shell.h"
#include "report/quantized_layers.h"

namespace wootz {
namespace {

constexpr const char kScript[] =
#include "report/quantized_layers_js.inc"
    ;

constexpr const char kBody[] = R"html(
<header><div class="row"><div><h1>Quantized model</h1><p class="lead" id="about"></p></div><button id="theme" title="Light or dark">Light / dark</button></div>
<div class="cards" id="cards"></div></header>
<section id="curve-part"><h2>Error by layers in float</h2><p class="lead">The layers that the outputs are most sensitive to stay in float first.</p><div class="plot" id="curve"></div></section>
<section><h2>Layers</h2><p class="lead">Convolutions and products, in the model's order. Errors are root mean squares as parts of the values': of the weights, of the layer's result in the whole network, and of the network's outputs when this layer alone is quantized.</p>
<div class="tools"><input id="filter" type="search" placeholder="Filter" aria-label="Filter layers"></div>
<div class="scroll"><table id="table"><thead></thead><tbody></tbody></table></div></section>
<footer>Made by Wootz. This page needs no network.</footer>
)html";

}  // namespace

std::string quantization_page(const Json& report) {
  return whole_page(report.value("model", std::string("model")), "quantization", kBody,
                    report.dump(-1, ' ', false, Json::error_handler_t::replace), kScript);
}

}  // namespace wootz

// The ONNX parser.
#pragma once

#include "NvInfer.h"
#include "wootz/parser.h"
#include "wootz/parser_error.h"
#include "wootz/parser_factory.h"
#include "wootz/parser_refitter.h"
#include "wootz/subgraph.h"

// A program as text, for people and for comparing: everything that a plan would hold, one thing a line, machine code
// excepted. parse_program() reads it.
#pragma once

#include <functional>
#include <string>

#include "backend/program.h"

namespace wootz {

//   program "name" cpu {
//     device "{...}"
//     expr 0 = 1
//     expr 2 = mul 0 1
//     symbol 0 "N" = input_dim tensor 0 axis 0
//     profile [1,4,8]                                   // min, opt, max by symbol; "by body 2" after it: what runs it
//     tensor 3 "y" f32 channels_last intermediate [0 1]      // expressions
//     constant 0 "w" f32[64,3] opaque 768 bytes 0f3a...      // `digest`
//     input 0
//     step 0 "conv1 + relu1"
//       computes conv{...}(...)->(...)                  // Problem::key()
//       by onednn:conv_f32
//       reads 0 1 -, writes 3, workspace 0, 12.5 us, stream 0
//       from "conv1" "relu1"
//     body 0: program ... { }
//   }
// `digest` says what stands for a constant's bytes; null: nothing does.
std::string print_program(const Program& program, const std::function<std::string(const PlanConstant&)>& digest = {});

}  // namespace wootz

// What a header declares: compiled once with ours and once with a toolkit's (header_facts.cpp), and compared.
#pragma once

#include <string>
#include <utility>
#include <vector>

using Facts = std::vector<std::pair<std::string, std::string>>;  // name and what is known of it

Facts our_facts();
Facts toolkit_facts();

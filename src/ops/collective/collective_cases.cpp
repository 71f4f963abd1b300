#include <string>

#include "base/collective.h"
#include "ops/cases.h"

namespace wootz::ops {

// Of one rank: what more of them compute is tested in tests/collectives.
void collective_cases(CaseList& list) {
  for (const CollectiveKind& kind : collective_kinds())
    for (const DType type : {DType::kF32, DType::kF16, DType::kI64})
      list.add(std::string("collective/") + kind.name + "_" + dtype_name(type), "Collective",
               {list.random(type, {4, 3})},
               {{"operation", std::string(kind.name)},
                {"reduction", std::string(kind.reduces ? "avg" : "none")},
                {"root", int64_t{kind.rooted ? 0 : -1}}});
  list.add("collective/alone_in_its_group", "Collective", {list.random(DType::kI32, {5})},
           {{"operation", std::string("reduce")},
            {"reduction", std::string("sum")},
            {"ranks", int64_t{4}},
            {"root", int64_t{2}},
            {"groups", std::vector<int64_t>{2}}});
}

}  // namespace wootz::ops

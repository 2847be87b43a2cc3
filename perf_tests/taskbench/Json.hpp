// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_JSON_HPP
#define TRELLIS_TASKBENCH_JSON_HPP

#include "Work.hpp"

#include <nlohmann/json.hpp>

namespace taskbench {

using Json = nlohmann::ordered_json;

inline void to_json(Json& json, Parameters const& p) {
  json = {{"pattern", static_cast<int>(p.shape.pattern)},
          {"width", p.shape.width},
          {"steps", p.shape.steps},
          {"radix", p.shape.radix},
          {"period", p.shape.period},
          {"fraction", p.shape.fraction},
          {"kernel", static_cast<int>(p.kernel)},
          {"iterations", p.iterations},
          {"output_bytes", p.output_bytes},
          {"copies", p.copies},
          {"scratch_bytes", p.scratch_bytes},
          {"imbalance", p.imbalance},
          {"break_edge", p.break_edge},
          {"settle_ms", p.settle_ms}};
}

inline void from_json(Json const& json, Parameters& p) {
  p.shape.pattern = static_cast<Pattern>(json.at("pattern").get<int>());
  json.at("width").get_to(p.shape.width);
  json.at("steps").get_to(p.shape.steps);
  json.at("radix").get_to(p.shape.radix);
  json.at("period").get_to(p.shape.period);
  json.at("fraction").get_to(p.shape.fraction);
  p.kernel = static_cast<Kernel>(json.at("kernel").get<int>());
  json.at("iterations").get_to(p.iterations);
  json.at("output_bytes").get_to(p.output_bytes);
  json.at("copies").get_to(p.copies);
  json.at("scratch_bytes").get_to(p.scratch_bytes);
  json.at("imbalance").get_to(p.imbalance);
  json.at("break_edge").get_to(p.break_edge);
  json.at("settle_ms").get_to(p.settle_ms);
}

}  // namespace taskbench

#endif

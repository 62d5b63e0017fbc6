#pragma once
// Models of the catalogue and what tests of op lists look for in them.
#include <string>
#include <vector>

#include "base/check.h"
#include "catalog/catalog.h"
#include "proto/model.pb.h"
#include "workload/model/layer.h"

namespace orrery {

inline Model Preset(const std::string& name) {
  auto proto = Catalog().Model(name);
  CHECK(proto.ok()) << proto.status().ToString();
  auto model = Model::FromProto(*proto);
  CHECK(model.ok()) << model.status().ToString();
  return *std::move(model);
}

// "all_gather tensor", "query_key_value", ...: a list as words.
inline std::vector<std::string> Words(const std::vector<LayerStep>& steps) {
  std::vector<std::string> words;
  for (const LayerStep& step : steps) {
    if (const Op* op = step.op()) {
      words.emplace_back(Name(op->name));
    } else {
      words.push_back(std::string(Name(step.exchange()->kind)) + " " +
                      std::string(Name(step.exchange()->group)));
    }
  }
  return words;
}

// The ops of that name, in order.
inline std::vector<Op> OpsNamed(const std::vector<LayerStep>& steps,
                                OpName name) {
  std::vector<Op> ops;
  for (const LayerStep& step : steps) {
    if (step.op() != nullptr && step.op()->name == name) {
      ops.push_back(*step.op());
    }
  }
  return ops;
}

}  // namespace orrery

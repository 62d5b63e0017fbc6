#pragma once
// ModelReader: turns a pb::Model into a Model, or says all that is wrong.
//
// The rules of a legal model stand here and nowhere else. Used once, by
// Model::FromProto.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "base/status.h"
#include "proto/model.pb.h"
#include "workload/model/model.h"

namespace orrery {

class ModelReader {
 public:
  explicit ModelReader(const pb::Model& proto) : proto_(proto) {}
  absl::StatusOr<Model> Read();

 private:
  Attention ReadAttention(const pb::Attention& proto);
  void ReadKvHeads(const pb::Attention& proto, Attention& attention);
  void ReadLatent(const pb::Attention& proto, Attention& attention);
  void ReadWindow(const pb::Attention& proto, Attention& attention);
  Mlp ReadMlp(const pb::Mlp& proto);
  MixtureOfExperts ReadMoe(const pb::MixtureOfExperts& proto);
  Activation ReadActivation(const std::string& path, int value);
  Norm ReadNorm();
  PositionEncoding ReadPosition();

  // `value` if it is set and within [low, high]; otherwise adds a violation and
  // returns the nearest legal value, so that reading can go on.
  int Within(const std::string& path, std::optional<int> value, int low,
             int high);
  // Adds a violation if a field that means nothing here is set.
  void Unused(const std::string& path, bool set, const std::string& reason);
  void CheckSize(const Model& model);

  const pb::Model& proto_;
  Violations violations_;
};

}  // namespace orrery

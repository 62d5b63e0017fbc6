#pragma once
// HfConfig: typed reading of a Hugging Face config.json.
//
// A key that is missing, of the wrong type or out of range is remembered as a
// violation with its key and place, and reading goes on with a legal stand-in;
// ask status() at the end. A key that is null counts as absent, as it does in
// the transformers library.
#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace orrery {

class HfConfig {
 public:
  // Requires: outlives the reader and is an object.
  explicit HfConfig(const JsonValue& object) : object_(object) {}

  bool Has(absl::string_view key) const { return Lookup(key) != nullptr; }
  // Whether the key is there at all, null or not.
  bool Mentions(absl::string_view key) const {
    return object_.Find(key) != nullptr;
  }

  // A positive whole number. Alternatives are older names of the same key.
  int Count(absl::string_view key, absl::string_view alternative = "");
  // The same with the value that stands for an absent key.
  int CountOr(absl::string_view key, int absent,
              absl::string_view alternative = "");
  // As CountOr, but zero is legal.
  int SizeOr(absl::string_view key, int absent);
  std::optional<int> OptionalCount(absl::string_view key);
  bool FlagOr(absl::string_view key, bool absent);
  double NumberOr(absl::string_view key, double absent);
  std::string TextOr(absl::string_view key, absl::string_view absent);
  // Lists; empty if the key is absent.
  std::vector<int> Integers(absl::string_view key);
  std::vector<std::string> Texts(absl::string_view key);

  // Says that the value of `key` is not one this importer can express.
  void Refuse(absl::string_view key, absl::string_view why);
  absl::Status status() const { return violations_.ToStatus(); }

 private:
  const JsonValue* Lookup(absl::string_view key) const;
  int Whole(absl::string_view key, const JsonValue& value, int low);

  const JsonValue& object_;
  Violations violations_;
};

}  // namespace orrery

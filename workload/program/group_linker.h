#pragma once
// GroupLinker: puts ranks and groups together and checks that they agree.
//
// Members of a group must make the same calls in the same order; a channel
// needs one sender and one receiver. Members that play the same role through
// the same slot agree by construction, and each pair of (role, slot) is
// compared once, so the cost is that of the members plus that of the distinct
// sequences.
#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "workload/program/program.h"

namespace orrery {

// A rank's place in a group.
struct Attachment {
  RankId rank;
  SlotId slot;
  friend auto operator<=>(const Attachment&, const Attachment&) = default;
};

class GroupLinker {
 public:
  GroupLinker(const IdVector<RoleId, Role>& roles,
              const IdVector<RankId, ProgramRank>& ranks,
              const IdVector<NameId, std::string>& names)
      : roles_(roles), ranks_(ranks), names_(names) {}

  // Nothing if the members, sorted by rank, agree; else what is wrong.
  std::optional<std::string> Disagreement(
      const std::vector<Attachment>& members);

 private:
  const RoleSlot& SlotOf(const Attachment& a) const {
    return roles_[ranks_[a.rank].role].slots()[a.slot];
  }
  std::string Describe(const Attachment& a) const;
  // The n-th call of a member, for errors.
  std::string DescribeCall(const Attachment& a, size_t n) const;
  // Where the sequences of two members first differ.
  std::optional<size_t> FirstDifference(const Attachment& a,
                                        const Attachment& b) const;

  const IdVector<RoleId, Role>& roles_;
  const IdVector<RankId, ProgramRank>& ranks_;
  const IdVector<NameId, std::string>& names_;
  absl::flat_hash_map<std::tuple<RoleId, SlotId, RoleId, SlotId>,
                      std::optional<size_t>>
      differences_;
};

}  // namespace orrery

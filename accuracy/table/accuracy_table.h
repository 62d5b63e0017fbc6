#pragma once
// AccuracyTable: measurements beside their predictions, and how far these are
// off, group by group.
//
// One form for every suite. A suite says which groups a row belongs to and what
// bars a group is held to; the table computes the rest. The verdict is yes if a
// row could be predicted and every group meets its bars.
//
//   ASSIGN_OR_RETURN(const AccuracyTable table, RunKernelSuite(std::nullopt));
//   for (const AccuracyGroup& group : table.groups()) group.errors.median;
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "accuracy/table/error_statistics.h"
#include "accuracy/table/measurement_table.h"
#include "accuracy/table/run_kind.h"
#include "base/units.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

enum class Suite : uint8_t {
  kCollectives,
  kKernels,
  kTraining,
  kInference,
  kCost
};
inline constexpr Suite kSuites[] = {Suite::kCollectives, Suite::kKernels,
                                    Suite::kTraining, Suite::kInference,
                                    Suite::kCost};
// "collectives", "kernels", "training", "inference", "cost".
std::string_view Name(Suite suite);

// Rows that are judged together. Groups are listed in the order of the members.
struct GroupKey {
  // 0 for groups over several subjects, which come first.
  int level = 0;
  // A chip, a system, a source.
  std::string subject;
  // Order within the subject.
  int rank = 0;
  // What of it: "gemm above 1 TFLOP", "below 1 MB"; empty: all.
  std::string part = {};
  auto operator<=>(const GroupKey&) const = default;
};

// What a row is, beside its numbers.
struct MeasuredKernel {
  std::string chip;
  std::string kernel;  // "gemm bf16"
};
struct MeasuredCollective {
  std::string system;
  CommunicationKind kind = CommunicationKind::kAllReduce;
  int nodes = 1;
  int chips = 2;
  Bytes bytes;
  double measured_s = 0;
  double predicted_s = 0;
  std::string algorithm;  // and protocol
};
struct MeasuredStep {
  std::string model;
  std::string plan;  // "TP 8 PP 8 v 3 DP 1 b 4, full"
  RunKind kind;
  std::optional<double> measured_gib;
  double predicted_gib = 0;  // without what the run-time reserves
  // What the framework's allocator held on the first rank.
  std::optional<double> measured_reserved_gib;
  double predicted_reserved_gib = 0;
};

// A published cost or a quantity behind one, in its own unit.
struct MeasuredCost {
  std::string model;
  std::string inputs;
  std::string quantity;
  std::string unit;
};

struct MeasuredRequest {
  std::string model;
  std::string plan;      // "8 x h100_sxm, TP 8, batch 32, 128 + 8, FP16"
  std::string quantity;  // "end to end"
  RunKind kind;
};

struct AccuracyRow {
  std::string id;
  int line = 0;
  std::string source;
  // Seconds; of a collective, its bus bandwidth in bytes per second.
  double measured = 0;
  double predicted = 0;
  // The prediction has a constant that was fitted on this row.
  bool fitted = false;
  std::vector<GroupKey> groups;
  std::variant<MeasuredKernel, MeasuredCollective, MeasuredStep,
               MeasuredRequest, MeasuredCost>
      facts;
  // Rows with the same differ in what is chosen (a plan), not in what is asked;
  // their order is judged as well. Empty: not judged.
  std::string choice_set = {};

  double error() const { return predicted / measured - 1; }
};

struct AccuracyRefusal {
  RefusedRow row;
  // Those that the row is known to belong to.
  std::vector<GroupKey> groups = {};
};

// A run that finished or ran out of memory, and what was predicted.
struct AccuracyFit {
  bool fits = false;
  bool finished = false;
  std::vector<GroupKey> groups;
};

struct FitCounts {
  int fits_and_did = 0;
  int fits_but_did_not = 0;  // the dangerous ones
  int does_not_but_did = 0;
  int does_not_and_did_not = 0;
  int total() const {
    return fits_and_did + fits_but_did_not + does_not_but_did +
           does_not_and_did_not;
  }
  double right() const {
    return static_cast<double>(fits_and_did + does_not_and_did_not) / total();
  }
};

// What a group's statistics must not exceed.
struct AccuracyBars {
  std::optional<double> median = std::nullopt;
  std::optional<double> mean = std::nullopt;
  std::optional<double> worst = std::nullopt;
};

struct AccuracyGroup {
  GroupKey key;
  ErrorStatistics errors;
  int refused = 0;
  AccuracyBars bars;
  // Spearman's correlation within choice sets of at least five rows, the mean
  // by rows; nothing if there is no such set.
  std::optional<double> rank_correlation = std::nullopt;
  int ranked_rows = 0;
  std::optional<FitCounts> fit = std::nullopt;
  bool met() const;
};

class AccuracyTable {
 public:
  struct Parts {
    Suite suite;
    std::string origin;  // "validation/kernels.csv", or the user's file
    std::vector<AccuracyRow> rows;
    std::vector<AccuracyRefusal> refused;
    // Groups that are not here have no bars.
    std::map<GroupKey, AccuracyBars> bars = {};
    std::vector<AccuracyFit> fits = {};
  };
  explicit AccuracyTable(Parts parts);

  Suite suite() const { return suite_; }
  const std::string& origin() const { return origin_; }
  // In the order of the file.
  const std::vector<AccuracyRow>& rows() const { return rows_; }
  const std::vector<RefusedRow>& refused() const { return refused_; }
  // Every group with a predicted row.
  const std::vector<AccuracyGroup>& groups() const { return groups_; }
  bool met() const;

 private:
  Suite suite_;
  std::string origin_;
  std::vector<AccuracyRow> rows_;
  std::vector<RefusedRow> refused_;
  std::vector<AccuracyGroup> groups_;
};

}  // namespace orrery

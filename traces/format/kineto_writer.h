#pragma once
// KinetoWriter: what one rank's device did, as PyTorch's profiler would have
// written it (Kineto's Chrome-style JSON), for tools that read such files:
// Holistic Trace Analysis, TensorBoard, the Perfetto UI.
//
// One file per rank. The device is a process whose threads are the streams; the
// host is another, with the profiler's steps and a launch for every device
// event, joined to it by `correlation` and `External id`: tools that cut a
// trace into steps go by these. They leave out the last step, which is why an
// empty one follows. Times are microseconds with three decimals, instants
// rounded down to nanoseconds.
//
//   ASSIGN_OR_RETURN(KinetoWriter writer,
//                    KinetoWriter::Create(path, {.rank = 0, .world_size = 8}));
//   writer.AddStep(1, Time{}, end);
//   writer.NameStream(0, "compute");
//   writer.Add({.name = "mlp_up", .stream = 0, .start = ..., .end = ...});
//   RETURN_IF_ERROR(writer.Finish());
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_writer.h"
#include "base/units.h"

namespace orrery {

struct KinetoRank {
  int64_t rank = 0;
  int64_t world_size = 1;
  std::string device_name = {};
};

// A collective in the words of PyTorch's profiler.
struct KinetoCollective {
  std::string name;         // "allreduce"
  std::string group;        // "tensor[4]"
  std::string description;  // what the group is for: "tensor"
  int64_t group_size = 1;
  // PyTorch's name for the elements, and the size of one.
  std::string dtype = "Byte";
  Bytes element{1};
  // What this rank puts in and what it gets out.
  Bytes in;
  Bytes out;
  // Who takes part; nothing if that is not known.
  std::vector<int> ranks = {};
  // In parts, one per rank of the group, that differ by an element at most.
  bool splits = false;
  // Which call of the group it is, from 0.
  int64_t sequence = 0;
  // Of a send or a receive.
  struct Ends {
    int from = 0;
    int to = 0;
  };
  std::optional<Ends> ends = std::nullopt;
};

struct KinetoEvent {
  std::string name;
  int stream = 0;
  Time start{};
  Time end{};
  std::optional<KinetoCollective> collective = std::nullopt;
};

class KinetoWriter {
 public:
  static absl::StatusOr<KinetoWriter> Create(const std::string& path,
                                             const KinetoRank& rank);

  void NameStream(int stream, const std::string& name);
  // A step of the profiler, on the host.
  void AddStep(int number, Time start, Time end);
  // On the device; the host launches it when it starts.
  void Add(const KinetoEvent& event);
  // Work of the host itself.
  void AddHost(const std::string& name, Time start, Time end);

  // The first error in writing, if any.
  const absl::Status& status() const { return status_; }
  // Puts the file in place; the first error, if any.
  absl::Status Finish();

 private:
  KinetoWriter(FileWriter file, int64_t rank);
  void NameProcesses();
  void AddLine(absl::string_view line);
  void AddOnHost(const std::string& category, const std::string& name,
                 Time start, Time end, const std::string& arguments);
  void Flush();

  FileWriter file_;
  int64_t device_;
  int64_t correlation_ = 0;
  bool is_first_ = true;
  std::string pending_;
  absl::Status status_;
};

}  // namespace orrery

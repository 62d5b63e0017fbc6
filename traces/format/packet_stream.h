#pragma once
// PacketStream: the packets of a Perfetto trace on their way to a file.
//
// Packets are gathered to about 400 KB and written as one zlib-compressed
// packet (viewers accept at most 512 KB), so memory stays bounded however long
// the trace is. A thread of its own compresses and writes them, in their order,
// while the next are gathered: the bytes do not depend on it. The file appears
// under its name when Finish() succeeds; before that, or after an error, it
// does not.
//
// The first error is kept and what follows it is dropped: a writer may go on
// and ask at the end, or look at status() now and then to stop early.
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/file_writer.h"

namespace orrery {

class PacketStream {
 public:
  static absl::StatusOr<PacketStream> Create(const std::string& path);

  // `packet` is one serialised TracePacket. Requires: shorter than 100 KB.
  void Add(absl::string_view packet);

  // The first error that is known by now.
  const absl::Status& status() const { return status_; }
  // What was written so far, before and after compression; all of it after
  // Finish().
  int64_t raw_bytes() const { return raw_bytes_; }
  int64_t file_bytes() const;

  // Writes the rest and puts the file in place; the first error, if any.
  absl::Status Finish();

 private:
  class Worker;
  struct DeleteWorker {
    void operator()(Worker* worker) const;
  };
  explicit PacketStream(FileWriter file);
  void Flush();

  std::unique_ptr<Worker, DeleteWorker> worker_;
  std::string pending_;  // framed packets
  absl::Status status_;
  int64_t raw_bytes_ = 0;
};

}  // namespace orrery

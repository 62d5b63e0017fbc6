#pragma once
// PacketStream: the packets of a Perfetto trace on their way to a file.
//
// Packets are gathered to about 400 KB and written as one compressed packet (a
// zlib stream; viewers accept at most 512 KB), so memory stays bounded however
// long the trace is. A thread of its own compresses and writes them, in their
// order, while the next are gathered: the bytes do not depend on it. The file
// appears under its name when Finish() succeeds; before that, or after an
// error, it does not.
//
// The first error is kept and what follows it is dropped: a writer may go on
// and ask at the end, or look at status() now and then to stop early.
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/file_writer.h"

namespace orrery {

class PacketStream {
 public:
  static absl::StatusOr<PacketStream> Create(const std::string& path);
  // Writes nowhere: to see how large a file would be. Of what comes after the
  // first blocks one in eight is compressed, and stands for the others.
  static PacketStream ToNowhere();

  // `packet` is one serialised TracePacket. Requires: shorter than 100 KB.
  void Add(absl::string_view packet);
  // The same in place: where to write a packet with the frame around it, of at
  // most `bytes`, and that it now ends at `end`. Requires: at most 100 KB.
  char* Room(size_t bytes) {
    DCHECK(bytes <= kLargestPacket);
    if (pending_.size + bytes > kBlock) Flush();
    return pending_.bytes.get() + pending_.size;
  }
  void Took(const char* end) {
    pending_.size = static_cast<size_t>(end - pending_.bytes.get());
  }

  // The first error that is known by now.
  const absl::Status& status() const { return status_; }
  // What was written so far, before and after compression; all of it after
  // Finish().
  int64_t raw_bytes() const { return raw_bytes_; }
  int64_t file_bytes() const;

  // Writes the rest and puts the file in place; the first error, if any.
  absl::Status Finish();

 private:
  static constexpr size_t kBlock = 400'000;
  static constexpr size_t kLargestPacket = 100'000;
  // Framed packets, compressed together.
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  class Worker;
  struct DeleteWorker {
    void operator()(Worker* worker) const;
  };
  explicit PacketStream(std::optional<FileWriter> file);
  void Flush();

  std::unique_ptr<Worker, DeleteWorker> worker_;
  Block pending_;
  absl::Status status_;
  int64_t raw_bytes_ = 0;
};

}  // namespace orrery

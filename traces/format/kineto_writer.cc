#include "traces/format/kineto_writer.h"

#include <utility>

#include "base/format.h"
#include "base/json_string.h"
#include "base/status.h"

namespace orrery {
namespace {

constexpr size_t kFlushAt = 1 << 20;

// Streams are numbered from here, beyond any rank: viewers take a thread with
// the number of its process for the process's first one and mix them up.
constexpr int kFirstStream = 1'000'000;

// Nanoseconds as microseconds with three decimals.
std::string Microseconds(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

int64_t Nanoseconds(Time at) { return at.time_since_epoch().count() / 1000; }

}  // namespace

absl::StatusOr<KinetoWriter> KinetoWriter::Create(const std::string& path,
                                                  const KinetoRank& rank) {
  ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  KinetoWriter writer(std::move(file), rank.rank);
  // Readers find the rank by searching for this text: before the events, with
  // the blank after the colon.
  writer.pending_ = fmt::format(
      "{{\n\"schemaVersion\": 1,\n\"deviceProperties\": [{{\"id\": {}, "
      "\"name\": {}}}],\n\"distributedInfo\": {{\"backend\": \"nccl\", "
      "\"rank\": {}, \"world_size\": {}}},\n\"displayTimeUnit\": \"ms\",\n"
      "\"baseTimeNanoseconds\": 0,\n\"traceEvents\": [",
      rank.rank, JsonString(rank.device_name), rank.rank, rank.world_size);
  return writer;
}

KinetoWriter::KinetoWriter(FileWriter file, int64_t rank)
    : file_(std::move(file)), device_(rank) {}

void KinetoWriter::AddLine(absl::string_view line) {
  pending_ += is_first_ ? "\n" : ",\n";
  pending_.append(line.data(), line.size());
  is_first_ = false;
  if (pending_.size() >= kFlushAt) Flush();
}

void KinetoWriter::Flush() {
  if (status_.ok()) status_ = file_.Append(pending_);
  pending_.clear();
}

void KinetoWriter::NameStream(int stream, const std::string& name) {
  AddLine(
      fmt::format("{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {}, "
                  "\"tid\": {}, \"args\": {{\"name\": {}}}}}",
                  device_, kFirstStream + stream, JsonString(name)));
}

void KinetoWriter::Add(const KinetoEvent& event) {
  const int64_t start = Nanoseconds(event.start);
  const int stream = kFirstStream + event.stream;
  std::string collective;
  if (event.collective) {
    // Sizes are known in bytes: elements of one byte each.
    collective = fmt::format(
        ", \"Collective name\": {}, \"In msg nelems\": {}, "
        "\"Out msg nelems\": {}, \"Group size\": {}, \"dtype\": \"Byte\", "
        "\"Process Group Name\": {}",
        JsonString(event.collective->name), event.collective->in.value(),
        event.collective->out.value(), event.collective->group_size,
        JsonString(event.collective->group));
  }
  AddLine(fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": {}, \"pid\": {}, "
      "\"tid\": {}, \"ts\": {}, \"dur\": {}, \"args\": {{\"device\": {}, "
      "\"stream\": {}, \"correlation\": {}{}}}}}",
      JsonString(event.name), device_, stream, Microseconds(start),
      Microseconds(Nanoseconds(event.end) - start), device_, stream,
      ++correlation_, collective));
}

absl::Status KinetoWriter::Finish() {
  pending_ += "\n]\n}\n";
  Flush();
  if (status_.ok()) status_ = file_.Commit();
  return status_;
}

}  // namespace orrery

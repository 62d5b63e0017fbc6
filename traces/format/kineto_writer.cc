#include "traces/format/kineto_writer.h"

#include <absl/strings/str_join.h>

#include <utility>
#include <vector>

#include "base/format.h"
#include "base/json_string.h"
#include "base/status.h"

namespace orrery {
namespace {

constexpr size_t kFlushAt = 1 << 20;

// Streams are numbered from here, beyond any rank: viewers take a thread with
// the number of its process for the process's first one and mix them up.
constexpr int kFirstStream = 1'000'000;
// Processes of hosts, beyond that again.
constexpr int64_t kFirstHost = 2'000'000;

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
  writer.NameProcesses();
  return writer;
}

void KinetoWriter::NameProcesses() {
  const auto name = [&](int64_t process, const std::string& label, int order) {
    AddLine(fmt::format(
        "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {}, \"args\": "
        "{{\"name\": \"python\"}}}}",
        process));
    AddLine(fmt::format(
        "{{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": {}, "
        "\"args\": {{\"labels\": {}}}}}",
        process, JsonString(label)));
    AddLine(fmt::format(
        "{{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": {}, "
        "\"args\": {{\"sort_index\": {}}}}}",
        process, order));
  };
  name(kFirstHost + device_, "CPU", 0);
  name(device_, fmt::format("GPU {}", device_), 1);
  AddLine(
      fmt::format("{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {}, "
                  "\"tid\": {}, \"args\": {{\"name\": \"host\"}}}}",
                  kFirstHost + device_, kFirstHost + device_ + 1));
}

void KinetoWriter::AddOnHost(const std::string& category,
                             const std::string& name, Time start, Time end,
                             const std::string& arguments) {
  const int64_t begin = Nanoseconds(start);
  AddLine(fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": {}, \"pid\": {}, "
      "\"tid\": {}, \"ts\": {}, \"dur\": {}, \"args\": {{{}}}}}",
      category, JsonString(name), kFirstHost + device_,
      kFirstHost + device_ + 1, Microseconds(begin),
      Microseconds(Nanoseconds(end) - begin), arguments));
}

void KinetoWriter::AddStep(int number, Time start, Time end) {
  AddOnHost("user_annotation", fmt::format("ProfilerStep#{}", number), start,
            end, fmt::format("\"External id\": {}", ++correlation_));
}

void KinetoWriter::AddHost(const std::string& name, Time start, Time end) {
  AddOnHost("cpu_op", name, start, end,
            fmt::format("\"External id\": {}", ++correlation_));
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
    const KinetoCollective& what = *event.collective;
    const auto splits = [&](Bytes bytes) {
      std::vector<int64_t> parts;
      const int64_t elements = bytes.value() / what.element.value();
      for (int64_t i = 0; what.splits && i < what.group_size; ++i) {
        parts.push_back(elements / what.group_size +
                        (i < elements % what.group_size));
      }
      return fmt::format("\"[{}]\"", absl::StrJoin(parts, ", "));
    };
    collective = fmt::format(
        ", \"Collective name\": {}, \"In msg nelems\": {}, "
        "\"Out msg nelems\": {}, \"Group size\": {}, \"dtype\": {}, "
        "\"In split size\": {}, \"Out split size\": {}, "
        "\"Process Group Name\": {}, \"Process Group Description\": {}, "
        "\"Process Group Ranks\": \"[{}]\", \"Seq\": {}",
        JsonString(what.name), what.in.value() / what.element.value(),
        what.out.value() / what.element.value(), what.group_size,
        JsonString(what.dtype), splits(what.in), splits(what.out),
        JsonString(what.group), JsonString(what.description),
        absl::StrJoin(what.ranks, ", "), what.sequence);
    if (what.ends) {
      collective += fmt::format(", \"Src Rank\": {}, \"Dst Rank\": {}",
                                what.ends->from, what.ends->to);
    }
  }
  ++correlation_;
  AddOnHost(
      "cuda_runtime", "cudaLaunchKernel", event.start, event.start,
      fmt::format("\"External id\": {0}, \"correlation\": {0}", correlation_));
  AddLine(fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": {}, \"pid\": {}, "
      "\"tid\": {}, \"ts\": {}, \"dur\": {}, \"args\": {{\"External id\": {}, "
      "\"device\": {}, \"stream\": {}, \"correlation\": {}{}}}}}",
      JsonString(event.name), device_, stream, Microseconds(start),
      Microseconds(Nanoseconds(event.end) - start), correlation_, device_,
      stream, correlation_, collective));
}

absl::Status KinetoWriter::Finish() {
  pending_ += "\n]\n}\n";
  Flush();
  if (status_.ok()) status_ = file_.Commit();
  return status_;
}

}  // namespace orrery

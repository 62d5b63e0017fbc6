#include "traces/timeline/timeline_kineto.h"

#include <algorithm>
#include <vector>

#include "base/format.h"

namespace orrery {
namespace {

// NCCL's spelling of a kernel, and PyTorch's of a collective.
struct Spelling {
  std::string_view kernel;
  std::string_view collective;
};

Spelling SpellingOf(CommunicationKind kind) {
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return {"AllReduce_Sum", "allreduce"};
    case CommunicationKind::kReduceScatter:
      return {"ReduceScatter_Sum", "_reduce_scatter_base"};
    case CommunicationKind::kAllGather:
      return {"AllGather", "_allgather_base"};
    case CommunicationKind::kAllToAll:
      return {"SendRecv", "all_to_allv"};
    case CommunicationKind::kBroadcast:
      return {"Broadcast", "broadcast"};
    case CommunicationKind::kReduce:
      return {"Reduce_Sum", "reduce"};
    case CommunicationKind::kBarrier:
      return {"AllReduce_Sum", "barrier"};
    case CommunicationKind::kPointToPoint:
      return {"SendRecv", "send"};
  }
  return {"Unknown", "unknown"};
}

// PyTorch's spelling; nothing for formats that its calls do not have.
std::optional<std::string_view> TorchName(DType dtype) {
  switch (dtype) {
    case DType::kFp64:
      return "Double";
    case DType::kFp32:
      return "Float";
    case DType::kBf16:
      return "BFloat16";
    case DType::kFp16:
      return "Half";
    case DType::kFp8:
      return "Float8_e4m3fn";
    case DType::kInt8:
      return "Char";
    default:
      return std::nullopt;
  }
}

// Sizes stay in bytes if they are no whole number of elements, scales and all.
void SetElements(DType dtype, KinetoCollective& call) {
  const std::optional<std::string_view> name = TorchName(dtype);
  const int64_t size = Bits(dtype) / 8;
  if (!name || call.in.value() % size != 0 || call.out.value() % size != 0) {
    return;
  }
  call.dtype = *name;
  call.element = Bytes(size);
}

}  // namespace

std::string NcclKernelName(CommunicationKind kind) {
  return fmt::format("ncclDevKernel_{}", SpellingOf(kind).kernel);
}

void WriteKineto(const Program& program, absl::Span<const TaskSpan> spans,
                 const GroupSizes& group_sizes,
                 const IdVector<GroupId, PlacedGroup>* groups, RankId rank,
                 const TimelineOptions& options, KinetoWriter& writer,
                 const CallElements& elements) {
  TimelineOptions one = options;
  one.ranks = {rank};
  Time end{};
  for (const TaskSpan& span : spans) end = std::max(end, span.ended);
  const TimelineSelection selection(program, one, end);
  const Role& role = program.role_of(rank);
  // The last step is left out by those who read it; it is empty.
  constexpr Duration kEmpty{1'000'000};
  writer.AddStep(1, selection.from(), selection.to());
  writer.AddStep(2, selection.to(), selection.to() + kEmpty);
  const auto is_host = [&](StreamId stream) {
    return program.streams()[stream].kind == StreamKind::kHost;
  };
  for (const StreamId stream : program.streams().ids()) {
    if (role.stream_begin(stream) == role.stream_end(stream)) continue;
    if (is_host(stream)) continue;
    writer.NameStream(static_cast<int>(stream), program.streams()[stream].name);
  }
  std::vector<int64_t> sequence(program.groups().size());  // calls so far
  for (const TaskSpan& span : spans) {
    if (!selection.Shows(span)) continue;
    if (is_host(span.stream)) {
      writer.AddHost(program.name(span.name), span.started, span.ended);
      continue;
    }
    KinetoEvent event = {.name = program.name(span.name),
                         .stream = static_cast<int>(span.stream),
                         .start = span.started,
                         .end = span.ended};
    const Task& task = role.task(span.task);
    if (IsCommunication(task.kind)) {
      const Communication& what = role.communication(task);
      const GroupId group =
          program.group_of(rank, static_cast<SlotId>(task.slot));
      std::string collective(SpellingOf(what.kind).collective);
      if (span.kind == SpanKind::kReceive) collective = "recv";
      event.name = NcclKernelName(what.kind);
      if (span.kind == SpanKind::kCollective) event.start = span.ready;
      const int32_t size = group_sizes[group];
      const Bytes part(what.bytes.value() / size);
      const bool gathers = what.kind == CommunicationKind::kAllGather;
      const bool scatters = what.kind == CommunicationKind::kReduceScatter;
      event.collective = {
          .name = std::move(collective),
          .group = program.Describe(group),
          .description = program.name(program.groups()[group].family),
          .group_size = size,
          .in = gathers ? part : what.bytes,
          .out = scatters ? part : what.bytes,
          .splits = what.kind == CommunicationKind::kAllToAll,
          .sequence = sequence[Index(group)]++};
      if (elements) {
        if (const auto dtype = elements(role, span.task)) {
          SetElements(*dtype, *event.collective);
        }
      }
      if (groups != nullptr) {
        event.collective->ranks = (*groups)[group].members;
      } else {
        for (const GroupMember& member : program.members(group)) {
          event.collective->ranks.push_back(
              program.ranks()[member.rank].number);
        }
      }
      const std::vector<int>& ranks = event.collective->ranks;
      if (span.kind != SpanKind::kCollective && ranks.size() == 2) {
        event.collective->ends = {ranks[0], ranks[1]};
      }
    }
    writer.Add(event);
    if (!writer.status().ok()) return;
  }
}

}  // namespace orrery

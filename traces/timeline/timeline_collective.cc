#include "traces/timeline/timeline_collective.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/format.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

// The number of the first step of every phase: a round that repeats is as many
// steps.
std::vector<int32_t> FirstSteps(const Schedule& schedule) {
  std::vector<int32_t> first;
  int32_t next = 0;
  for (const Phase& phase : schedule.phases) {
    first.push_back(next);
    int32_t longest = 0;
    for (const Round& round : schedule.rounds_of(phase)) {
      longest = std::max(longest, round.repeat);
    }
    next += longest;
  }
  return first;
}

}  // namespace

CollectiveTimeline::CollectiveTimeline(const Network& network,
                                       PerfettoWriter& writer)
    : network_(network),
      writer_(writer),
      all_(writer.AddTrack({.name = "collectives"})),
      calls_(writer.AddTrack({.name = "calls", .parent = all_})) {}

CollectiveTimeline::Participant CollectiveTimeline::MakeParticipant(
    std::string name, TrackId parent) {
  const TrackId track = writer_.AddTrack({.name = name, .parent = parent});
  const auto rows = [&](const char* way) {
    const TrackId first =
        writer_.AddTrack({.name = way, .parent = track, .lanes = true});
    return Rows{first, {first}, {Time{}}};
  };
  Rows send = rows("send");
  return {std::move(name), std::move(send), rows("receive")};
}

// Ranks at the first call, switches when an algorithm uses them.
void CollectiveTimeline::AddTracks(const RoutedSchedule& routed) {
  const Graph& graph = network_.graph();
  if (participants_.empty()) {
    std::map<int32_t, TrackId> nodes;
    for (size_t r = 0; r < routed.chips().size(); ++r) {
      const int32_t node = graph.island(routed.chips()[r]).value_or(0);
      const auto [found, is_new] = nodes.try_emplace(node);
      if (is_new) {
        found->second = writer_.AddTrack(
            {.name = fmt::format("node {}", node), .parent = all_});
      }
      participants_.push_back(
          MakeParticipant(fmt::format("rank {}", r), found->second));
    }
    network_track_ = writer_.AddTrack({.name = "network", .parent = all_});
  }
  const auto all = static_cast<size_t>(routed.schedule().participants());
  while (participants_.size() < all) {
    participants_.push_back(MakeParticipant(
        fmt::format("switch {}", participants_.size() - routed.chips().size()),
        network_track_));
  }
}

std::vector<CollectiveTimeline::Piece> CollectiveTimeline::MessagePieces(
    const PlannedCall& planned, const TransferLog& log, double bytes) {
  const Schedule& schedule = planned.routed->schedule();
  const std::vector<int32_t> first_steps = FirstSteps(schedule);
  std::vector<size_t> round_of(schedule.messages.size());
  std::vector<int32_t> step_of(schedule.messages.size());
  for (size_t p = 0; p < schedule.phases.size(); ++p) {
    const Phase& phase = schedule.phases[p];
    for (int32_t r = phase.rounds_begin; r < phase.rounds_end; ++r) {
      const Round& round = schedule.rounds[static_cast<size_t>(r)];
      for (int32_t m = round.messages_begin; m < round.messages_end; ++m) {
        round_of[static_cast<size_t>(m)] = static_cast<size_t>(r);
        step_of[static_cast<size_t>(m)] = first_steps[p];
      }
    }
  }
  std::vector<Piece> pieces;
  for (const TransferLog::Span& span : log.spans) {
    const StepMessage what = planned.plan.MessageOf(span.place);
    if (what.message < 0) continue;
    const auto place = static_cast<size_t>(what.message);
    const Message& message = schedule.messages[place];
    Piece piece = {
        .participant = message.source,
        .sends = true,
        .from = span.began,
        .to = span.ended,
        .bytes = bytes * what.segments *
                 schedule.ShareOf(message, schedule.rounds[round_of[place]]),
        .peer = message.destination,
        .peers = 1,
        .messages = 1,
        .step = step_of[place] + what.repeat,
        .segment = what.segment,
        .arrow = writer_.NewArrow()};
    pieces.push_back(piece);
    piece.sends = false;
    std::swap(piece.participant, piece.peer);
    pieces.push_back(piece);
  }
  return pieces;
}

void CollectiveTimeline::AddPhases(const Schedule& schedule, size_t begin,
                                   size_t end, double bytes, Time from, Time to,
                                   std::vector<Piece>& pieces) {
  std::vector<Piece> sums(2 * static_cast<size_t>(schedule.participants()));
  std::vector<std::pair<size_t, int32_t>> peers;  // of a place in `sums`
  const auto add = [&](int32_t participant, int32_t peer, bool sends,
                       double moved, int32_t times) {
    const size_t place = 2 * static_cast<size_t>(participant) + (sends ? 0 : 1);
    sums[place].bytes += moved;
    sums[place].messages += times;
    sums[place].peer = peer;
    peers.emplace_back(place, peer);
  };
  for (size_t p = begin; p < end; ++p) {
    for (const Round& round : schedule.rounds_of(schedule.phases[p])) {
      if (round.exchange) {
        std::map<int32_t, int32_t> members;
        for (int32_t rank = 0; rank < schedule.ranks; ++rank) {
          ++members[round.exchange->SetOf(rank)];
        }
        for (int32_t rank = 0; rank < schedule.ranks; ++rank) {
          const int32_t others = members[round.exchange->SetOf(rank)] - 1;
          for (const bool sends : {true, false}) {
            Piece& sum = sums[2 * static_cast<size_t>(rank) + (sends ? 0 : 1)];
            sum.bytes += bytes * round.exchange->share * others;
            sum.messages += others;
            sum.peers += others;
          }
        }
      }
      for (const Message& m : schedule.messages_of(round)) {
        const int32_t times = m.times * schedule.segments;
        const double moved = bytes * schedule.ShareOf(m, round) * times;
        add(m.source, m.destination, true, moved, times);
        add(m.destination, m.source, false, moved, times);
      }
    }
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  for (const auto& [place, peer] : peers) ++sums[place].peers;
  const int32_t step = FirstSteps(schedule)[begin];
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].messages == 0) continue;
    sums[i].participant = static_cast<int32_t>(i / 2);
    sums[i].sends = i % 2 == 0;
    sums[i].from = from;
    sums[i].to = to;
    sums[i].step = step;
    pieces.push_back(sums[i]);
  }
}

std::vector<CollectiveTimeline::Piece> CollectiveTimeline::StagePieces(
    const PlannedCall& planned, const TransferLog& log, double bytes,
    Time end) const {
  const Schedule& schedule = planned.routed->schedule();
  const auto stages = StagesOf(schedule);
  std::vector<Piece> pieces;
  if (planned.plan.steps.size() != stages.size() || stages.size() == 1) {
    AddPhases(schedule, 0, schedule.phases.size(), bytes, Time{}, end, pieces);
    return pieces;
  }
  for (const TransferLog::Span& span : log.spans) {
    const auto& [first, last] = stages[static_cast<size_t>(span.place)];
    AddPhases(schedule, first, last, bytes, span.began, span.ended, pieces);
  }
  return pieces;
}

// Sends before receives: an arrow is written first where it leaves.
void CollectiveTimeline::Draw(std::vector<Piece> pieces,
                              const PlannedCall& planned) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) {
                     return std::tie(b.sends, a.participant, a.from, a.to) <
                            std::tie(a.sends, b.participant, b.from, b.to);
                   });
  const EventCategory category = writer_.Category("message");
  const ArgumentKey algorithm_key = writer_.Key("algorithm");
  const ArgumentKey bytes_key = writer_.Key("bytes");
  const ArgumentKey step_key = writer_.Key("step");
  const ArgumentKey segment_key = writer_.Key("segment");
  const ArgumentKey peer_key = writer_.Key("peer");
  const ArgumentKey messages_key = writer_.Key("messages");
  const ArgumentText algorithm = writer_.Text(
      fmt::format("{} {}", NameOf(planned.algorithm), planned.protocol));
  std::vector<EventArgument> arguments;
  for (const Piece& piece : pieces) {
    Participant& who = participants_[static_cast<size_t>(piece.participant)];
    Rows& rows = piece.sends ? who.send : who.receive;
    const Time from = piece.from + offset_;
    size_t row = 0;
    while (row < rows.lanes.size() && rows.free_at[row] > from) ++row;
    if (row == rows.lanes.size()) {
      rows.lanes.push_back(writer_.AddLane(rows.track));
      rows.free_at.push_back(Time{});
    }
    rows.free_at[row] = piece.to + offset_;
    const std::string& peer =
        participants_[static_cast<size_t>(piece.peer)].name;
    const std::string peers =
        piece.peers == 1 ? peer : fmt::format("{} others", piece.peers);
    arguments.assign({{bytes_key, piece.bytes},
                      {algorithm_key, algorithm},
                      {step_key, int64_t{piece.step}},
                      {peer_key, writer_.Text(peers)}});
    if (planned.routed->schedule().segments > 1 &&
        !planned.plan.messages.empty()) {
      arguments.push_back({segment_key, int64_t{piece.segment}});
    }
    if (piece.messages > 1) {
      arguments.push_back({messages_key, int64_t{piece.messages}});
    }
    EventDetails details = {.category = category, .arguments = arguments};
    if (piece.arrow != ArrowId{}) {
      (piece.sends ? details.leaving : details.arriving) = {&piece.arrow, 1};
    }
    writer_.Begin(
        rows.lanes[row], from,
        writer_.Name(fmt::format(
            "{} {}", piece.sends ? "send to" : "receive from", peers)),
        details);
    writer_.End(rows.lanes[row], piece.to + offset_);
  }
}

void CollectiveTimeline::AddLoads(const PlannedCall& planned,
                                  const TransferLog& log) {
  const auto& capacities = network_.resources().capacities();
  std::vector<double> last(static_cast<size_t>(planned.plan.StepCount()), 0);
  const auto change = [&](int32_t place, Time at, double rate) {
    double& before = last[static_cast<size_t>(place)];
    for (const ResourceUse& use : planned.plan.StepOf(place).uses) {
      loads_[use.resource][at + offset_] +=
          100 * use.weight * (rate - before) / capacities[use.resource];
    }
    before = rate;
  };
  for (const TransferLog::Rate& rate : log.rates) {
    change(rate.place, rate.at, rate.rate);
  }
  for (const TransferLog::Span& span : log.spans) {
    change(span.place, span.ended, 0);
    const TransferStep& step = planned.plan.StepOf(span.place);
    for (const ResourceUse& use : step.uses) {
      carried_[use.resource] +=
          step.work * use.weight / capacities[use.resource];
    }
  }
}

void CollectiveTimeline::Add(const CollectiveCall& call,
                             const PlannedCall& planned, const TransferLog& log,
                             Time end) {
  CHECK(planned.routed != nullptr);
  AddTracks(*planned.routed);
  const auto bytes = static_cast<double>(call.bytes.value());
  writer_.Begin(
      calls_, Time(offset_),
      writer_.Name(
          fmt::format("{} {} B", NameOf(call.kind), call.bytes.value())),
      {.category = writer_.Category("collective"),
       .arguments = std::vector<EventArgument>{
           {writer_.Key("bytes"), call.bytes.value()},
           {writer_.Key("algorithm"),
            writer_.Text(View(NameOf(planned.algorithm)))},
           {writer_.Key("protocol"), writer_.Text(planned.protocol)},
           {writer_.Key("ranks"), static_cast<int64_t>(call.chips.size())},
           {writer_.Key("dur_ps"), end.time_since_epoch().count()}}});
  writer_.End(calls_, end + offset_);
  Draw(planned.plan.messages.empty() ? StagePieces(planned, log, bytes, end)
                                     : MessagePieces(planned, log, bytes),
       planned);
  AddLoads(planned, log);
  offset_ += end.time_since_epoch();
}

void CollectiveTimeline::Finish() {
  std::vector<std::pair<double, ResourceId>> order;
  for (const auto& [link, load] : carried_) order.emplace_back(-load, link);
  std::sort(order.begin(), order.end());
  if (order.size() > kMostLinks) order.resize(kMostLinks);
  const IdVector<ResourceId, std::string> names =
      ResourceNames(network_.graph(), network_.resources());
  for (const auto& [load, link] : order) {
    WriteLoadCounter(names[link] + " load", loads_[link], network_track_,
                     Time(offset_), writer_);
  }
}

}  // namespace orrery

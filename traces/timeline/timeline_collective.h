#pragma once
// The timeline of collectives by themselves: who sent what to whom, and how
// full the links were.
//
//   collectives
//     calls                  one slice per call, as long as it took
//     node 0
//       rank 0
//         send, receive      STEPPED: one slice per message, with arrows
//                            FLUID: one slice per stage, with all its bytes
//                            CLOSED_FORM: one slice per call
//     network
//       switch 8             its sends and receives, if it reduces
//       NVLink ... load      percent of capacity, the most loaded first;
//                            not at CLOSED_FORM, where nothing is on a link
//
//   CollectiveTimeline timeline(network, writer);
//   for each call:
//     TransferLog log;
//     const Time end = RunPlans(capacities, {{planned.plan, Time{}}}, &log)[0];
//     timeline.Add(call, planned, log, end);    // after the calls before it
//   timeline.Finish();
//
// The bytes of all sends of a call are the bytes its algorithm moves; a call's
// slice ends when its last byte has arrived.
#include <map>
#include <string>
#include <vector>

#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/sharing/transfer_log.h"
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline_links.h"

namespace orrery {

class CollectiveTimeline {
 public:
  // Both must outlive it.
  CollectiveTimeline(const Network& network, PerfettoWriter& writer);

  // Requires: `log` is that of a run of the plan alone from time 0; all calls
  // are over the same chips, at least two.
  void Add(const CollectiveCall& call, const PlannedCall& planned,
           const TransferLog& log, Time end);

  // The counters, once all calls are there.
  void Finish();

 private:
  // A way of a track: rows, and when each is free.
  struct Rows {
    TrackId track;
    std::vector<TrackId> lanes;
    std::vector<Time> free_at;
  };
  struct Participant {
    std::string name;
    Rows send;
    Rows receive;
  };
  // What goes over a slice.
  struct Piece {
    int32_t participant;
    bool sends;
    Time from;
    Time to;
    double bytes = 0;
    int32_t peer = -1;  // if there is one only
    int32_t peers = 0;
    int32_t messages = 0;
    int32_t step = 0;
    int32_t segment = 0;
    ArrowId arrow{};  // 0: none
  };

  void AddTracks(const RoutedSchedule& routed);
  Participant MakeParticipant(std::string name, TrackId parent);
  std::vector<Piece> MessagePieces(const PlannedCall& planned,
                                   const TransferLog& log, double bytes);
  // Phases [begin, end) of the schedule as one piece per participant and way.
  static void AddPhases(const Schedule& schedule, size_t begin, size_t end,
                        double bytes, Time from, Time to,
                        std::vector<Piece>& pieces);
  std::vector<Piece> StagePieces(const PlannedCall& planned,
                                 const TransferLog& log, double bytes,
                                 Time end) const;
  void Draw(std::vector<Piece> pieces, const PlannedCall& planned);
  void AddLoads(const PlannedCall& planned, const TransferLog& log);

  const Network& network_;
  PerfettoWriter& writer_;
  Duration offset_{};
  TrackId all_;
  TrackId calls_;
  std::vector<Participant> participants_;  // of the schedule
  TrackId network_track_{};
  std::map<ResourceId, LoadChanges> loads_;
  std::map<ResourceId, double> carried_;  // seconds of the full capacity
};

}  // namespace orrery

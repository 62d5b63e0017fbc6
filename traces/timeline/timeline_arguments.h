#pragma once
// What the details panel of a timeline says about a task, what people look for
// first: the shape, how fast it ran, what bound it; then where it belongs; then
// picoseconds. And what slices are called.
#include <absl/strings/string_view.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "traces/format/argument_block.h"
#include "traces/format/perfetto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/call_arguments.h"
#include "traces/timeline/kernel_arguments.h"
#include "traces/timeline/timeline_marks.h"
#include "traces/timeline/timeline_passes.h"
#include "traces/timeline/timeline_source.h"
#include "traces/timeline/timeline_waits.h"

namespace orrery {

class TimelineArguments {
 public:
  // All outlive this.
  TimelineArguments(const TimelineSource& source, const MarkTable& marks,
                    PerfettoWriter& writer);

  struct Categories {
    EventCategory kernel, communication, host, partner, wait, pass, pipeline,
        layer, path;
  };
  const Categories& categories() const { return categories_; }

  // What a task's slice is called.
  EventName Name(const TaskSpan& span);
  EventName LayerName(int32_t layer);
  EventName PartnerWaitName(RankId partner);

  // Details with the span's arguments. Those of all these are valid until the
  // next call.
  EventDetails Of(const TaskSpan& span, EventCategory category);
  // Of a call's wait for a partner, from `begin` to `end`.
  EventDetails OfPartnerWait(const TaskSpan& span, Time begin, Time end);
  EventDetails OfWait(RankId rank, const WaitSlice& wait);
  EventDetails OfPass(RankId rank, const TimelinePass& pass,
                      EventCategory category);
  EventDetails OfLayer(const TaskSpan& span);

 private:
  // Where the tasks of a stream belong, as long as that is the same.
  struct Place {
    const Mark* mark = nullptr;
    std::string encoded = {};
  };
  EventDetails Done(EventCategory category) const {
    return {.category = category, .encoded = block_.bytes()};
  }
  void AddTimes(Time begin, Time end);
  void AddMark(RankId rank, const Mark& mark, ArgumentBlock& block);
  void AddPlace(const TaskSpan& span);
  // The name of a task as a text.
  ArgumentText TextOf(NameId name);

  const TimelineSource& source_;
  const MarkTable& marks_;
  const Program& program_;
  PerfettoWriter& writer_;
  KernelArguments kernels_;
  CallArguments calls_;
  const Categories categories_;
  const ArgumentKey start_, duration_, rank_, phase_, micro_batch_, chunk_,
      step_, part_, layer_, busy_, kernels_key_, cause_, to_start_;
  ArgumentBlock block_, place_;
  IdVector<RankId, std::vector<Place>> places_;  // by stream
  static constexpr size_t kPhases = static_cast<size_t>(WorkPhase::kDecode) + 1;
  // 0: not interned yet.
  std::array<ArgumentText, kPhases> phases_{};
  std::vector<EventName> names_;  // by name, phase, and whether it is a product
  std::vector<EventName> layers_;
  IdVector<RankId, EventName> partners_;
  std::vector<ArgumentText> task_names_;
};

}  // namespace orrery

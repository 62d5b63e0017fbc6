// Forms of broadcasts and reductions to one rank: collective_forms.h.
#include <algorithm>
#include <bit>
#include <utility>

#include "analytic/collective/collective_forms.h"
#include "analytic/collective/form_builder.h"
#include "analytic/collective/ring_lanes.h"

namespace orrery {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CommunicationKind;

// Ranks counted from the root on; a reduction sends everything the other way,
// last wave first.
class RootedWriter {
 public:
  RootedWriter(FormBuilder& form, Kind kind, const GroupNetwork& group)
      : form_(form), reduces_(kind == Kind::kReduce), group_(group) {}

  // Calls wave(0) .. wave(count - 1), or the last first.
  template <class Wave>
  void InOrder(int count, Wave wave) {
    for (int i = 0; i < count; ++i) wave(reduces_ ? count - 1 - i : i);
  }
  void Send(int from, int to, double share) {
    const int a = (from + group_.root()) % group_.ranks();
    const int b = (to + group_.root()) % group_.ranks();
    form_.Send(reduces_ ? b : a, reduces_ ? a : b, share);
  }

 private:
  FormBuilder& form_;
  bool reduces_;
  const GroupNetwork& group_;
};

int DoublingsTo(int p) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1)));
}

}  // namespace

CollectiveForm BinomialForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  FormBuilder form(group, Algorithm::kBinomial);
  RootedWriter writer(form, kind, group);
  writer.InOrder(DoublingsTo(p), [&](int wave) {
    form.BeginWave();
    form.BeginRound();
    const int have = 1 << wave;
    for (int r = 0; r < have && r + have < p; ++r) writer.Send(r, r + have, 1);
  });
  return std::move(form).Build();
}

CollectiveForm ScatterAllGatherForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  FormBuilder form(group, Algorithm::kScatterAllGather);
  RootedWriter writer(form, kind, group);
  const auto around = [&] {
    form.BeginWave();
    form.BeginRound(p - 1);
    for (int r = 0; r < p; ++r) writer.Send(r, (r + 1) % p, 1.0 / p);
  };
  const int halvings = DoublingsTo(p);
  if (kind == Kind::kReduce) around();
  writer.InOrder(halvings, [&](int wave) {
    form.BeginWave();
    form.BeginRound();
    const int half = 1 << (halvings - 1 - wave);
    for (int r = 0; r + half < p; r += 2 * half) {
      writer.Send(r, r + half,
                  static_cast<double>(std::min(half, p - r - half)) / p);
    }
  });
  if (kind == Kind::kBroadcast) around();
  return std::move(form).Build();
}

CollectiveForm ChainForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  const RingLanes lanes(group);
  FormBuilder form(group, Algorithm::kChain);
  form.RunThreads();
  for (int i = 0; i + 1 < p; ++i) {
    const int link = kind == Kind::kReduce ? p - 2 - i : i;
    form.BeginWave();
    for (int lane = 0; lane < lanes.count(); ++lane) {
      form.BeginRound();
      const int begin = lanes.PlaceOf(lane, group.root());
      const int a = lanes.at(lane, begin + link);
      const int b = lanes.at(lane, begin + link + 1);
      form.Send(kind == Kind::kReduce ? b : a, kind == Kind::kReduce ? a : b,
                1.0 / lanes.count());
    }
  }
  return std::move(form).BuildStreaming();
}

}  // namespace orrery

#include "workload/lowering/inference/pass_units.h"

#include <map>
#include <optional>
#include <utility>

#include "workload/plan/stage.h"

namespace orrery {
namespace {

class UnitMaker {
 public:
  UnitMaker(const Model& model, OpTimer timer, const PassOptions& options,
            TaskTable& table)
      : model_(model), timer_(timer), options_(options), table_(table) {}

  int Add(const LayerOps& ops) {
    units_.templates.push_back(ForwardPass(ops, timer_, options_, table_));
    return static_cast<int>(units_.templates.size()) - 1;
  }

  int Layer(int layer, const LayerShape& shape) {
    const auto kind = std::pair(model_.IsMoe(layer), model_.Window(layer));
    const auto [it, added] = layers_.try_emplace(kind, 0);
    if (added) it->second = Add(BuildLayer(model_, layer, shape));
    return it->second;
  }

  PassUnits& units() { return units_; }

 private:
  const Model& model_;
  OpTimer timer_;
  const PassOptions& options_;
  TaskTable& table_;
  std::map<std::pair<bool, std::optional<int>>, int> layers_;
  PassUnits units_;
};

}  // namespace

PassUnits MakePassUnits(const Model& model, const InferencePlan& plan,
                        const InferencePass& pass, int expert_place,
                        OpTimer timer, const PassOptions& options,
                        TaskTable& table) {
  const LayerShape shape = ShapeOf(plan, pass, expert_place);
  UnitMaker maker(model, timer, options, table);
  maker.units().boundary = BoundaryBytes(model, shape);
  for (const Stage& stage : CutStages(model, plan.layout(pass.purpose))) {
    std::vector<PassUnits::Unit> units;
    if (stage.embedding) {
      units.push_back({maker.Add(BuildEmbedding(model, shape))});
    }
    for (int i = 0; i < stage.layers; ++i) {
      const int layer = stage.first_layer + i;
      units.push_back({maker.Layer(layer, shape), layer});
    }
    if (stage.head) {
      units.push_back({maker.Add(BuildHead(model, shape))});
      const auto& guess = plan.speculation();
      if (guess && guess->prediction_module &&
          pass.purpose == PassPurpose::kDecode) {
        const LayerShape draft = DraftShapeOf(plan, pass, expert_place);
        const int layer = model.layers();
        const int input = maker.Add(BuildPredictionInput(model, draft));
        const int block = maker.Add(BuildLayer(model, layer, draft));
        const int head = maker.Add(BuildHead(model, draft));
        for (int i = 0; i < guess->drafts; ++i) {
          units.push_back({input, layer});
          units.push_back({block, layer});
          units.push_back({head});
        }
      }
    }
    maker.units().of_stage.push_back(std::move(units));
  }
  return std::move(maker.units());
}

}  // namespace orrery

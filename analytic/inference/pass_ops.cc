#include "analytic/inference/pass_ops.h"

#include <optional>
#include <utility>

#include "workload/plan/stage.h"

namespace orrery {
namespace {

class PassOpsMaker {
 public:
  PassOpsMaker(const Model& model, const InferencePlan& plan,
               const InferencePass& pass, int expert_place, PassOps& out)
      : model_(model),
        plan_(plan),
        pass_(pass),
        expert_place_(expert_place),
        shape_(ShapeOf(plan, pass, expert_place)),
        out_(out) {}

  std::vector<UnitRow> UnitsOf(const Stage& stage) {
    std::vector<UnitRow> units;
    if (stage.embedding) units.push_back({Add(BuildEmbedding(model_, shape_))});
    for (int i = 0; i < stage.layers; ++i) {
      const size_t layer = Layer(stage.first_layer + i);
      if (!units.empty() && units.back().unit == layer) {
        ++units.back().times;
      } else {
        units.push_back({layer});
      }
    }
    if (!stage.head) return units;
    units.push_back({Add(BuildHead(model_, shape_))});
    const auto& guess = plan_.speculation();
    if (!guess || !guess->prediction_module ||
        pass_.purpose != PassPurpose::kDecode) {
      return units;
    }
    const LayerShape draft = DraftShapeOf(plan_, pass_, expert_place_);
    const size_t input = Add(BuildPredictionInput(model_, draft));
    const size_t block = Add(BuildLayer(model_, model_.layers(), draft));
    const size_t head = Add(BuildHead(model_, draft));
    for (int i = 0; i < guess->drafts; ++i) {
      units.insert(units.end(), {{input}, {block}, {head}});
    }
    return units;
  }

 private:
  struct Kind {
    bool moe;
    std::optional<int> window;
    size_t unit;
  };

  size_t Add(LayerOps ops) {
    out_.ops.push_back(std::move(ops));
    return out_.ops.size() - 1;
  }

  size_t Layer(int layer) {
    const bool moe = model_.IsMoe(layer);
    const std::optional<int> window = model_.Window(layer);
    for (const Kind& kind : kinds_) {
      if (kind.moe == moe && kind.window == window) return kind.unit;
    }
    kinds_.push_back({moe, window, Add(BuildLayer(model_, layer, shape_))});
    return kinds_.back().unit;
  }

  const Model& model_;
  const InferencePlan& plan_;
  const InferencePass& pass_;
  int expert_place_;
  LayerShape shape_;
  PassOps& out_;
  std::vector<Kind> kinds_;
};

}  // namespace

PassOps MakePassOps(const Model& model, const InferencePlan& plan,
                    const InferencePass& pass, const ParallelLayout& layout,
                    int expert_place) {
  PassOps out;
  PassOpsMaker maker(model, plan, pass, expert_place, out);
  for (const Stage& stage : CutStages(model, layout)) {
    out.stages.push_back(maker.UnitsOf(stage));
  }
  return out;
}

}  // namespace orrery

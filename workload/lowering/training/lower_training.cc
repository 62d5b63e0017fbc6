#include "workload/lowering/training/lower_training.h"

#include <utility>
#include <vector>

#include "workload/lowering/assembler.h"
#include "workload/lowering/training/role_writer.h"
#include "workload/lowering/training/step_context.h"
#include "workload/lowering/training/step_templates.h"

namespace orrery {

absl::StatusOr<PlacedProgram> LowerTraining(const Model& model,
                                            const TrainingPlan& plan,
                                            OpTimer timer,
                                            const LowerOptions& options) {
  Assembler assembler(plan.layout(), options.fold,
                      plan.framework().dispatch.has_value(), options.marks,
                      options.slow);
  const PipelineOrders orders =
      MakeOrders(plan.schedule(), plan.degrees().pipeline,
                 plan.virtual_stages(), plan.micro_batches(), options.profile);
  const RankClasses& classes = assembler.classes();
  std::vector<StepTemplates> templates;  // by class
  for (int of = 0; of < classes.count(); ++of) {
    templates.push_back(MakeStepTemplates(model, plan,
                                          classes.ExpertPlaceOf(of), timer,
                                          options.pass, assembler.table()));
  }
  for (const RoleKey& key : assembler.roles()) {
    const StepContext context{model,
                              plan,
                              assembler.placement(),
                              orders,
                              templates[static_cast<size_t>(key.rank_class)],
                              timer,
                              options.pass};
    RoleBuilder& role = assembler.AddRole(key);
    RoleWriter writer(context, role, key.pipeline);
    writer.Write();
    assembler.AddRanks(key, role, writer.slots(), writer.work(),
                       writer.optimizer_work(), writer.host_work());
  }
  return std::move(assembler).Build(TrafficOf(model, plan.layout()));
}

}  // namespace orrery

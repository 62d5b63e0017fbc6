#include "run/search/plan_choice.h"

#include <absl/strings/str_join.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <utility>

#include "base/format.h"
#include "catalog/defaults.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

void SetRecompute(RecomputeChoice choice, pb::Training* plan) {
  if (choice == RecomputeChoice::kAsSaid) return;
  plan->clear_recompute_module();
  switch (choice) {
    case RecomputeChoice::kAsSaid:
      return;
    case RecomputeChoice::kNone:
      plan->set_recompute(pb::Training::RECOMPUTE_NONE);
      return;
    case RecomputeChoice::kSelective:
      plan->set_recompute(pb::Training::RECOMPUTE_SELECTIVE);
      return;
    case RecomputeChoice::kCheapModules:
      plan->set_recompute(pb::Training::RECOMPUTE_PER_MODULE);
      plan->add_recompute_module(pb::Training::NORM);
      plan->add_recompute_module(pb::Training::MLP_ACTIVATION);
      return;
    case RecomputeChoice::kPerOp:
      plan->set_recompute(pb::Training::RECOMPUTE_PER_OP);
      return;
    case RecomputeChoice::kFull:
      plan->set_recompute(pb::Training::RECOMPUTE_FULL);
      return;
  }
}

std::string_view Name(RecomputeChoice choice) {
  switch (choice) {
    case RecomputeChoice::kNone:
      return "";
    case RecomputeChoice::kSelective:
      return ", recompute attention";
    case RecomputeChoice::kCheapModules:
      return ", recompute norms and activations";
    case RecomputeChoice::kPerOp:
      return ", recompute by op";
    case RecomputeChoice::kFull:
      return ", recompute layers";
    case RecomputeChoice::kAsSaid:
      return ", recompute modules as said";
  }
  return "";
}

// " ring"; empty where it is left to the framework.
std::string_view Name(pb::Training::ContextMethod method) {
  if (method == pb::Training::CONTEXT_RING) return " ring";
  if (method == pb::Training::CONTEXT_ALL_GATHER) return " gather";
  if (method == pb::Training::CONTEXT_ULYSSES) return " ulysses";
  return "";
}

// One value as --set takes it. Entry `index` of a list, or -1.
std::string ValueText(const gp::Message& message,
                      const gp::FieldDescriptor& field, int index) {
  std::string text;
  gp::TextFormat::PrintFieldValueToString(message, &field, index, &text);
  // Texts come with quotes, which --set does not take.
  if (field.cpp_type() == gp::FieldDescriptor::CPPTYPE_STRING) {
    const gp::Reflection& reflection = *message.GetReflection();
    return index < 0 ? reflection.GetString(message, &field)
                     : reflection.GetRepeatedString(message, &field, index);
  }
  return text;
}

std::string FieldText(const gp::Message& message,
                      const gp::FieldDescriptor& field) {
  const gp::Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) {
    return reflection.HasField(message, &field) ? ValueText(message, field, -1)
                                                : "";
  }
  std::vector<std::string> values;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    values.push_back(ValueText(message, field, i));
  }
  return absl::StrJoin(values, ",");
}

// Puts fields of `plan` back to what was said wherever that changes nothing.
class Reverter {
 public:
  Reverter(const pb::Scenario& said, pb::Training plan)
      : said_(said), plan_(std::move(plan)) {
    whole_ = Filled(plan_);
  }

  std::vector<std::string> Settings() && {
    Visit(said_.training(), &plan_, "training");
    return std::move(settings_);
  }

 private:
  std::string Filled(pb::Training plan) const {
    FillTrainingDefaults(said_, &plan);
    return plan.SerializeAsString();
  }

  void Visit(const gp::Message& said, gp::Message* plan,
             const std::string& path) {
    const gp::Descriptor& type = *said.GetDescriptor();
    const gp::Reflection& reflection = *said.GetReflection();
    for (int i = 0; i < type.field_count(); ++i) {
      const gp::FieldDescriptor& field = *type.field(i);
      const std::string name = path + "." + field.name();
      if (field.cpp_type() == gp::FieldDescriptor::CPPTYPE_MESSAGE) {
        if (field.is_repeated()) continue;
        Visit(reflection.GetMessage(said, &field),
              reflection.MutableMessage(plan, &field), name);
        continue;
      }
      const std::string value = FieldText(*plan, field);
      if (value == FieldText(said, field)) continue;
      const std::unique_ptr<gp::Message> kept(plan->New());
      kept->CopyFrom(*plan);
      CopyField(said, field, plan);
      if (Filled(plan_) == whole_) continue;
      plan->CopyFrom(*kept);
      settings_.push_back(fmt::format("{}={}", name, value));
    }
  }

  // Of the same type. Requires: no message field.
  static void CopyField(const gp::Message& from,
                        const gp::FieldDescriptor& field, gp::Message* to) {
    const std::unique_ptr<gp::Message> alone(from.New());
    alone->CopyFrom(from);
    std::vector<const gp::FieldDescriptor*> others;
    from.GetReflection()->ListFields(from, &others);
    for (const gp::FieldDescriptor* other : others) {
      if (other != &field)
        alone->GetReflection()->ClearField(alone.get(), other);
    }
    to->GetReflection()->ClearField(to, &field);
    to->MergeFrom(*alone);
  }

  const pb::Scenario& said_;
  pb::Training plan_;
  std::string whole_;
  std::vector<std::string> settings_;
};

}  // namespace

pb::Training WithChoice(const pb::Training& said, const PlanChoice& choice) {
  pb::Training plan = said;
  pb::Parallel& parallel = *plan.mutable_parallel();
  const KernelChoice& kernels = choice.kernels;
  const int pieces =
      said.parallel().pipeline() * std::max(1, said.virtual_stages());
  parallel.set_tensor(kernels.tensor);
  parallel.set_context(kernels.context);
  parallel.set_pipeline(choice.pipeline);
  parallel.set_data(choice.data);
  parallel.set_expert(kernels.expert);
  parallel.set_expert_tensor(kernels.expert_tensor);
  parallel.set_sequence_parallel(kernels.sequence_parallel);
  if (choice.order == OrderChoice::kPipelineFirst) {
    parallel.clear_order();
    for (const auto dimension :
         {pb::Parallel::TENSOR, pb::Parallel::CONTEXT, pb::Parallel::EXPERT,
          pb::Parallel::PIPELINE, pb::Parallel::DATA}) {
      parallel.add_order(dimension);
    }
  }
  plan.set_micro_batch(kernels.micro_batch);
  plan.set_schedule(choice.schedule);
  plan.set_virtual_stages(choice.virtual_stages);
  plan.set_sharding(choice.sharding);
  SetRecompute(choice.recompute, &plan);
  if (choice.pipeline * choice.virtual_stages != pieces) {
    plan.clear_layers_per_stage();
  }
  if (choice.data != said.parallel().data()) plan.clear_sharding_group();
  // A method that is not chosen is the default.
  if (kernels.context > 1 &&
      choice.context_method != pb::Training::CONTEXT_UNSPECIFIED) {
    plan.set_context_method(choice.context_method);
  } else {
    plan.clear_context_method();
  }
  if (kernels.expert > 1 &&
      choice.dispatch != pb::Training::DISPATCH_UNSPECIFIED) {
    plan.set_dispatch_method(choice.dispatch);
  } else {
    plan.clear_dispatch_method();
  }
  if (kernels.expert == 1) plan.clear_dispatch_precision();
  if (choice.pipeline == 1) plan.clear_overlap_pipeline();
  if (choice.pipeline == 1 || kernels.tensor == 1 ||
      kernels.sequence_parallel) {
    plan.clear_scatter_pipeline();
  }
  if (choice.sharding < pb::Training::ZERO_2) plan.clear_accumulate_locally();
  if (choice.sharding < pb::Training::ZERO_3) {
    plan.clear_reshard_after_forward();
    plan.clear_overlap_backward_gather();
  }
  return plan;
}

std::vector<std::string> SettingsOf(const pb::Scenario& said,
                                    const pb::Training& plan) {
  return Reverter(said, plan).Settings();
}

std::string Describe(const PlanChoice& choice) {
  const KernelChoice& kernels = choice.kernels;
  std::string text = fmt::format("TP {}", kernels.tensor);
  if (kernels.sequence_parallel) text += " +SP";
  if (kernels.context > 1) {
    text +=
        fmt::format(" CP {}{}", kernels.context, Name(choice.context_method));
  }
  text += fmt::format(" PP {}", choice.pipeline);
  if (choice.virtual_stages > 1) {
    text += fmt::format(" x{}", choice.virtual_stages);
  }
  text += fmt::format(" DP {}", choice.data);
  if (kernels.expert > 1) {
    text += fmt::format(" EP {}", kernels.expert);
    if (kernels.expert_tensor > 1) {
      text += fmt::format(" ETP {}", kernels.expert_tensor);
    }
    if (choice.dispatch == pb::Training::DISPATCH_BY_NODE) text += " by node";
  }
  if (choice.order == OrderChoice::kPipelineFirst) text += ", PP before DP";
  text += fmt::format(", micro-batch {}", kernels.micro_batch);
  if (choice.pipeline > 1) {
    text += ", " + pb::Training::Schedule_Name(choice.schedule);
  }
  text += ", " + pb::Training::Sharding_Name(choice.sharding);
  return text + std::string(Name(choice.recompute));
}

}  // namespace orrery

#include "cli/commands/collective_trace.h"

#include "base/format.h"
#include "base/status.h"
#include "cli/commands/trace_output.h"
#include "cli/flags/shell_word.h"
#include "cli/print/output.h"
#include "cli/print/version.h"

namespace orrery {

absl::StatusOr<CollectiveTrace> CollectiveTrace::Open(
    const std::optional<std::string>& path, const Network& network,
    const std::string& system) {
  CollectiveTrace trace;
  if (!path) return trace;
  ASSIGN_OR_RETURN(PerfettoWriter writer, PerfettoWriter::Create(*path));
  trace.path_ = *path;
  trace.writer_ = std::make_unique<PerfettoWriter>(std::move(writer));
  trace.writer_->AddAttribute("orrery.system", system);
  trace.writer_->AddAttribute("orrery.version", std::string(kVersion));
  trace.timeline_.emplace(network, *trace.writer_);
  return trace;
}

void CollectiveTrace::Add(const CollectiveCall& call,
                          const PlannedCall& planned, Time end) {
  if (!timeline_) return;
  timeline_->Add(call, planned, log_, end);
  log_ = {};
}

absl::Status CollectiveTrace::Finish() {
  if (!timeline_) return absl::OkStatus();
  timeline_->Finish();
  RETURN_IF_ERROR(writer_->Finish());
  Say(fmt::format("wrote {} slices; this shows them: orrery view {}",
                  writer_->slices(), ShellWord(path_)));
  return absl::OkStatus();
}

}  // namespace orrery

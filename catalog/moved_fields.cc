#include "catalog/moved_fields.h"

namespace orrery {
namespace {

struct Moved {
  absl::string_view message;
  absl::string_view field;
  absl::string_view where;
};
constexpr Moved kMoved[] = {
    {"orrery.pb.Chip", "calibration",
     "; what libraries make of a chip is now the scenario's part 'kernels': "
     "kernels.launch, kernels.step_cycles and so on, and what a collective "
     "takes of it is system.collectives.compute_share and memory_share"},
    {"orrery.pb.Scenario", "seed",
     "; nothing in a run is random, so a seed would change nothing: leave it "
     "out"},
    {"orrery.pb.Network", "arbitration",
     "; arbitration by port is gone, and links are always shared flow by flow: "
     "leave it out"},
    {"orrery.pb.CollectiveCalibration", "channels",
     "; nothing depends on the number of channels: leave it out"},
};

}  // namespace

std::string MovedTo(const google::protobuf::Descriptor& message,
                    absl::string_view field) {
  for (const Moved& moved : kMoved) {
    if (moved.message == message.full_name() && moved.field == field) {
      return std::string(moved.where);
    }
  }
  return "";
}

}  // namespace orrery

#pragma once
// The commands there are. Each is defined in <name>_command.cc.
#include <vector>

#include "cli/flags/command.h"

namespace orrery {

Command CalibrateCommand();
Command CheckCommand();
Command CollectiveCommand();
Command CompareCommand();
Command CompletionCommand();
Command CostCommand();
Command DeriveCommand();
Command EstimateCommand();
Command ExplainCommand();
Command ImportCommand();
Command KernelCommand();
Command ListCommand();
Command ManCommand();
Command NewCommand();
Command RooflineCommand();
Command ShowCommand();
Command SimulateCommand();
Command SweepCommand();
Command TopologyCommand();
Command TuneCommand();
Command ValidateCommand();
Command ViewCommand();

// In the order in which --help lists them.
inline std::vector<Command> AllCommands() {
  return {SimulateCommand(),   EstimateCommand(), CheckCommand(),
          ExplainCommand(),    CompareCommand(),  CostCommand(),
          TuneCommand(),       SweepCommand(),    NewCommand(),
          ShowCommand(),       ListCommand(),     ImportCommand(),
          CollectiveCommand(), KernelCommand(),   RooflineCommand(),
          TopologyCommand(),   DeriveCommand(),   ValidateCommand(),
          CalibrateCommand(),  ViewCommand(),     CompletionCommand(),
          ManCommand()};
}

}  // namespace orrery

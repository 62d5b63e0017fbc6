#include "cli/flags/chip_flags.h"

namespace orrery {

Flag LibraryFlag() {
  return {.name = "library",
          .value = "KERNELS",
          .help =
              "a kernels preset or file instead of the chip's default ('orrery "
              "list "
              "kernels')"};
}

Flag SetChipFlag() {
  return {.name = "set",
          .value = "PATH=VALUE",
          .help =
              "override a field of the chip or its kernels: "
              "memory_bandwidth='4 TB/s', kernels.launch='2 us'",
          .repeated = true};
}

}  // namespace orrery

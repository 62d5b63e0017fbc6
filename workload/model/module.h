#pragma once
// Module and ModuleSet: the kinds of modules of a layer that can be recomputed.
//
// A layer is a row of modules (see layer.h). Each is of one of these kinds, of
// several (the activation of an MLP is also a part of the MLP), or of none.
//
//   const ModuleSet recomputed = Module::kNorm | Module::kMlpActivation;
//   recomputed.Has(Module::kNorm);
//   recomputed.Meets(step.modules);
#include <cstdint>

namespace orrery {

// In the order of pb::Training::Module.
enum class Module : uint8_t {
  kAttentionCore,
  kNorm,
  kMlpActivation,
  kMlp,
  kMoe,
  // Latents to heads, of latent attention.
  kLatentUp,
};

class ModuleSet {
 public:
  constexpr ModuleSet() = default;
  // One module is a set too.
  constexpr ModuleSet(Module module)
      : bits_(static_cast<uint8_t>(1U << static_cast<unsigned>(module))) {}

  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Has(Module module) const { return Meets(module); }
  // Whether the two have a module in common.
  constexpr bool Meets(ModuleSet other) const {
    return (bits_ & other.bits_) != 0;
  }
  friend constexpr ModuleSet operator|(ModuleSet a, ModuleSet b) {
    ModuleSet both;
    both.bits_ = static_cast<uint8_t>(a.bits_ | b.bits_);
    return both;
  }
  constexpr ModuleSet& operator|=(ModuleSet other) {
    return *this = *this | other;
  }
  friend constexpr bool operator==(ModuleSet, ModuleSet) = default;

 private:
  uint8_t bits_ = 0;
};

// Of two modules; the operator of sets does not find them by itself.
constexpr ModuleSet operator|(Module a, Module b) {
  return ModuleSet(a) | ModuleSet(b);
}

inline constexpr ModuleSet kNoModule;

}  // namespace orrery

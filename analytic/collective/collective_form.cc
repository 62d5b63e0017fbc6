#include "analytic/collective/collective_form.h"

#include <algorithm>
#include <utility>

namespace orrery {

bool CollectiveForm::Uses(Tier tier) const {
  const double load = tier == Tier::kScaleUp ? all.island : all.network;
  return load > 0 ||
         std::any_of(messages.begin(), messages.end(),
                     [&](const MessageTerm& m) { return m.tier == tier; });
}

void JoinAlike(CollectiveForm& form) {
  std::vector<MessageTerm> messages;
  for (const MessageTerm& term : form.messages) {
    const auto same = std::find_if(
        messages.begin(), messages.end(), [&](const MessageTerm& m) {
          return m.tier == term.tier && m.hops == term.hops;
        });
    if (same == messages.end()) {
      messages.push_back(term);
    } else {
      same->messages += term.messages;
    }
  }
  form.messages = std::move(messages);
  std::vector<WaveTerm> waves;
  for (const WaveTerm& wave : form.waves) {
    const auto same =
        std::find_if(waves.begin(), waves.end(), [&](const WaveTerm& w) {
          return w.island * wave.network == wave.island * w.network &&
                 w.network * wave.crowded == wave.network * w.crowded;
        });
    if (same == waves.end()) {
      waves.push_back(wave);
    } else {
      same->island += wave.island;
      same->network += wave.network;
      same->crowded += wave.crowded;
    }
  }
  form.waves = std::move(waves);
}

FormTime PriceForm(const CollectiveForm& form, const TierPrice& island,
                   const TierPrice& network, Bytes bytes, double pieces) {
  FormTime time;
  const auto latency = [&](const MessageTerm& term) {
    const TierPrice& tier = term.tier == Tier::kScaleUp ? island : network;
    return term.messages *
           std::max(tier.message, tier.route + term.hops * tier.hop);
  };
  for (const MessageTerm& term : form.messages) time.latency += latency(term);
  for (const std::vector<MessageTerm>& race : form.races) {
    Seconds longest{};
    for (const MessageTerm& term : race) {
      longest = std::max(longest, latency(term));
    }
    time.latency += longest;
  }
  const auto size = static_cast<double>(bytes.value());
  const auto wire = [&](double WaveTerm::*load) {
    const auto of = [&](const WaveTerm& wave) {
      return Seconds(size * std::max(wave.island * island.second_per_byte,
                                     wave.*load * network.second_per_byte));
    };
    Seconds sum{};
    for (const WaveTerm& wave : form.waves) sum += of(wave);
    return form.streams ? sum / pieces + of(form.all) * (1 - 1 / pieces) : sum;
  };
  time.wire = wire(&WaveTerm::network);
  time.crowded = wire(&WaveTerm::crowded);
  return time;
}

}  // namespace orrery

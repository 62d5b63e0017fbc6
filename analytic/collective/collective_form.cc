#include "analytic/collective/collective_form.h"

#include <algorithm>
#include <utility>

namespace orrery {

void WaveTerm::Add(const LineLoad& line) {
  if (line.island == 0 || line.network == 0) {
    island = std::max(island, line.island);
    network = std::max(network, line.network);
    crowded = std::max(crowded, line.network);
    return;
  }
  const auto covers = [](const LineLoad& a, const LineLoad& b) {
    return a.island >= b.island && a.network >= b.network;
  };
  for (const LineLoad& other : mixed) {
    if (covers(other, line)) return;
  }
  std::erase_if(mixed,
                [&](const LineLoad& other) { return covers(line, other); });
  mixed.push_back(line);
}

bool CollectiveForm::Uses(Tier tier) const {
  const auto has = [&](const MessageTerm& m) { return m.tier == tier; };
  const double load = tier == Tier::kScaleUp ? all.island : all.network;
  if (load > 0 || std::any_of(messages.begin(), messages.end(), has)) {
    return true;
  }
  for (const MessageRace& race : races) {
    for (const std::vector<MessageTerm>& row : race) {
      if (std::any_of(row.begin(), row.end(), has)) return true;
    }
  }
  return false;
}

void JoinAlike(CollectiveForm& form) {
  std::vector<MessageTerm> messages;
  for (const MessageTerm& term : form.messages) {
    const auto same = std::find_if(
        messages.begin(), messages.end(), [&](const MessageTerm& m) {
          return m.tier == term.tier && m.links == term.links;
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
          return w.mixed.empty() && wave.mixed.empty() &&
                 w.island * wave.network == wave.island * w.network &&
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
    return term.messages * std::max(tier.message, term.links);
  };
  for (const MessageTerm& term : form.messages) time.latency += latency(term);
  for (const MessageRace& race : form.races) {
    Seconds longest{};
    for (const std::vector<MessageTerm>& row : race) {
      Seconds sum{};
      for (const MessageTerm& term : row) sum += latency(term);
      longest = std::max(longest, sum);
    }
    time.latency += longest;
  }
  const auto size = static_cast<double>(bytes.value());
  const auto wire = [&](double WaveTerm::*load) {
    const auto of = [&](const WaveTerm& wave) {
      double most = std::max(wave.island * island.second_per_byte,
                             wave.*load * network.second_per_byte);
      for (const LineLoad& line : wave.mixed) {
        most = std::max(most, line.island * island.second_per_byte +
                                  line.network * network.second_per_byte);
      }
      return Seconds(size * most);
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

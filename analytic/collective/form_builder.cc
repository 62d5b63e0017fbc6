#include "analytic/collective/form_builder.h"

#include <algorithm>
#include <utility>

#include "analytic/collective/port_lines.h"
#include "analytic/collective/routed_lines.h"
#include "base/check.h"

namespace orrery {
namespace {

// Adds a message to those that differ.
void Tally(const MessageTerm& message, std::vector<MessageTerm>& terms) {
  for (MessageTerm& term : terms) {
    if (term.tier != message.tier || term.links != message.links) continue;
    term.messages += message.messages;
    return;
  }
  terms.push_back(message);
}

// Adds a row, unless another is as long whatever the prices.
void AddRow(std::vector<MessageTerm> row, MessageRace& race) {
  const auto within = [](const std::vector<MessageTerm>& a,
                         const std::vector<MessageTerm>& b) {
    if (a == b) return true;
    return a.size() == 1 && b.size() == 1 && a[0].tier == b[0].tier &&
           a[0].messages <= b[0].messages && a[0].links <= b[0].links;
  };
  for (const std::vector<MessageTerm>& other : race) {
    if (within(row, other)) return;
  }
  std::erase_if(race, [&](const auto& other) { return within(other, row); });
  race.push_back(std::move(row));
}

void AddUp(const WaveTerm& more, WaveTerm& sum) {
  sum.island += more.island;
  sum.network += more.network;
  sum.crowded += more.crowded;
}

}  // namespace

FormBuilder::FormBuilder(const GroupNetwork& group,
                         CollectiveAlgorithm algorithm, ProtocolUse use)
    : group_(group) {
  form_.algorithm = algorithm;
  form_.use = use;
}

void FormBuilder::BeginWave(bool streams) {
  waves_.push_back({.streams = streams});
}

void FormBuilder::BeginRound(int repeat) {
  CHECK(!waves_.empty() && repeat > 0);
  waves_.back().rounds.push_back({repeat, messages_.size(), messages_.size()});
}

void FormBuilder::Send(int from, int to, double share) {
  Round& round = waves_.back().rounds.back();
  messages_.push_back({from, to, share * round.repeat});
  round.end = messages_.size();
}

void FormBuilder::SendToAll(double share) {
  Round& round = waves_.back().rounds.back();
  CHECK_EQ(round.repeat, 1);
  if (group_.routes() == nullptr) {
    round.to_all = share;
    return;
  }
  for (int from = 0; from < group_.ranks(); ++from) {
    for (int to = 0; to < group_.ranks(); ++to) {
      if (from != to) Send(from, to, share);
    }
  }
}

void FormBuilder::AddWave(MessageRace race, const WaveTerm& loads) {
  waves_.push_back({.race = std::move(race), .loads = loads});
}

template <class Lines>
void FormBuilder::AddRows(const Round& round, Lines& lines,
                          MessageRace& race) const {
  std::vector<MessageTerm> terms;
  if constexpr (requires { lines.SendToAll(round.to_all); }) {
    if (round.to_all > 0) terms = lines.SendToAll(round.to_all);
  }
  for (size_t i = round.begin; i < round.end; ++i) {
    const Message& message = messages_[i];
    Tally(lines.Send(message.from, message.to, message.load), terms);
  }
  if (round.repeat == 1) {
    for (const MessageTerm& term : terms) {
      AddRow({{term.tier, term.links, 1}}, race);
    }
    return;
  }
  double count = 0;
  for (const MessageTerm& term : terms) count += term.messages;
  for (MessageTerm& term : terms) term.messages *= round.repeat / count;
  AddRow(std::move(terms), race);
}

void FormBuilder::AddRace(MessageRace race) {
  MessageRace rows;
  for (std::vector<MessageTerm>& row : race) AddRow(std::move(row), rows);
  if (rows.size() > 1) {
    form_.races.push_back(std::move(rows));
  } else if (!rows.empty()) {
    for (const MessageTerm& term : rows[0]) form_.messages.push_back(term);
  }
}

template <class Lines>
void FormBuilder::Count(Lines& lines) {
  WaveTerm known;
  for (size_t i = 0; i < waves_.size(); ++i) {
    Wave& wave = waves_[i];
    for (const Round& round : wave.rounds) AddRows(round, lines, wave.race);
    AddRace(std::move(wave.race));
    if (i + 1 < waves_.size() && waves_[i + 1].streams) continue;
    if (wave.rounds.empty()) {
      AddUp(wave.loads, known);
      form_.waves.push_back(wave.loads);
    } else {
      form_.waves.push_back(lines.TakeWave());
    }
  }
  form_.all = lines.All();
  AddUp(known, form_.all);
}

CollectiveForm FormBuilder::Build() && {
  if (FabricRoutes* routes = group_.routes()) {
    RoutedLines lines(group_, *routes);
    for (const Message& message : messages_) {
      lines.Announce(message.from, message.to, message.load);
    }
    lines.Route();
    Count(lines);
  } else {
    PortLines lines(group_);
    Count(lines);
  }
  JoinAlike(form_);
  return std::move(form_);
}

CollectiveForm FormBuilder::BuildStreaming() && {
  form_.streams = true;
  return std::move(*this).Build();
}

}  // namespace orrery

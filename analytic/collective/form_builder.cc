#include "analytic/collective/form_builder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "analytic/collective/port_lines.h"
#include "analytic/collective/routed_lines.h"
#include "base/check.h"

namespace orrery {
namespace {

// Adds a message to those that differ; returns which it is.
size_t Tally(const MessageTerm& message, std::vector<MessageTerm>& terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    MessageTerm& term = terms[i];
    if (term.tier != message.tier || term.links != message.links) continue;
    term.messages += message.messages;
    return i;
  }
  terms.push_back(message);
  return terms.size() - 1;
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
  std::vector<size_t> kinds;  // of the messages
  if constexpr (requires { lines.SendToAll(round.to_all); }) {
    if (round.to_all > 0) terms = lines.SendToAll(round.to_all);
  }
  for (size_t i = round.begin; i < round.end; ++i) {
    const Message& message = messages_[i];
    kinds.push_back(
        Tally(lines.Send(message.from, message.to, message.load), terms));
  }
  if (round.repeat == 1) {
    for (const MessageTerm& term : terms) {
      AddRow({{term.tier, term.links, 1}}, race);
    }
    return;
  }
  const auto stretches = Stretches(round, terms, kinds);
  for (const std::vector<MessageTerm>& stretch : stretches) {
    AddRow(stretch, race);
  }
  if (!stretches.empty()) return;
  double count = 0;
  for (const MessageTerm& term : terms) count += term.messages;
  for (MessageTerm& term : terms) term.messages *= round.repeat / count;
  AddRow(std::move(terms), race);
}

std::vector<std::vector<MessageTerm>> FormBuilder::Stretches(
    const Round& round, const std::vector<MessageTerm>& terms,
    const std::vector<size_t>& kinds) const {
  if (terms.size() < 2) return {};
  const auto ranks = static_cast<size_t>(group_.ranks());
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> leaving(ranks, kNone);  // which message
  for (size_t i = 0; i < kinds.size(); ++i) {
    size_t& message =
        leaving[static_cast<size_t>(messages_[round.begin + i].from)];
    if (message != kNone) return {};
    message = i;
  }
  const auto repeat = static_cast<size_t>(round.repeat);
  std::set<std::vector<int>> distinct;
  std::vector<bool> passed(ranks, false);
  for (size_t start = 0; start < ranks; ++start) {
    if (leaving[start] == kNone || passed[start]) continue;
    std::vector<size_t> ring;
    for (size_t rank = start; !passed[rank];) {
      passed[rank] = true;
      const size_t message = leaving[rank];
      if (message == kNone) return {};
      ring.push_back(kinds[message]);
      rank = static_cast<size_t>(messages_[round.begin + message].to);
      if (passed[rank] && rank != start) return {};
    }
    if (repeat + 1 >= ring.size()) return {};
    std::vector<int> stretch(terms.size(), 0);
    for (size_t hop = 0; hop < repeat; ++hop) ++stretch[ring[hop]];
    for (size_t hop = 0; hop < ring.size(); ++hop) {
      distinct.insert(stretch);
      --stretch[ring[hop]];
      ++stretch[ring[(hop + repeat) % ring.size()]];
    }
  }
  std::vector<std::vector<MessageTerm>> rows;
  for (const std::vector<int>& stretch : distinct) {
    std::vector<MessageTerm>& row = rows.emplace_back();
    for (size_t i = 0; i < terms.size(); ++i) {
      if (stretch[i] == 0) continue;
      row.push_back(
          {terms[i].tier, terms[i].links, static_cast<double>(stretch[i])});
    }
  }
  return rows;
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
  MessageRace threads;
  for (size_t i = 0; i < waves_.size(); ++i) {
    Wave& wave = waves_[i];
    for (size_t r = 0; r < wave.rounds.size(); ++r) {
      if (!threads_) {
        AddRows(wave.rounds[r], lines, wave.race);
        continue;
      }
      MessageRace race;
      AddRows(wave.rounds[r], lines, race);
      CHECK_EQ(race.size(), size_t{1});
      threads.resize(wave.rounds.size());
      for (const MessageTerm& term : race[0]) Tally(term, threads[r]);
    }
    AddRace(std::move(wave.race));
    if (i + 1 < waves_.size() && waves_[i + 1].streams) continue;
    if (wave.rounds.empty()) {
      AddUp(wave.loads, known);
      form_.waves.push_back(wave.loads);
    } else {
      form_.waves.push_back(lines.TakeWave());
    }
  }
  AddRace(std::move(threads));
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

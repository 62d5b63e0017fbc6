#pragma once
// SweepTeam: the points of a study, shared out among the threads of this
// process and those of others, if there are any.
//
//   NoPeers alone;
//   SweepTeam team(alone);
//   RETURN_IF_ERROR(team.Run({.study = study, ...}, [&](rows) { ... }));
//
// One process leads (rank 0) and gets the rows, in the order of the points,
// whoever worked them out; the others serve it (ServeSweep). Blocks go to
// whoever is free. A peer has twice as many as it has threads, so that it never
// waits for the next; a process that leads works as well.
//
// What a team is held together by is a policy (Peers): MPI in the program,
// mailboxes of threads in the tests.
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/format.h"
#include "base/overload.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "run/search/block_queue.h"
#include "run/search/sweep_letters.h"
#include "run/search/sweep_service.h"
#include "run/search/sweep_worker.h"

namespace orrery {

template <class P>
concept Peers = requires(P& peers, int to, const std::string& text) {
  // Processes, this one counted; it is rank 0 if it leads.
  { peers.size() } -> std::convertible_to<int>;
  // Letters from one to another arrive in order.
  peers.Send(to, text);
  // One that has come; nothing if none is there.
  { peers.Receive() } -> std::same_as<std::optional<Letter>>;
};

// A process by itself.
struct NoPeers {
  static int size() { return 1; }
  static void Send(int, const std::string&) {}
  static std::optional<Letter> Receive() { return std::nullopt; }
};

struct SweepJob {
  const Study& study;
  const Catalog& catalog;
  // Tells studies apart: a peer that has read another one is refused.
  std::string title;
  // The points are point_of(begin), point_of(begin + 1), ..., without gaps
  // inside a block.
  int64_t begin = 0;
  int64_t end = 0;
  absl::FunctionRef<int64_t(int64_t)> point_of;
  pb::Study::Method method = pb::Study::ESTIMATE;
  int64_t block = 1;
  int threads = 1;  // of this process
};

template <Peers P>
class SweepTeam {
 public:
  explicit SweepTeam(P& peers)
      : peers_(peers), members_(static_cast<size_t>(peers.size() - 1)) {}
  // Sends everybody home, and waits until they have gone.
  ~SweepTeam() {
    int left = static_cast<int>(members_.size());
    for (int rank = 1; rank <= left; ++rank) {
      peers_.Send(rank, WriteLetter(StopLetter{}));
    }
    while (left > 0) {
      const std::optional<Letter> letter = peers_.Receive();
      if (!letter) {
        std::this_thread::sleep_for(kPatience);
      } else if (letter->text == WriteLetter(ByeLetter{})) {
        --left;
      }
    }
  }
  SweepTeam(const SweepTeam&) = delete;
  SweepTeam& operator=(const SweepTeam&) = delete;

  // Gives all rows to `take`, in order; ends early with the error of `take`, or
  // with that of a peer.
  absl::Status Run(
      const SweepJob& job,
      absl::FunctionRef<absl::Status(std::vector<SweepRow>)> take) {
    // Blocks for each process; how many threads it has is known when it comes.
    constexpr int64_t kAhead = 128;
    BlockQueue queue(
        job.begin, job.end,
        {.points = job.block,
         .window = kAhead * static_cast<int64_t>(1 + members_.size())});
    std::vector<std::thread> threads;
    for (int t = 0; t < job.threads; ++t) {
      threads.emplace_back([&] {
        SweepWorker worker(job.study, job.catalog);
        while (const auto block = queue.Take()) {
          queue.Put(*block, WorkOut(OrderOf(job, *block), worker));
        }
      });
    }
    const absl::Status status = Lead(job, take, &queue);
    queue.Stop();
    for (std::thread& thread : threads) thread.join();
    return status;
  }

 private:
  static constexpr std::chrono::milliseconds kPatience{1};

  struct Member {
    int threads = 0;  // 0: has not come yet
    int blocks = 0;   // that it has and we have not
  };

  static WorkLetter OrderOf(const SweepJob& job, const PointBlock& block) {
    return {block, job.point_of(block.begin), job.method};
  }

  absl::Status Lead(const SweepJob& job,
                    absl::FunctionRef<absl::Status(std::vector<SweepRow>)> take,
                    BlockQueue* queue) {
    const std::chrono::milliseconds patience =
        members_.empty() ? std::chrono::milliseconds(100) : kPatience;
    while (!queue->done()) {
      while (const std::optional<Letter> letter = peers_.Receive()) {
        RETURN_IF_ERROR(Open(job, *letter, queue));
      }
      HandOut(job, queue);
      std::vector<SweepRow> rows = queue->Ready();
      if (rows.empty()) {
        queue->WaitForReady(patience);
      } else {
        RETURN_IF_ERROR(take(std::move(rows)));
      }
    }
    return absl::OkStatus();
  }

  // One block to each in turn, until all have enough or none is left.
  void HandOut(const SweepJob& job, BlockQueue* queue) {
    for (bool any = true; any;) {
      any = false;
      for (size_t i = 0; i < members_.size(); ++i) {
        Member& member = members_[i];
        if (member.blocks >= 2 * member.threads) continue;
        const auto block = queue->TryTake();
        if (!block) return;
        peers_.Send(static_cast<int>(i) + 1, WriteLetter(OrderOf(job, *block)));
        ++member.blocks;
        any = true;
      }
    }
  }

  absl::Status Open(const SweepJob& job, const Letter& letter,
                    BlockQueue* queue) {
    Member& member = members_[static_cast<size_t>(letter.from - 1)];
    std::optional<SweepLetter> read = ReadLetter(job.study, letter.text);
    const auto odd = [&] {
      return absl::InternalError(fmt::format("rank {} sent '{}'", letter.from,
                                             letter.text.substr(0, 100)));
    };
    if (!read) return odd();
    return std::visit(
        Overload{[&](const ReadyLetter& ready) -> absl::Status {
                   if (ready.title != job.title) {
                     return absl::InvalidArgumentError(fmt::format(
                         "rank {} has read another study or scenario, or is "
                         "another version of orrery",
                         letter.from));
                   }
                   member.threads = ready.threads;
                   return absl::OkStatus();
                 },
                 [&](const FailedLetter& failed) -> absl::Status {
                   return absl::InvalidArgumentError(
                       fmt::format("rank {}: {}", letter.from, failed.reason));
                 },
                 [&](RowsLetter& done) -> absl::Status {
                   --member.blocks;
                   queue->Put(done.block, std::move(done.rows));
                   return absl::OkStatus();
                 },
                 [&](const auto&) -> absl::Status { return odd(); }},
        *read);
  }

  P& peers_;
  std::vector<Member> members_;
};

// Works for the leader until it says stop. `study` may say why this process has
// none.
template <Peers P>
void ServeSweep(const absl::StatusOr<Study>& study, const Catalog& catalog,
                const std::string& title, int threads, P& peers) {
  constexpr std::chrono::milliseconds kPatience{1};
  constexpr int kLeader = 0;
  std::optional<SweepService> service;
  if (study.ok()) {
    service.emplace(*study, catalog, threads);
    peers.Send(kLeader, WriteLetter(ReadyLetter{threads, title}));
  } else {
    peers.Send(
        kLeader,
        WriteLetter(FailedLetter{std::string(study.status().message())}));
  }
  for (;;) {
    while (const std::optional<Letter> letter = peers.Receive()) {
      if (letter->text == WriteLetter(StopLetter{})) {
        service.reset();
        peers.Send(kLeader, WriteLetter(ByeLetter{}));
        return;
      }
      if (!service) continue;
      const auto read = ReadLetter(*study, letter->text);
      CHECK(read && std::holds_alternative<WorkLetter>(*read)) << letter->text;
      service->Add(std::get<WorkLetter>(*read));
    }
    if (!service) {
      std::this_thread::sleep_for(kPatience);
      continue;
    }
    service->Wait(kPatience);
    while (auto done = service->Done()) {
      peers.Send(kLeader, WriteLetter(*std::move(done)));
    }
  }
}

}  // namespace orrery

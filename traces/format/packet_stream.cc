#include "traces/format/packet_stream.h"

#include <libdeflate.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "proto/perfetto.pb.h"
#include "traces/format/wire.h"

namespace orrery {
namespace {

// Whole blocks into whole blocks: libdeflate is two to three times as fast as
// zlib where nothing streams.
class Deflater {
 public:
  // Speed matters more than the last percent: level 1 shrinks traces tenfold.
  Deflater() : compressor_(libdeflate_alloc_compressor(1)) {
    CHECK(compressor_ != nullptr);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() { libdeflate_free_compressor(compressor_); }

  // Valid until the next call.
  absl::string_view Compress(absl::string_view input) {
    const size_t most =
        libdeflate_zlib_compress_bound(compressor_, input.size());
    if (output_.size() < most) output_.resize(most);
    const size_t size = libdeflate_zlib_compress(
        compressor_, input.data(), input.size(), output_.data(), most);
    CHECK(size > 0);
    return {output_.data(), size};
  }

 private:
  libdeflate_compressor* compressor_;
  std::vector<char> output_;
};

}  // namespace

// Compresses and writes blocks on a thread of its own.
class PacketStream::Worker {
 public:
  explicit Worker(std::optional<FileWriter> file) : file_(std::move(file)) {
    thread_ = std::thread([this] { Run(); });
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { Stop(); }

  // Takes the block and gives back room for the next; the first error so far.
  absl::Status Give(Block& block) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return blocks_.size() < kMostBlocks; });
    blocks_.push_back(std::move(block));
    block = {};
    if (!free_.empty()) {
      block = std::move(free_.back());
      free_.pop_back();
    }
    work_.notify_one();
    return status_;
  }

  // Waits for all blocks, and puts the file in place.
  absl::Status Finish() {
    Stop();
    if (status_.ok() && file_) status_ = file_->Commit();
    return status_;
  }

  int64_t file_bytes() const { return file_bytes_; }

 private:
  // So many wait at the most: the memory they take stays small.
  static constexpr size_t kMostBlocks = 4;

  void Stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_one();
    thread_.join();
  }

  void Run() {
    for (;;) {
      Block block;
      bool ok = true;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] { return stop_ || !blocks_.empty(); });
        if (blocks_.empty()) return;
        block = std::move(blocks_.front());
        blocks_.pop_front();
        ok = status_.ok();
      }
      room_.notify_one();
      absl::Status written =
          ok ? Write({block.bytes.get(), block.size}) : absl::OkStatus();
      const std::lock_guard lock(mutex_);
      if (status_.ok()) status_ = std::move(written);
      block.size = 0;
      free_.push_back(std::move(block));
    }
  }

  // What the blocks would take in a file, from some of them: a trace says much
  // the same again and again.
  void Measure(absl::string_view block) {
    constexpr int64_t kFirst = 64;
    constexpr int64_t kOneIn = 8;
    const int64_t number = measured_++;
    if (number < kFirst) {
      file_bytes_ += FrameOf(block);
      return;
    }
    const auto raw = static_cast<double>(block.size());
    raw_ += raw;
    if (number % kOneIn == 0) {
      tried_raw_ += raw;
      tried_ += static_cast<double>(FrameOf(block));
    }
    const auto rest = static_cast<int64_t>(tried_ / tried_raw_ * raw_);
    file_bytes_ += rest - rest_;
    rest_ = rest;
  }

  // Makes the packet of a block; its size.
  int64_t FrameOf(absl::string_view block) {
    packet_.clear();
    wire::AppendBytesField<
        perfetto::TracePacket::kCompressedPacketsFieldNumber>(
        deflater_.Compress(block), packet_);
    frame_.clear();
    wire::AppendBytesField<perfetto::Trace::kPacketFieldNumber>(packet_,
                                                                frame_);
    return static_cast<int64_t>(frame_.size());
  }

  absl::Status Write(absl::string_view block) {
    if (!file_) {
      Measure(block);
      return absl::OkStatus();
    }
    file_bytes_ += FrameOf(block);
    return file_->Append(frame_);
  }

  std::optional<FileWriter> file_;
  Deflater deflater_;
  std::string packet_, frame_;
  std::atomic<int64_t> file_bytes_ = 0;
  // Where there is no file: blocks so far; of those behind the first, bytes,
  // what of them was tried and what it took, and what is counted for all.
  int64_t measured_ = 0;
  double raw_ = 0, tried_raw_ = 0, tried_ = 0;
  int64_t rest_ = 0;

  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<Block> blocks_;  // to be written
  std::vector<Block> free_;
  absl::Status status_;
  bool stop_ = false;
  std::thread thread_;
};

void PacketStream::DeleteWorker::operator()(Worker* worker) const {
  delete worker;
}

absl::StatusOr<PacketStream> PacketStream::Create(const std::string& path) {
  ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  return PacketStream(std::move(file));
}

PacketStream PacketStream::ToNowhere() { return PacketStream(std::nullopt); }

PacketStream::PacketStream(std::optional<FileWriter> file)
    : worker_(new Worker(std::move(file))) {
  pending_.bytes = std::make_unique<char[]>(kBlock);
}

int64_t PacketStream::file_bytes() const { return worker_->file_bytes(); }

void PacketStream::Add(absl::string_view packet) {
  char* const out =
      Room(packet.size() + wire::kLongestTag + wire::kLongestVarint);
  Took(wire::PutRaw(packet,
                    wire::PutBytesHead<perfetto::Trace::kPacketFieldNumber>(
                        packet.size(), out)));
}

void PacketStream::Flush() {
  raw_bytes_ += static_cast<int64_t>(pending_.size);
  status_ = worker_->Give(pending_);
  if (pending_.bytes == nullptr) {
    pending_.bytes = std::make_unique<char[]>(kBlock);
  }
}

absl::Status PacketStream::Finish() {
  if (pending_.size > 0) Flush();
  status_ = worker_->Finish();
  return status_;
}

}  // namespace orrery

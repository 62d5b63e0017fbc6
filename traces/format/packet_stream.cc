#include "traces/format/packet_stream.h"

#include <zlib.h>

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

constexpr size_t kFlushAt = 400'000;
constexpr size_t kLargestPacket = 100'000;

// A zlib stream that is reset, not rebuilt, for each block.
class Deflater {
 public:
  Deflater() {
    // Speed matters more than the last percent: level 1 shrinks traces tenfold.
    CHECK_EQ(deflateInit(&stream_, Z_BEST_SPEED), Z_OK);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() { deflateEnd(&stream_); }

  void Compress(absl::string_view input, std::string& output) {
    output.resize(deflateBound(&stream_, input.size()));
    // zlib reads through this pointer only.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output.data());
    stream_.avail_out = static_cast<uInt>(output.size());
    CHECK_EQ(deflate(&stream_, Z_FINISH), Z_STREAM_END);
    output.resize(stream_.total_out);
    CHECK_EQ(deflateReset(&stream_), Z_OK);
  }

 private:
  z_stream stream_{};
};

}  // namespace

// Compresses and writes blocks on a thread of its own.
class PacketStream::Worker {
 public:
  explicit Worker(FileWriter file) : file_(std::move(file)) {
    thread_ = std::thread([this] { Run(); });
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { Stop(); }

  // Takes the block and gives back room for the next; the first error so far.
  absl::Status Give(std::string& block) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return blocks_.size() < kMostBlocks; });
    blocks_.push_back(std::move(block));
    if (free_.empty()) {
      block = std::string();
    } else {
      block = std::move(free_.back());
      free_.pop_back();
    }
    work_.notify_one();
    return status_;
  }

  // Waits for all blocks, and puts the file in place.
  absl::Status Finish() {
    Stop();
    if (status_.ok()) status_ = file_.Commit();
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
      std::string block;
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
      absl::Status written = ok ? Write(block) : absl::OkStatus();
      const std::lock_guard lock(mutex_);
      if (status_.ok()) status_ = std::move(written);
      block.clear();
      free_.push_back(std::move(block));
    }
  }

  absl::Status Write(absl::string_view block) {
    deflater_.Compress(block, compressed_);
    packet_.clear();
    wire::AppendBytesField(perfetto::TracePacket::kCompressedPacketsFieldNumber,
                           compressed_, packet_);
    frame_.clear();
    wire::AppendBytesField(perfetto::Trace::kPacketFieldNumber, packet_,
                           frame_);
    file_bytes_ += static_cast<int64_t>(frame_.size());
    return file_.Append(frame_);
  }

  FileWriter file_;
  Deflater deflater_;
  std::string compressed_, packet_, frame_;
  std::atomic<int64_t> file_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<std::string> blocks_;  // to be written
  std::vector<std::string> free_;
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

PacketStream::PacketStream(FileWriter file)
    : worker_(new Worker(std::move(file))) {
  pending_.reserve(kFlushAt + kLargestPacket);
}

int64_t PacketStream::file_bytes() const { return worker_->file_bytes(); }

void PacketStream::Add(absl::string_view packet) {
  DCHECK(packet.size() < kLargestPacket);
  wire::AppendBytesField(perfetto::Trace::kPacketFieldNumber, packet, pending_);
  if (pending_.size() >= kFlushAt) Flush();
}

void PacketStream::Flush() {
  raw_bytes_ += static_cast<int64_t>(pending_.size());
  status_ = worker_->Give(pending_);
  pending_.clear();
  pending_.reserve(kFlushAt + kLargestPacket);
}

absl::Status PacketStream::Finish() {
  if (!pending_.empty()) Flush();
  status_ = worker_->Finish();
  return status_;
}

}  // namespace orrery

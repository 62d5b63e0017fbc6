#include "traces/format/packet_stream.h"

#include <zlib.h>

#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "proto/perfetto.pb.h"
#include "traces/format/wire.h"

namespace orrery {
namespace {

constexpr size_t kFlushAt = 400'000;
constexpr size_t kLargestPacket = 100'000;

}  // namespace

// A zlib stream that is reset, not rebuilt, for each block.
class PacketStream::Deflater {
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

void PacketStream::DeleteDeflater::operator()(Deflater* deflater) const {
  delete deflater;
}

absl::StatusOr<PacketStream> PacketStream::Create(const std::string& path) {
  ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  return PacketStream(std::move(file));
}

PacketStream::PacketStream(FileWriter file)
    : file_(std::move(file)), deflater_(new Deflater) {
  pending_.reserve(kFlushAt + kLargestPacket);
}

void PacketStream::Add(absl::string_view packet) {
  DCHECK(packet.size() < kLargestPacket);
  wire::AppendBytesField(perfetto::Trace::kPacketFieldNumber, packet, pending_);
  if (pending_.size() >= kFlushAt) Flush();
}

void PacketStream::Flush() {
  raw_bytes_ += static_cast<int64_t>(pending_.size());
  if (status_.ok()) {
    deflater_->Compress(pending_, compressed_);
    std::string packet;
    wire::AppendBytesField(perfetto::TracePacket::kCompressedPacketsFieldNumber,
                           compressed_, packet);
    std::string frame;
    wire::AppendBytesField(perfetto::Trace::kPacketFieldNumber, packet, frame);
    status_ = file_.Append(frame);
    file_bytes_ += static_cast<int64_t>(frame.size());
  }
  pending_.clear();
}

absl::Status PacketStream::Finish() {
  if (!pending_.empty()) Flush();
  if (status_.ok()) status_ = file_.Commit();
  return status_;
}

}  // namespace orrery

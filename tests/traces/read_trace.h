#pragma once
// A trace file as its packets, decompressed; for tests.
#include <gtest/gtest.h>
#include <libdeflate.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "proto/perfetto.pb.h"

namespace orrery {

inline std::string Inflate(const std::string& compressed) {
  std::string out(4 << 20, '\0');
  size_t size = 0;
  libdeflate_decompressor* inflater = libdeflate_alloc_decompressor();
  EXPECT_EQ(
      libdeflate_zlib_decompress(inflater, compressed.data(), compressed.size(),
                                 out.data(), out.size(), &size),
      LIBDEFLATE_SUCCESS);
  libdeflate_free_decompressor(inflater);
  out.resize(size);
  return out;
}

inline std::vector<perfetto::TracePacket> ReadTrace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  perfetto::Trace outer;
  EXPECT_TRUE(outer.ParseFromString(bytes));
  std::vector<perfetto::TracePacket> packets;
  for (const perfetto::TracePacket& block : outer.packet()) {
    perfetto::Trace inner;
    EXPECT_TRUE(inner.ParseFromString(Inflate(block.compressed_packets())));
    packets.insert(packets.end(), inner.packet().begin(), inner.packet().end());
  }
  return packets;
}

}  // namespace orrery

#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace orrery::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  stream_ << "orrery: internal error at " << file << ':' << line << ": CHECK("
          << condition << ") failed ";
}

CheckFailure::~CheckFailure() {
  const std::string text = stream_.str();
  std::fputs(text.c_str(), stderr);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace orrery::internal

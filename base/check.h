#pragma once
// CHECK: what must hold, whoever calls and whatever the user typed.
//
// A failed CHECK is a bug of Orrery: it prints the place, the condition and the
// streamed words to stderr and aborts. The command line turns the abort into
// exit code 3. For the user's mistakes return absl::Status instead.
//
//   CHECK(rate > 0) << "rate " << rate;
//   CHECK_EQ(order.size(), tasks.size());
//   DCHECK(heap.empty());   // only in debug builds
#include <sstream>

namespace orrery::internal {

// Collects the message and aborts at the end of the full expression.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Binds looser than << and tighter than ?:, so that CHECK is an expression.
struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace orrery::internal

#define CHECK(condition)                                                     \
  __builtin_expect(static_cast<bool>(condition), 1)                          \
      ? (void)0                                                              \
      : ::orrery::internal::Voidify() &                                      \
            ::orrery::internal::CheckFailure(__FILE__, __LINE__, #condition) \
                .stream()

#define CHECK_EQ(a, b) CHECK((a) == (b)) << (a) << " vs " << (b) << ' '
#define CHECK_NE(a, b) CHECK((a) != (b)) << (a) << " vs " << (b) << ' '
#define CHECK_LT(a, b) CHECK((a) < (b)) << (a) << " vs " << (b) << ' '
#define CHECK_LE(a, b) CHECK((a) <= (b)) << (a) << " vs " << (b) << ' '
#define CHECK_GT(a, b) CHECK((a) > (b)) << (a) << " vs " << (b) << ' '
#define CHECK_GE(a, b) CHECK((a) >= (b)) << (a) << " vs " << (b) << ' '

#ifdef NDEBUG
#define DCHECK(condition) CHECK(true || (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif

#include "cli/print/op_table.h"

#include "base/format.h"
#include "base/overload.h"
#include "base/units_text.h"
#include "cli/print/json.h"
#include "cost/kernel/roofline.h"

namespace orrery {
namespace {

std::string Quoted(std::string_view name) {
  return JsonString(std::string(name));
}

double Microseconds(Duration duration) { return ToSeconds(duration) * 1e6; }

double Tflops(const OpRow& row) {
  return row.time.flops.value() / ToSeconds(row.time.time) * 1e-12;
}
double Gigabytes(const OpRow& row) {
  return static_cast<double>(row.time.memory_bytes.value()) /
         ToSeconds(row.time.time) * 1e-9;
}
// Share of the roofline that the op attains.
double Attained(const OpRow& row) {
  return ToSeconds(row.bound) / ToSeconds(row.time.time);
}

}  // namespace

OpRow TimeRow(const Op& op, const KernelTimer& timer, const Chip& chip) {
  return {op, timer.Time(op), RooflineBound(op, chip)};
}

absl::Status CheckTime(const OpRow& row) {
  if (!IsBeyondTime(row.time.time)) return absl::OkStatus();
  return absl::OutOfRangeError(fmt::format(
      "{} ({}) takes longer than the {:.0f} s that can be simulated: look for "
      "a rate, a bandwidth or a size that is far off",
      Name(row.op.name), ShapeText(row.op), kMaxSeconds));
}

std::string ShapeText(const Op& op) {
  return std::visit(
      Overload{[](const Gemm& g) {
                 const std::string batch =
                     g.batch > 1 ? fmt::format("{} of ", g.batch) : "";
                 return fmt::format("{}{} x {} x {} {}", batch, g.m, g.n, g.k,
                                    Name(g.operand));
               },
               [](const GroupedGemm& g) {
                 return fmt::format("{} of {:.4g} x {} x {} {}", g.groups,
                                    g.total_rows() / g.groups, g.n, g.k,
                                    Name(g.operand));
               },
               [](const FusedAttention& a) {
                 return fmt::format("{} x {}/{} heads, {} x {}, {} wide{}",
                                    a.batch, a.query_heads, a.kv_heads,
                                    a.queries, a.keys, a.head_dimension,
                                    a.backward ? ", backward" : "");
               },
               [](const Pointwise& p) {
                 return fmt::format("{} read, {} written", ToText(p.read, 3),
                                    ToText(p.written, 3));
               }},
      op.work);
}

std::string OpTable(absl::Span<const OpRow> rows) {
  std::string text =
      fmt::format("{:<18} {:<8} {:<46} {:>10} {:>9} {:>8} {:>10} {:>8} {:<8}\n",
                  "op", "pass", "shape", "us", "TFLOP/s", "GB/s", "bound us",
                  "attained", "limit");
  Duration total{};
  Duration bound{};
  for (const OpRow& row : rows) {
    const char* pass = row.op.pass == Pass::kForward         ? "forward"
                       : row.op.pass == Pass::kInputGradient ? "dgrad"
                                                             : "wgrad";
    text += fmt::format(
        "{:<18} {:<8} {:<46} {:>10.2f} {:>9.1f} {:>8.0f} {:>10.2f} {:>7.1f}% "
        "{:<8}\n",
        Name(row.op.name), pass, ShapeText(row.op), Microseconds(row.time.time),
        Tflops(row), Gigabytes(row), Microseconds(row.bound),
        100 * Attained(row), Name(row.time.limit));
    total = AddTimes(total, row.time.time);
    bound = AddTimes(bound, row.bound);
  }
  if (rows.size() > 1) {
    text += fmt::format(
        "{:<18} {:<8} {:<46} {:>10.2f} {:>9} {:>8} {:>10.2f} {:>7.1f}%\n",
        "sum", "", "", Microseconds(total), "", "", Microseconds(bound),
        100 * ToSeconds(bound) / ToSeconds(total));
  }
  return text;
}

std::string OpJson(absl::Span<const OpRow> rows) {
  std::string text = "[";
  const char* separator = "\n";
  for (const OpRow& row : rows) {
    text += fmt::format(
        "{}  {{\"op\": {}, \"pass\": {}, \"shape\": {}, \"time_s\": {}, "
        "\"launch_s\": {}, \"bound_s\": {}, \"flops\": {}, "
        "\"memory_bytes\": {}, \"cache_bytes\": {}, \"limit\": {}, "
        "\"provenance\": {}}}",
        separator, Quoted(Name(row.op.name)), Quoted(Name(row.op.pass)),
        JsonString(ShapeText(row.op)), JsonNumberText(ToSeconds(row.time.time)),
        JsonNumberText(ToSeconds(row.time.launch)),
        JsonNumberText(ToSeconds(row.bound)),
        JsonNumberText(row.time.flops.value()), row.time.memory_bytes.value(),
        row.time.cache_bytes.value(), Quoted(Name(row.time.limit)),
        Quoted(Name(row.time.provenance)));
    separator = ",\n";
  }
  return text + "\n]\n";
}

}  // namespace orrery

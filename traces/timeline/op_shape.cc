#include "traces/timeline/op_shape.h"

#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

using Shape = std::vector<std::pair<absl::string_view, ShapeValue>>;

void AddTypes(DType operand, DType output, Shape& shape) {
  shape.emplace_back("dtype", View(Name(operand)));
  if (output != operand) shape.emplace_back("output_dtype", View(Name(output)));
}

Shape Of(const Gemm& gemm) {
  Shape shape = {{"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}};
  shape.emplace_back("batch", gemm.batch);
  AddTypes(gemm.operand, gemm.output, shape);
  return shape;
}

Shape Of(const GroupedGemm& gemm) {
  Shape shape = {{"groups", int64_t{gemm.groups}}, {"rows", gemm.rows}};
  if (gemm.hot_rows != gemm.rows) shape.emplace_back("hot_rows", gemm.hot_rows);
  shape.emplace_back("n", gemm.n);
  shape.emplace_back("k", gemm.k);
  AddTypes(gemm.operand, gemm.output, shape);
  return shape;
}

absl::string_view NameOf(Mask mask) {
  switch (mask) {
    case Mask::kFull:
      return "full";
    case Mask::kCausal:
      return "causal";
    case Mask::kCausalBalanced:
      return "causal, balanced over ranks";
  }
  return "";
}

Shape Of(const FusedAttention& attention) {
  Shape shape = {{"batch", attention.batch},
                 {"heads", int64_t{attention.query_heads}},
                 {"kv_heads", int64_t{attention.kv_heads}},
                 {"sequence", attention.queries},
                 {"keys", attention.keys},
                 {"head_dimension", int64_t{attention.head_dimension}}};
  if (attention.value_dimension != attention.head_dimension) {
    shape.emplace_back("value_dimension", int64_t{attention.value_dimension});
  }
  shape.emplace_back("mask", NameOf(attention.mask));
  if (attention.window > 0) shape.emplace_back("window", attention.window);
  AddTypes(attention.operand, attention.operand, shape);
  return shape;
}

Shape Of(const Pointwise& pointwise) {
  Shape shape = {{"read_bytes", pointwise.read.value()},
                 {"written_bytes", pointwise.written.value()}};
  if (pointwise.row > 0) shape.emplace_back("row", pointwise.row);
  if (pointwise.launches > 1) {
    shape.emplace_back("launches", int64_t{pointwise.launches});
  }
  return shape;
}

}  // namespace

Shape ShapeOf(const Op& op) {
  return std::visit([](const auto& work) { return Of(work); }, op.work);
}

}  // namespace orrery

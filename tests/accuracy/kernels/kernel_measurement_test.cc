#include "accuracy/kernels/kernel_measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/accuracy/table/tables.h"
#include "tests/cost/kernel/chips.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

KernelMeasurements ReadKernels(
    const std::string& text,
    const std::string& harnesses = "source_id,kernel,overhead_us\n,,\n") {
  return ReadKernelMeasurements(Table(text), Table(harnesses));
}

std::vector<std::string> Reasons(const KernelMeasurements& read) {
  std::vector<std::string> reasons;
  for (const RefusedRow& row : read.refused) reasons.push_back(row.ToString());
  return reasons;
}

TEST(KernelMeasurements, ColumnsComeInAnyOrderAndOthersAreIgnored) {
  const KernelMeasurements read = ReadKernels(
      "k,colour,n,m,time_us,kernel,dtype,chip\n"
      "7,red,5,3,12,gemm,bf16,h100_sxm\n");
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_EQ(read.rows[0].chip, "h100_sxm");
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 12e-6);
  EXPECT_EQ(std::get<Gemm>(read.rows[0].ops[0].work),
            (Gemm{.m = 3, .n = 5, .k = 7}));
}

TEST(KernelMeasurements, PublishedNamesOfHardwareAreKnown) {
  const KernelMeasurements read = ReadKernels(
      "hardware,kernel,dtype,m,n,k,time_us\n"
      "4x A100-SXM4-80GB (TP4),gemm,fp16,1,1,1,1\n"
      "H100-SXM5-80GB (ND H100 v5),gemm,fp16,1,1,1,1\n");
  ASSERT_EQ(read.rows.size(), 2u);
  EXPECT_EQ(read.rows[0].chip, "a100_sxm_80");
  EXPECT_EQ(read.rows[1].chip, "h100_sxm");
}

TEST(KernelMeasurements, WhatCannotBeReadIsRefusedWithTheReason) {
  const KernelMeasurements read = ReadKernels(
      "id,hardware,kernel,dtype,m,n,k,time_us\n"
      "a,Abacus,gemm,bf16,1,1,1,1\n"
      "b,H100-SXM5-80GB,gemm,bf16,1,1,,1\n"
      "c,H100-SXM5-80GB,gemm,bf17,1,1,1,1\n"
      "d,H100-SXM5-80GB,fft,bf16,1,1,1,1\n"
      "e,H100-SXM5-80GB,gemm,bf16,1,1,1,-4\n"
      "f,H100-SXM5-80GB,gemm\n"
      "g,H100-SXM5-80GB,gemm,bf16,1e12,1e12,1e12,1\n");
  EXPECT_TRUE(read.rows.empty());
  // Rows that are no rows come first.
  EXPECT_THAT(
      Reasons(read),
      ElementsAre(AllOf(HasSubstr("line 7 (f)"), HasSubstr("fields")),
                  AllOf(HasSubstr("(a)"), HasSubstr("'Abacus'")),
                  AllOf(HasSubstr("(b)"), HasSubstr("'k' must be a whole"),
                        HasSubstr("but is empty")),
                  AllOf(HasSubstr("(c)"), HasSubstr("'bf17'")),
                  AllOf(HasSubstr("(d)"), HasSubstr("'fft'")),
                  AllOf(HasSubstr("(e)"), HasSubstr("'time_us'")),
                  AllOf(HasSubstr("(g)"), HasSubstr("elements"))));
}

TEST(KernelMeasurements, AWrongFormatIsToldByItsOwnColumn) {
  EXPECT_THAT(
      Reasons(
          ReadKernels("chip,kernel,dtype,kv_dtype,batch,q_heads,kv_heads,seq_q,"
                      "seq_kv,head_dim,causal,direction,time_us\n"
                      "h100_sxm,attention,bf16,fp7,1,8,8,1,64,64,no,decode,9\n"
                      "h100_sxm,attention,bf16,,1,8,8,1,64,64,so,decode,9\n")),
      ElementsAre(HasSubstr("line 2: column 'kv_dtype' must be bf16"),
                  HasSubstr("line 3: column 'causal' must be one of yes, no")));
}

TEST(KernelMeasurements, AHostClockReplacesTheLaunches) {
  const KernelMeasurements read = ReadKernels(
      "source_id,chip,kernel,dtype,m,n,time_us\n"
      "host,h100_sxm,gelu,fp16,1000,1000,60\n"
      "device,h100_sxm,gelu,fp16,1000,1000,9\n",
      "source_id,kernel,overhead_us\nhost,gelu,48\n");
  ASSERT_EQ(read.rows.size(), 2u);
  const Chip chip = PresetChip("h100_sxm");
  const HarnessTimers timer = TimersOf(chip);
  const double launch = ToSeconds(PresetKernels("h100_sxm").constants().launch);
  EXPECT_NEAR(Predict(read.rows[0], timer) - 48e-6,
              Predict(read.rows[1], timer) - launch, 1e-12);
}

TEST(KernelMeasurements, ABackwardPassMayStandAlone) {
  const KernelMeasurements read = ReadKernels(
      "chip,kernel,implementation,dtype,batch,q_heads,kv_heads,seq_q,seq_kv,"
      "head_dim,causal,direction,time_us\n"
      "h100_sxm,attention,FlashAttention-2,bf16,2,16,16,512,512,64,yes,bwd,10\n"
      "h100_sxm,attention,of our own,bf16,2,16,16,512,512,64,yes,fwd,10\n");
  ASSERT_EQ(read.rows.size(), 2u);
  ASSERT_EQ(read.rows[0].ops.size(), 1u);
  EXPECT_TRUE(std::get<FusedAttention>(read.rows[0].ops[0].work).backward);
  EXPECT_EQ(read.rows[0].implementation, "fa2");
  EXPECT_EQ(read.rows[1].implementation, "");
}

TEST(KernelMeasurements, UnfusedAttentionIsProductsAndASoftmax) {
  const KernelMeasurements read = ReadKernels(
      "id,chip,kernel,implementation,dtype,batch,q_heads,kv_heads,seq_q,seq_kv,"
      "head_dim,causal,direction,time_us\n"
      "a,h100_sxm,attention,Standard attention,bf16,2,16,16,512,512,64,no,fwd,"
      "10\n"
      "b,h100_sxm,attention,Standard attention,bf16,2,16,16,512,512,64,yes,fwd,"
      "10\n");
  ASSERT_EQ(read.rows.size(), 1u);
  ASSERT_EQ(read.rows[0].ops.size(), 3u);
  EXPECT_EQ(std::get<Gemm>(read.rows[0].ops[0].work).batch, 32);
  EXPECT_THAT(Reasons(read),
              ElementsAre(HasSubstr("(b): column 'causal' must be no")));
}

// A prompt of latent attention: every head has keys of 128 + 64 and values of
// 128; in decode all heads read one latent of 512 + 64.
TEST(KernelMeasurements, PromptsOfLatentAttentionAreNotAbsorbed) {
  const KernelMeasurements read = ReadKernels(
      "chip,kernel,dtype,batch,q_heads,kv_heads,seq_q,seq_kv,head_dim,"
      "direction,"
      "time_us\n"
      "h800_sxm,mla_attention,bf16,1,128,128,4096,4096,192,prefill,900\n"
      "h800_sxm,mla_attention,bf16,128,128,1,1,4096,576,decode,300\n");
  ASSERT_EQ(read.rows.size(), 2u);
  const auto& prompt = std::get<FusedAttention>(read.rows[0].ops[0].work);
  EXPECT_EQ(prompt.queries, 4096);
  EXPECT_EQ(prompt.value_dimension, 128);
  EXPECT_EQ(prompt.mask, Mask::kCausal);
  EXPECT_FALSE(prompt.shared_key_value);
  EXPECT_EQ(read.rows[0].kernel_class, KernelClass::kPrefillAttention);
  const auto& decode = std::get<FusedAttention>(read.rows[1].ops[0].work);
  EXPECT_EQ(decode.queries, 1);
  EXPECT_EQ(decode.value_dimension, 512);
  EXPECT_TRUE(decode.shared_key_value);
}

// 16384^3 takes some 12 ms on an H100: of ten calls the first few run before
// the power limit bites, of one call all of it does.
TEST(KernelMeasurements, AShortRunIsFasterThanALongOne) {
  const KernelMeasurements read = ReadKernels(
      "source_id,chip,kernel,dtype,m,n,k,time_us\n"
      "long,h100_sxm,gemm,bf16,16384,16384,16384,12000\n"
      "ten,h100_sxm,gemm,bf16,16384,16384,16384,12000\n"
      "one,h100_sxm,gemm,bf16,16384,16384,16384,12000\n",
      "source_id,kernel,overhead_us,calls\nten,gemm,,10\none,gemm,,1\n");
  ASSERT_EQ(read.rows.size(), 3u);
  const HarnessTimers timers = TimersOf(PresetChip("h100_sxm"));
  EXPECT_GT(Predict(read.rows[0], timers), Predict(read.rows[1], timers));
  EXPECT_GT(Predict(read.rows[1], timers), Predict(read.rows[2], timers));
}

TEST(KernelMeasurements, ForwardAndBackwardAreTwoOps) {
  const KernelMeasurements read = ReadKernels(
      "chip,kernel,dtype,batch,q_heads,kv_heads,seq_q,seq_kv,head_dim,causal,"
      "direction,time_us\n"
      "a100_sxm_80,attention,fp16/bf16,2,16,16,512,512,64,yes,fwd+bwd,10\n");
  ASSERT_EQ(read.rows.size(), 1u);
  ASSERT_EQ(read.rows[0].ops.size(), 2u);
  const auto& forward = std::get<FusedAttention>(read.rows[0].ops[0].work);
  const auto& backward = std::get<FusedAttention>(read.rows[0].ops[1].work);
  EXPECT_EQ(forward.mask, Mask::kCausal);
  EXPECT_FALSE(forward.backward);
  EXPECT_TRUE(backward.backward);
}

}  // namespace
}  // namespace orrery

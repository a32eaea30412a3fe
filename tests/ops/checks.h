// SPDX-License-Identifier: Apache-2.0
// Rung 2 of the ladder, one function per op: the op on `setup` agrees with the oracle over awkward
// shapes and awkward data. The suites run them on every table; mutation_test.cpp runs them on
// broken tables and wants to see them fail. Each is defined in the test of its op.
#pragma once

#include <gtest/gtest.h>

#include "support/tables.h"

namespace twill {

testing::AssertionResult check_activation_forward(const Setup& setup);
testing::AssertionResult check_activation_backward(const Setup& setup);
testing::AssertionResult check_adamw(const Setup& setup);
testing::AssertionResult check_attention_forward(const Setup& setup);
testing::AssertionResult check_attention_backward(const Setup& setup);
testing::AssertionResult check_attention_heads(const Setup& setup);
testing::AssertionResult check_attention_patterns(const Setup& setup);
testing::AssertionResult check_cached_attention(const Setup& setup);
testing::AssertionResult check_cluster_energy(const Setup& setup);
testing::AssertionResult check_column_sum(const Setup& setup);
testing::AssertionResult check_cross_entropy(const Setup& setup);
testing::AssertionResult check_dropout(const Setup& setup);
testing::AssertionResult check_embedding_forward(const Setup& setup);
testing::AssertionResult check_embedding_backward(const Setup& setup);
testing::AssertionResult check_fill(const Setup& setup);
testing::AssertionResult check_fp8_round(const Setup& setup);
testing::AssertionResult check_gemm(const Setup& setup);
testing::AssertionResult check_layer_norm_forward(const Setup& setup);
testing::AssertionResult check_layer_norm_backward(const Setup& setup);
testing::AssertionResult check_regrow_moments(const Setup& setup);
testing::AssertionResult check_moment_change(const Setup& setup);
testing::AssertionResult check_mvue24(const Setup& setup);
testing::AssertionResult check_rms_norm_forward(const Setup& setup);
testing::AssertionResult check_rms_norm_backward(const Setup& setup);
testing::AssertionResult check_rotary(const Setup& setup);
testing::AssertionResult check_route_tokens(const Setup& setup);
testing::AssertionResult check_soft_threshold24(const Setup& setup);
testing::AssertionResult check_soft_threshold24_sums(const Setup& setup);
testing::AssertionResult check_sum_squares(const Setup& setup);
testing::AssertionResult check_venom_select(const Setup& setup);
testing::AssertionResult check_topology_update(const Setup& setup);

// Ops of sparsity.
testing::AssertionResult check_apply_mask(const Setup& setup);
testing::AssertionResult check_count_nonzero(const Setup& setup);
testing::AssertionResult check_mask_difference(const Setup& setup);
testing::AssertionResult check_mask_mass(const Setup& setup);
testing::AssertionResult check_masked_decay(const Setup& setup);
testing::AssertionResult check_pack24(const Setup& setup);
testing::AssertionResult check_select24(const Setup& setup);
testing::AssertionResult check_transposable24(const Setup& setup);
testing::AssertionResult check_unpack24(const Setup& setup);

// Products that leave zeros out.
testing::AssertionResult check_copy_kept(const Setup& setup);
testing::AssertionResult check_find_kept(const Setup& setup);
testing::AssertionResult check_kept_gradient(const Setup& setup);
testing::AssertionResult check_pack_both(const Setup& setup);
testing::AssertionResult check_pack_matrix(const Setup& setup);
testing::AssertionResult check_packed_times(const Setup& setup);
testing::AssertionResult check_soft_pack24(const Setup& setup);
testing::AssertionResult check_times_packed(const Setup& setup);

// All of them, for suites that vary something else.
inline constexpr testing::AssertionResult (*kAllChecks[])(const Setup&) = {
    check_activation_backward,
    check_activation_forward,
    check_adamw,
    check_apply_mask,
    check_attention_backward,
    check_attention_forward,
    check_attention_heads,
    check_attention_patterns,
    check_cached_attention,
    check_cluster_energy,
    check_column_sum,
    check_copy_kept,
    check_count_nonzero,
    check_cross_entropy,
    check_dropout,
    check_embedding_backward,
    check_embedding_forward,
    check_fill,
    check_find_kept,
    check_fp8_round,
    check_gemm,
    check_kept_gradient,
    check_layer_norm_backward,
    check_layer_norm_forward,
    check_mask_difference,
    check_mask_mass,
    check_masked_decay,
    check_moment_change,
    check_mvue24,
    check_pack24,
    check_pack_both,
    check_pack_matrix,
    check_packed_times,
    check_regrow_moments,
    check_rms_norm_backward,
    check_rms_norm_forward,
    check_rotary,
    check_route_tokens,
    check_select24,
    check_soft_pack24,
    check_soft_threshold24,
    check_soft_threshold24_sums,
    check_sum_squares,
    check_times_packed,
    check_topology_update,
    check_transposable24,
    check_unpack24,
    check_venom_select};

// Around every vector width: 4, 8, 16 and 64 elements, less one, plus one, and several of them.
inline constexpr std::int64_t kAwkwardSizes[] = {0,  1,  3,  7,  8,  9,   15,  16,
                                                 17, 31, 33, 64, 65, 130, 1027};

}  // namespace twill

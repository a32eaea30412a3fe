// SPDX-License-Identifier: Apache-2.0
// The words that recipes are written in: one enumeration and one table each. Outside the reader and
// the writer of configs everybody compares values.
#pragma once

#include <cstdint>

#include "base/words.h"
#include "ops/attention/attention_pattern.h"

namespace twill {

// Which weights may stay.
enum class WeightPattern : std::uint8_t {
  kDense,
  k24,
  kTransposable24,
  kGreedy24,
  kVenom,
  kUnstructured
};
template <>
inline constexpr auto kWords<WeightPattern> =
    std::to_array<Word<WeightPattern>>({{"dense", WeightPattern::kDense},
                                        {"2:4", WeightPattern::k24},
                                        {"2:4-transposable", WeightPattern::kTransposable24},
                                        {"2:4-greedy", WeightPattern::kGreedy24},
                                        {"V:2:M", WeightPattern::kVenom},
                                        {"unstructured", WeightPattern::kUnstructured}});

// What becomes of the weights that stay.
enum class Projection : std::uint8_t { kHard, kSoft, kTopology };
template <>
inline constexpr auto kWords<Projection> =
    std::to_array<Word<Projection>>({{"hard", Projection::kHard},
                                     {"soft", Projection::kSoft},
                                     {"topology", Projection::kTopology}});

// Along which 2:4 groups run.
enum class WeightAxis : std::uint8_t { kInputs, kOutputs, kWidth };
template <>
inline constexpr auto kWords<WeightAxis> =
    std::to_array<Word<WeightAxis>>({{"inputs", WeightAxis::kInputs},
                                     {"outputs", WeightAxis::kOutputs},
                                     {"width", WeightAxis::kWidth}});

// Of a soft projection.
enum class SoftScale : std::uint8_t { kMinMse, kKeepL1, kNone, kRecomputed };
template <>
inline constexpr auto kWords<SoftScale> =
    std::to_array<Word<SoftScale>>({{"min-mse", SoftScale::kMinMse},
                                    {"keep-l1", SoftScale::kKeepL1},
                                    {"none", SoftScale::kNone},
                                    {"recomputed", SoftScale::kRecomputed}});

// How dY enters the weight gradient.
enum class WgradEstimator : std::uint8_t { kDense, kMvue, kMvueTwoDraw, kKept };
template <>
inline constexpr auto kWords<WgradEstimator> =
    std::to_array<Word<WgradEstimator>>({{"dense", WgradEstimator::kDense},
                                         {"mvue", WgradEstimator::kMvue},
                                         {"mvue-two-draw", WgradEstimator::kMvueTwoDraw},
                                         {"kept", WgradEstimator::kKept}});

// Which activations of an FFN are multiplied.
enum class ActivationPattern : std::uint8_t { kDense, k24, kVenom };
template <>
inline constexpr auto kWords<ActivationPattern> =
    std::to_array<Word<ActivationPattern>>({{"dense", ActivationPattern::kDense},
                                            {"2:4", ActivationPattern::k24},
                                            {"V:2:M", ActivationPattern::kVenom}});

// Which tokens share a block.
enum class BlockOrder : std::uint8_t { kAsIs, kFixed, kCentroid, kEnergy };
template <>
inline constexpr auto kWords<BlockOrder> =
    std::to_array<Word<BlockOrder>>({{"as-is", BlockOrder::kAsIs},
                                     {"fixed", BlockOrder::kFixed},
                                     {"centroid", BlockOrder::kCentroid},
                                     {"energy", BlockOrder::kEnergy}});

// Where the dense share of the neurons holds.
enum class DenseIn : std::uint8_t { kAll, kWgrad };
template <>
inline constexpr auto kWords<DenseIn> = std::to_array<Word<DenseIn>>({{"all", DenseIn::kAll},
                                                                      {"wgrad", DenseIn::kWgrad}});

// Selection along tokens of what weight gradients multiply with.
enum class TransposedPattern : std::uint8_t { kNone, k24, kVenom };
template <>
inline constexpr auto kWords<TransposedPattern> =
    std::to_array<Word<TransposedPattern>>({{"none", TransposedPattern::kNone},
                                            {"2:4", TransposedPattern::k24},
                                            {"V:2:M", TransposedPattern::kVenom}});

// When the way to another density begins.
enum class FirstStair : std::uint8_t { kLater, kAtStart };
template <>
inline constexpr auto kWords<FirstStair> = std::to_array<Word<FirstStair>>(
    {{"later", FirstStair::kLater}, {"at-start", FirstStair::kAtStart}});

// How layers share a density.
enum class Distribution : std::uint8_t { kErdosRenyi, kUniform };
template <>
inline constexpr auto kWords<Distribution> = std::to_array<Word<Distribution>>(
    {{"erdos-renyi", Distribution::kErdosRenyi}, {"uniform", Distribution::kUniform}});

// Which weights a run that begins sparse keeps first.
enum class TopologyStart : std::uint8_t { kRandom, kMagnitude };
template <>
inline constexpr auto kWords<TopologyStart> = std::to_array<Word<TopologyStart>>(
    {{"random", TopologyStart::kRandom}, {"magnitude", TopologyStart::kMagnitude}});

// Over what the churn falls.
enum class Anneal : std::uint8_t { kRun, kPhase };
template <>
inline constexpr auto kWords<Anneal> = std::to_array<Word<Anneal>>({{"run", Anneal::kRun},
                                                                    {"phase", Anneal::kPhase}});

// What an update of the topology drops.
enum class DropBy : std::uint8_t { kMagnitude, kMest, kSensitivity };
template <>
inline constexpr auto kWords<DropBy> =
    std::to_array<Word<DropBy>>({{"magnitude", DropBy::kMagnitude},
                                 {"mest", DropBy::kMest},
                                 {"sensitivity", DropBy::kSensitivity}});

// What grows in its place.
enum class GrowBy : std::uint8_t { kGradient, kRandom, kMixed };
template <>
inline constexpr auto kWords<GrowBy> = std::to_array<Word<GrowBy>>({{"gradient", GrowBy::kGradient},
                                                                    {"random", GrowBy::kRandom},
                                                                    {"mixed", GrowBy::kMixed}});

// What a pull on pruned weights is added to.
enum class DecayOn : std::uint8_t { kNone, kGradients, kWeights };
template <>
inline constexpr auto kWords<DecayOn> = std::to_array<Word<DecayOn>>(
    {{"none", DecayOn::kNone}, {"gradients", DecayOn::kGradients}, {"weights", DecayOn::kWeights}});

// Which pairs attention computes; what a recipe may ask for.
template <>
inline constexpr auto kWords<AttentionPattern> =
    std::to_array<Word<AttentionPattern>>({{"causal", AttentionPattern::kCausal},
                                           {"local", AttentionPattern::kLocal},
                                           {"strided", AttentionPattern::kStrided},
                                           {"union", AttentionPattern::kUnion},
                                           {"fixed", AttentionPattern::kFixed}});

// Rounding of the products' operands.
enum class NumberFormat : std::uint8_t { kNone, kFp8, kFp8Reference };
template <>
inline constexpr auto kWords<NumberFormat> =
    std::to_array<Word<NumberFormat>>({{"none", NumberFormat::kNone},
                                       {"fp8", NumberFormat::kFp8},
                                       {"fp8-reference", NumberFormat::kFp8Reference}});

// The optimizer's step at an update of the topology.
enum class OnUpdate : std::uint8_t { kSkip, kApply };
template <>
inline constexpr auto kWords<OnUpdate> =
    std::to_array<Word<OnUpdate>>({{"skip", OnUpdate::kSkip}, {"apply", OnUpdate::kApply}});

// Moments of regrown weights.
enum class Regrown : std::uint8_t { kLayerMean, kZero, kKeep };
template <>
inline constexpr auto kWords<Regrown> = std::to_array<Word<Regrown>>(
    {{"layer-mean", Regrown::kLayerMean}, {"zero", Regrown::kZero}, {"keep", Regrown::kKeep}});

// What AdamW does with its second moments.
enum class SecondMoment : std::uint8_t { kAdaptive, kFrozen };
template <>
inline constexpr auto kWords<SecondMoment> = std::to_array<Word<SecondMoment>>(
    {{"adaptive", SecondMoment::kAdaptive}, {"frozen", SecondMoment::kFrozen}});

// What ends a phase before its time.
enum class EarlyEnd : std::uint8_t { kNever, kSecondMomentSettled };
template <>
inline constexpr auto kWords<EarlyEnd> = std::to_array<Word<EarlyEnd>>(
    {{"never", EarlyEnd::kNever}, {"second-moment-settled", EarlyEnd::kSecondMomentSettled}});

// A mask that is computed and not applied, while weights are dense.
enum class VirtualMask : std::uint8_t { kNone, k24, kTransposable24 };
template <>
inline constexpr auto kWords<VirtualMask> =
    std::to_array<Word<VirtualMask>>({{"none", VirtualMask::kNone},
                                      {"2:4", VirtualMask::k24},
                                      {"2:4-transposable", VirtualMask::kTransposable24}});

// What an alarm does.
enum class OnAlarm : std::uint8_t { kWarn, kDense };
template <>
inline constexpr auto kWords<OnAlarm> = std::to_array<Word<OnAlarm>>({{"warn", OnAlarm::kWarn},
                                                                      {"dense", OnAlarm::kDense}});

// How a recipe runs (sparsity/plan/plan.h).
enum class Execution : std::uint8_t { kAuto, kFastest, kPacked, kMasked };
template <>
inline constexpr auto kWords<Execution> =
    std::to_array<Word<Execution>>({{"auto", Execution::kAuto},
                                    {"fastest", Execution::kFastest},
                                    {"packed", Execution::kPacked},
                                    {"masked", Execution::kMasked}});

}  // namespace twill

#pragma once

#include "core/kernels/kernel_choices.hpp"
#include "core/kernels/self_check/trial.hpp"

// For each operation, a function that runs its kernel on small problems of odd sizes and states the expected
// result: the operation's formula (in its header in core/kernels) in double precision. Inputs that
// another kernel would produce come from the host, so that a failure implicates this kernel alone.
namespace etna::kernels {

using Pose = void(Trial& trial, const KernelUse& use);

// embed.cpp, linear.cpp, fused_linear.cpp, heads_linear.cpp, halves.cpp, rms_norm.cpp
Pose pose_embed;
Pose pose_linear;
Pose pose_fused_linear;
Pose pose_heads_linear;
Pose pose_halve;
Pose pose_rms_norm;

// rotary_store.cpp, latent_store.cpp, attention.cpp
Pose pose_rotary_store;
Pose pose_latent_store;
Pose pose_attention;
Pose pose_attention_merge;

// activation.cpp
Pose pose_gate_multiply;
Pose pose_soft_cap;

// experts.cpp, expert_linear.cpp
Pose pose_expert_route;
Pose pose_expert_router;
Pose pose_expert_group;
Pose pose_expert_linear;
Pose pose_expert_gate_up;
Pose pose_expert_down;
Pose pose_expert_sum;
Pose pose_heads_product;

// delta_net.cpp
Pose pose_short_convolution;
Pose pose_delta_net;
Pose pose_gated_rms_norm;
// mamba2.cpp
Pose pose_mamba2;
// altup.cpp
Pose pose_altup;
Pose pose_match_rms;
Pose pose_statistical_top_k;

// sample.cpp
Pose pose_suppress;
Pose pose_sample_partial;
Pose pose_sample_finish;

// One problem of a shape, for sizes that are measured (tune.hpp). `count`: decode rows.
void pose_linear_of(Trial& trial, const TunedShape& shape, uint32_t count);
void pose_fused_linear_of(Trial& trial, const TunedShape& shape, uint32_t count);
void pose_attention_of(Trial& trial, const TunedShape& shape);

} // namespace etna::kernels

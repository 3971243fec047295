#pragma once

#include "tests/support/random_model.hpp"

#include <cstdint>
#include <initializer_list>

// The shape of a random model's file, by architecture and options.
namespace etna::test {

bool is_one_of(RandomArchitecture architecture, std::initializer_list<RandomArchitecture> several);
bool is_gemma(RandomArchitecture architecture);
bool has_bpe(RandomArchitecture architecture);
bool has_delta_nets(RandomArchitecture architecture);
bool is_lfm2(RandomArchitecture architecture);
bool is_nemotron(RandomArchitecture architecture);
bool has_mamba(RandomArchitecture architecture);
/// Experts chosen by biased sigmoids, after dense layers.
bool has_biased_experts(RandomArchitecture architecture);
bool has_selection_bias(const RandomModelOptions& options);
/// Whether a layer of a recurrent architecture has attention.
bool has_attention(const RandomModelOptions& options, uint32_t layer);
bool has_feed_forward(const RandomModelOptions& options, uint32_t layer);
/// attention.head_count_kv is a list, with zeros for layers without attention.
bool lists_heads(RandomArchitecture architecture);
bool has_experts(const RandomModelOptions& options);
/// Experts as wide as a dense block, without a key for their width.
bool has_wide_experts(RandomArchitecture architecture);
bool has_row_gate(RandomArchitecture architecture);
bool counts_shared_experts(RandomArchitecture architecture);
bool has_shared_expert(const RandomModelOptions& options);
uint32_t shared_width(const RandomModelOptions& options);
bool is_granite(RandomArchitecture architecture);
bool has_post_norms(RandomArchitecture architecture);
/// Gate and up in one tensor.
bool has_fused_gate(RandomArchitecture architecture);
bool has_qkv_biases(RandomArchitecture architecture);
bool has_head_norms(const RandomModelOptions& options);
/// Inputs of layers, and layers that read the keys of an earlier one.
bool has_layer_inputs(RandomArchitecture architecture);
/// Whether a layer of gemma3n or gemma4 has a window.
bool has_window(const RandomModelOptions& options, uint32_t layer);
uint32_t head_dim_of(const RandomModelOptions& options, uint32_t layer);
/// Of a layer with attention; 0 in the others of an architecture that lists them.
uint32_t kv_heads_of(const RandomModelOptions& options, uint32_t layer);
bool shares_keys(const RandomModelOptions& options, uint32_t layer);
/// Of a layer with a feed-forward block; 0 in the others.
uint32_t feed_forward_of(const RandomModelOptions& options, uint32_t layer);

} // namespace etna::test

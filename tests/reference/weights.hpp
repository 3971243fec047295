#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "tests/reference/altup.hpp"
#include "tests/reference/config.hpp"
#include "tests/reference/operations.hpp"

#include <vector>

namespace etna::reference {

/// The mixer of a recurrent layer: qwen3next, qwen35 and qwen35moe.
struct DeltaNetWeights {
    Matrix qkv;         ///< attn_qkv [q, k, v of all heads, width]
    Matrix gate;        ///< attn_gate [value heads * value length, width]
    Matrix alpha;       ///< ssm_alpha [value heads, width]; in qwen3next a part of ssm_ba
    Matrix beta;        ///< ssm_beta [value heads, width]; in qwen3next the other part
    Matrix convolution; ///< ssm_conv1d [q, k, v of all heads, convolution width]
    Vector decay;       ///< ssm_a [value heads], negative
    Vector dt_bias;     ///< ssm_dt.bias [value heads]
    Vector norm;        ///< ssm_norm [value length]
    Matrix output;      ///< ssm_out [width, value heads * value length]
};

/// The mixer of a recurrent layer of lfm2.
struct ConvolutionWeights {
    Matrix input;       ///< shortconv.in_proj [b, c and x of the channels, width]
    Matrix convolution; ///< shortconv.conv [width, convolution width]
    Matrix output;      ///< shortconv.out_proj [width, width]
};

/// The mixer of a recurrent layer of granitehybrid, nemotron_h and nemotron_h_moe.
struct Mamba2Weights {
    Matrix input;            ///< ssm_in [z, x, B, C and dt, width]
    Matrix convolution;      ///< ssm_conv1d [x, B and C, convolution width]
    Vector convolution_bias; ///< ssm_conv1d.bias, optional
    Vector decay;            ///< ssm_a [heads], negative
    Vector dt_bias;          ///< ssm_dt.bias [heads]
    Vector skip;             ///< ssm_d [heads]
    Matrix norm;             ///< ssm_norm [groups, heads * head length / groups]
    Matrix output;           ///< ssm_out [width, heads * head length]
};

/// Latent attention of deepseek2, in addition to attn_norm and attn_output [width, heads * value length].
struct LatentWeights {
    Matrix query_down;          ///< attn_q_a [query rank, width], without rows if queries have no latent
    Vector query_norm;          ///< attn_q_a_norm [query rank], the same
    Matrix query;               ///< attn_q_b or attn_q [heads * head length, query rank or width]
    Matrix down;                ///< attn_kv_a_mqa [rank + rotated, width]
    Vector norm;                ///< attn_kv_a_norm [rank]
    std::vector<Matrix> keys;   ///< attn_k_b, of each head [rank, unrotated]: transposed
    std::vector<Matrix> values; ///< attn_v_b, of each head [value length, rank]
};

/// One transformer block. phi3's fused attn_qkv (rows of q, then k, then v) and ffn_up (gate, then up) are
/// split here. An empty vector means that the model does not have the tensor.
struct LayerWeights {
    Vector attention_norm;    ///< attn_norm [width]
    Matrix query;             ///< attn_q [heads * head length, width]
    Matrix query_gate;        ///< with delta nets: the second half of each head's rows of attn_q
    Matrix key;               ///< attn_k [kv heads * head length, width]
    Matrix value;             ///< attn_v [kv heads * head length, width]
    Vector query_bias;        ///< attn_q.bias [heads * head length], optional
    Vector key_bias;          ///< attn_k.bias [kv heads * head length], optional
    Vector value_bias;        ///< attn_v.bias [kv heads * head length], optional
    Vector output_bias;       ///< attn_output.bias [width], gpt-oss
    Vector sinks;             ///< attn_sinks [heads], gpt-oss
    Vector query_norm;        ///< attn_q_norm [head length], qwen3, gemma3 and their like
    Vector key_norm;          ///< attn_k_norm [head length], the same
    Matrix attention_output;  ///< attn_output [width, heads * head length]
    Vector feed_forward_norm; ///< ffn_norm [width]; post_attention_norm in gpt-oss and with delta nets
    Matrix gate;              ///< ffn_gate [feed forward, width]
    Matrix up;                ///< ffn_up [feed forward, width]
    Matrix down;              ///< ffn_down [width, feed forward]

    LatentWeights latent;                 ///< deepseek2
    DeltaNetWeights delta_net;            ///< instead of attention in recurrent layers
    Mamba2Weights mamba;                  ///< the same
    ConvolutionWeights short_convolution; ///< the same, lfm2

    Vector post_attention_norm;    ///< post_attention_norm [width], glm4, gemma2, gemma3 and gemma4
    Vector post_feed_forward_norm; ///< post_ffw_norm [width], the same

    Vector router_scale;     ///< ffn_gate_inp.scale [width], gemma4 with experts, as are the four below
    Vector expert_scales;    ///< ffn_down_exps.scale [experts], optional
    Vector expert_norm;      ///< pre_ffw_norm_2 [width]
    Vector post_dense_norm;  ///< post_ffw_norm_1 [width]
    Vector post_expert_norm; ///< post_ffw_norm_2 [width]

    AltUp altup;         ///< altup_router, _router_norm, _predict_coef and _correct_coef, gemma3n
    Vector altup_scale;  ///< altup_correct_scale [width], gemma3n, as are the three below
    Matrix laurel_left;  ///< laurel_l [rank, width]
    Matrix laurel_right; ///< laurel_r [width, rank]
    Vector laurel_norm;  ///< laurel_post_norm [width]

    Matrix input_gate; ///< inp_gate [per-layer width, width], gemma3n and gemma4, optional with the two below
    Matrix input_output;    ///< proj [width, per-layer width]
    Vector post_input_norm; ///< post_norm [width]
    Vector output_scale;    ///< layer_output_scale [1], gemma4, optional

    Matrix router; ///< ffn_gate_inp [experts, width], of a mixture; without rows in other layers. It has the
                   ///< following for gate, up and down
    std::vector<Matrix> expert_gates; ///< ffn_gate_exps, each [expert feed forward, width]
    std::vector<Matrix> expert_ups;   ///< ffn_up_exps
    std::vector<Matrix> expert_downs; ///< ffn_down_exps, each [width, expert feed forward]
    Matrix shared_row_gate;           ///< ffn_gate_inp_shexp [1, width], qwen2moe, qwen3next, qwen35moe
    Matrix shared_gate;               ///< ffn_gate_shexp [shared feed forward, width]
    Matrix shared_up;                 ///< ffn_up_shexp, the same
    Matrix shared_down;               ///< ffn_down_shexp [width, shared feed forward]
    Vector router_bias;               ///< ffn_gate_inp.bias [experts], gpt-oss
    Vector selection_bias;            ///< exp_probs_b.bias [experts], glm4moe, lfm2moe, deepseek2 (optional)
    Matrix expert_gate_biases;        ///< ffn_gate_exps.bias [experts, expert feed forward], gpt-oss
    Matrix expert_up_biases;          ///< ffn_up_exps.bias, the same
    Matrix expert_down_biases;        ///< ffn_down_exps.bias [experts, width], gpt-oss
};

/// A draft head without its layer (DeepSeek-V3, arXiv 2412.19437, 2.2).
struct DraftHeadWeights {
    Matrix embedding;      ///< nextn.embed_tokens [vocabulary, width], optional
    Vector embedding_norm; ///< nextn.enorm [width]
    Vector hidden_norm;    ///< nextn.hnorm [width]
    Matrix projection;     ///< nextn.eh_proj [width, 2 * width]
    Vector output_norm;    ///< nextn.shared_head_norm [width], optional
    Matrix head;           ///< nextn.shared_head_head [vocabulary, width], optional
};

/// Everything in double precision.
struct Weights {
    Matrix embedding;             ///< token_embd [vocabulary, width]
    Vector output_norm;           ///< output_norm [width]
    Matrix head;                  ///< output [vocabulary, width]; the embedding if the file has none ("tied")
    Vector rotary_divisors;       ///< rope_freqs [rotated / 2], optional
    Vector short_rotary_divisors; ///< rope_factors_short [rotated / 2], longrope only
    Vector long_rotary_divisors;  ///< rope_factors_long [rotated / 2], longrope only
    Matrix layer_embedding;       ///< per_layer_token_embd [vocabulary, layers * per-layer width], gemma4
    Matrix layer_projection;      ///< per_layer_model_proj [layers * per-layer width, width]
    Vector layer_projection_norm; ///< per_layer_proj_norm [per-layer width]
    std::vector<Matrix> stream_expansions; ///< altup_proj, each [width, width], gemma3n
    std::vector<Matrix> stream_merges;     ///< altup_unembd_proj, the same
    std::vector<LayerWeights> layers;      ///< that of a draft head last
    DraftHeadWeights draft_head;           ///< without rows if the file has none
};

/// Decodes all tensors. Errors: unsupported (a tensor of a type without decoder), corrupt (a tensor that is
/// missing, of the wrong shape, or unused: ignoring it would silently compute another
/// model).
Result<Weights> load_weights(const gguf::File& file, const Config& config);

} // namespace etna::reference

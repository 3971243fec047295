#pragma once

#include "core/kernels/layout.hpp"
#include "core/kernels/library.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <optional>

// Every operation of the forward pass. Each call records one dispatch (linear, attention: up to a few) and
// declares the ranges it touches; none records a barrier: the caller separates dependent steps with
// Recorder::barrier(). Sizes are checked against ranges before recording; a mismatch goes to
// Recorder::fail(). All activations are f32. Thread-safe only as far as Recorder and Library are.
namespace etna::kernels {

/// One row of a batch on the device, 16 bytes; mirrored by shaders/include/rows.h.
struct RowInfo {
    uint32_t input = 0; ///< token id, or slot with input_is_slot set
    uint32_t index = 0; ///< position in the sequence: of its K and V; it attends to [0, index]
    uint32_t table = 0; ///< first word of its sequence's page table inside PageTables::range
    uint32_t first_page =
        no_page; ///< first page if the sequence's pages are consecutive, so that no table is read

    static constexpr uint32_t input_is_slot = 0x80000000U;
    static constexpr uint32_t no_page = 0xFFFFFFFFU;
};
static_assert(sizeof(RowInfo) == 16);

/// A run of rows of the batch: RowInfo [count].
struct Rows {
    vk::Range infos = {}; ///< RowInfo of exactly these rows
    uint32_t first = 0;   ///< their first row in the batch's activations
    uint32_t count = 0;
};

/// x[row] = table[token(row)] for rows given by id or by slot; ids at or above the vocabulary are clamped.
struct Embed {
    Rows rows;
    vk::Range slots = {}; ///< u32 [slots]
    Matrix table;         ///< [vocabulary, width]
    Activations output;   ///< [rows of the batch, width]; rows.first is applied
    float scale = 1;      ///< Gemma multiplies by sqrt(width)
};
void embed(Library& library, vk::Recorder& recorder, const Embed& operation);

/// How the result is stored.
enum class Store : uint8_t { replace, add };

/// No probed stage; stages of the forward pass are numbered from 0. See RmsNorm::watch.
constexpr uint32_t no_stage = 0xFFFF;
struct Watch {
    vk::Range
        stages; ///< u32 [rows of the input]: the first stage whose input row was not finite, or no_stage
    uint32_t stage = 0; ///< below no_stage; stage 0 resets `stages`
};

/// y[i] (=|+=) x[r(i)] / sqrt(mean(x[r(i)]^2) + epsilon) * weight, with r(i) = indices[i], or first + i
/// without indices. Source: arXiv 1910.07467.
struct RmsNorm {
    Activations input;
    Activations output;
    vk::Range weight = {}; ///< f32 [columns]
    uint32_t input_first = 0;
    uint32_t output_first = 0;
    uint32_t count = 0;
    std::optional<vk::Range> indices = {}; ///< u32 [count], rows of `input`
    float epsilon = 1e-5F;
    Store store = Store::replace;
    std::optional<Watch> watch = std::nullopt;
};
void rms_norm(Library& library, vk::Recorder& recorder, const RmsNorm& operation);

/// The numeric path of a run of rows (engine::RowKind, as kernels know it).
enum class RowPath : uint8_t { prefill, decode };

/// Whether a kernel may round weights and inputs to f16, as matrix units require.
enum class OperandPrecision : uint8_t { f16_allowed, f32 };

/// y[row] (=|+=) W x[row] for rows [first, first + count). In the generation path the order of every sum
/// depends on shape and layout only, never on count; the same holds for the prompt path, with another kernel.
struct Linear {
    Matrix weight;
    Activations input;
    Activations output; ///< columns == weight.rows
    uint32_t first = 0;
    uint32_t count = 0;
    RowPath path = RowPath::decode;
    Store store = Store::replace;
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [weight.rows]
    OperandPrecision factors = OperandPrecision::f16_allowed;
};
void linear(Library& library, vk::Recorder& recorder, const Linear& operation);

/// How elements of the key/value cache are stored; numbers as in shaders/include/cache.glsl.
enum class CacheFormat : uint8_t {
    f32,
    f16,
    q8_0, ///< 8 bits, and an f16 scale for each 32 elements of a head
};
constexpr uint32_t cache_format_count = 3;
struct CacheFormats {
    CacheFormat keys = CacheFormat::f16;
    CacheFormat values = CacheFormat::f16;

    bool operator==(const CacheFormats&) const = default;
};

/// Positions per page, fixed: also the attention kernel's tile.
constexpr uint32_t page_tokens = 32;

/// One layer's cache. Keys and values each: [page][kv_head][page_tokens][head_dim] of their CacheFormat.
struct LayerCache {
    CacheFormats formats = {};
    uint32_t kv_heads = 0;
    uint32_t head_dim = 0; ///< even, at most head_dim_max
    uint32_t pages = 0;
    vk::Range keys = {};
    vk::Range values = {};
};
constexpr uint32_t head_dim_max = 512;
/// Bytes of one layer's keys, or of its values.
uint64_t layer_cache_bytes(CacheFormat format, uint32_t pages, uint32_t kv_heads, uint32_t head_dim);
/// Whether a cache's ranges are large enough for its shape.
bool cache_fits(const LayerCache& cache);

/// Page tables of one cache group: u32 words that RowInfo::table points into.
struct PageTables {
    vk::Range range = {};
};

/// Which elements of a head rotate together.
enum class RotaryPairs : uint8_t {
    adjacent, ///< (2i, 2i + 1), as GGUF files of architecture llama are permuted for
    halves,   ///< (i, i + rotated / 2), NeoX
};

/// Per head: optional RMS norm of q and k (Qwen3), rotation by the row's angles, then q back in place, k and
/// v into the cache at the row's position. Angles come from the host as cos and sin, exact for any position.
struct RotaryStore {
    Rows rows;
    Activations q;         ///< [rows, q_heads * head_dim], rotated in place
    Activations k;         ///< [rows, kv_heads * head_dim], read
    Activations v;         ///< [rows, kv_heads * head_dim], read
    vk::Range angles = {}; ///< f32 pairs (cos, sin), [rows of the batch][rotated / 2]; rows.first is applied
    LayerCache cache;
    PageTables tables;
    uint32_t q_heads = 0;
    uint32_t rotated = 0; ///< leading elements of a head that rotate, even, at most head_dim
    RotaryPairs pairs = RotaryPairs::adjacent;
    std::optional<vk::Range> q_norm = std::nullopt; ///< f32 [head_dim]
    std::optional<vk::Range> k_norm = std::nullopt; ///< f32 [head_dim]
    float epsilon = 1e-5F;
};
void rotary_store(Library& library, vk::Recorder& recorder, const RotaryStore& operation);

/// Scaled dot-product attention with online softmax over the paged cache (arXiv 1805.02867, 2205.14135): each
/// row's heads over keys [0, index], or the last `window` of them. Query head h reads kv head h / (q_heads /
/// kv_heads). Generation rows split the keys into runs of fixed length that are merged in order
/// (attention_merge).
struct Attention {
    Rows rows;
    Activations q;
    Activations output; ///< [rows, q_heads * head_dim]
    LayerCache cache;
    PageTables tables;
    uint32_t q_heads = 0;
    float scale = 0;
    uint32_t window = 0; ///< 0: all keys
    float softcap = 0;   ///< scores s become softcap x tanh(s / softcap) (arXiv 2408.00118); 0: no cap
    RowPath path = RowPath::decode;
    uint32_t longest = 0;    ///< largest index + 1 among the rows
    vk::Range partials = {}; ///< scratch of attention_partial_bytes(); untouched when one run suffices
};
/// Keys in one run of the generation path; depends on the target alone.
uint32_t attention_run_tokens(const PlanTarget& target);
uint64_t attention_partial_bytes(const PlanTarget& target, uint32_t rows, uint32_t context_tokens,
                                 uint32_t q_heads, uint32_t head_dim);
/// Whether attention_merge must follow (after a barrier).
bool attention_needs_merge(const PlanTarget& target, const Attention& operation);
void attention(Library& library, vk::Recorder& recorder, const Attention& operation);
void attention_merge(Library& library, vk::Recorder& recorder, const Attention& operation);

/// Activation function of a gate.
enum class Gate : uint8_t {
    silu, ///< x / (1 + exp(-x))
    gelu, ///< x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, arXiv 1606.08415
};

/// gate = act(gate) * up, elementwise; in place.
struct GateMultiply {
    Activations gate;
    Activations up;
    uint32_t first = 0;
    uint32_t count = 0;
    Gate kind = Gate::silu;
};
void gate_multiply(Library& library, vk::Recorder& recorder, const GateMultiply& operation);

/// values = cap tanh(values / cap), elementwise, rows [0, count); in place. Source: arXiv 2408.00118.
struct SoftCap {
    Activations values;
    uint32_t count = 0;
    float cap = 0;
};
void soft_cap(Library& library, vk::Recorder& recorder, const SoftCap& operation);

/// How to draw from one row of logits, 32 bytes; mirrored by shaders/sample/arguments.h. See
/// sampling::Parameters.
struct SampleInfo {
    float temperature = 0;
    uint32_t top_k = 1; ///< at most candidates_max; ignored when temperature is 0
    float top_p = 1;
    float min_p = 0;
    uint32_t seed = 0;
    uint32_t position = 0;   ///< counter of the random number
    uint32_t slot = no_slot; ///< slot that also receives the drawn id
    uint32_t candidates = 0; ///< number of candidates returned

    static constexpr uint32_t no_slot = 0xFFFFFFFFU;
};
static_assert(sizeof(SampleInfo) == 32);

constexpr uint32_t candidates_max = 64;

/// Sampling output for each wanted row: 16 bytes, then candidates_max pairs (id, logit).
struct SampleResult {
    uint32_t token = 0;
    float logit = 0;       ///< of the token, before any filter
    float log_sum_exp = 0; ///< over the vocabulary
    uint32_t bad = 0; ///< 0: no logit is NaN; else 1 + the first stage whose input had a row of this step
                      ///< that was not finite
    struct Pair {
        uint32_t token;
        float logit;
    };
    Pair candidates[candidates_max] = {}; ///< descending logit, smaller id first among equals
};
static_assert(sizeof(SampleResult) == 16 + 8 * candidates_max);

/// Per wanted row of logits: log-sum-exp, the most likely candidates, and one drawn token. Two dispatches
/// with a barrier between them that the caller records: sample_partial, barrier, sample_finish.
struct Sample {
    Activations logits; ///< [count, vocabulary]
    uint32_t count = 0;
    uint32_t candidates = 1; ///< largest number that any row needs (top_k or candidates), 1..candidates_max
    vk::Range infos = {};    ///< SampleInfo [count]
    vk::Range slots = {};    ///< u32 [slots]
    vk::Range partials = {}; ///< scratch of sample_partial_bytes()
    vk::Range results = {};  ///< SampleResult [count]
    vk::Range stages = {};   ///< Watch::stages of the rows of this step; may be empty
};
uint64_t sample_partial_bytes(uint32_t rows, uint32_t vocabulary);
void sample_partial(Library& library, vk::Recorder& recorder, const Sample& operation);
void sample_finish(Library& library, vk::Recorder& recorder, const Sample& operation);

} // namespace etna::kernels

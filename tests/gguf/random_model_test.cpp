// The random models that other rooms test with: names, shapes and numbers match the options.
#include "tests/gguf/examples.hpp"
#include "tests/reference/decode.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/tensor_content.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

using namespace etna;
using namespace etna::test;
using namespace etna::gguf_test;

namespace {

std::vector<float> f32_values(const gguf::File& file, std::string_view name) {
    const gguf::Tensor* tensor = file.find_tensor(name);
    REQUIRE(tensor != nullptr);
    REQUIRE(tensor->type == gguf::TensorType::f32);
    std::vector<float> values(tensor->bytes / sizeof(float));
    REQUIRE(file.read(*tensor, 0, std::as_writable_bytes(std::span(values))));
    return values;
}

/// Elements as numbers, from the definitions of the formats.
std::vector<double> values_of(const gguf::File& file, const gguf::Tensor& tensor) {
    const auto half = [](uint16_t bits) {
        const int exponent = (bits >> 10) & 31;
        const double fraction = (bits & 1023) / 1024.0;
        const double magnitude =
            exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
        return (bits & 0x8000) != 0 ? -magnitude : magnitude;
    };
    std::vector<double> values;
    const Bytes content = tensor_content(file, tensor);
    const std::byte* at = content.data();
    const auto take = [&]<class T>(T& value) {
        std::memcpy(&value, at, sizeof(T));
        at += sizeof(T);
    };
    while (at < content.data() + content.size()) {
        uint16_t bits = 0;
        take(bits);
        if (tensor.type == gguf::TensorType::f16) {
            values.push_back(half(bits));
        } else if (tensor.type == gguf::TensorType::bf16) {
            const uint32_t wide = uint32_t{bits} << 16;
            float value = 0;
            std::memcpy(&value, &wide, sizeof(value));
            values.push_back(value);
        } else {
            for (int i = 0; i < 32; ++i) {
                int8_t quantum = 0;
                take(quantum);
                values.push_back(half(bits) * quantum);
            }
        }
    }
    return values;
}

/// Every tensor of a layer with its shape, columns first.
std::vector<std::pair<std::string, std::array<uint64_t, 4>>> layer_shapes(const RandomModelOptions& o) {
    const uint64_t query = uint64_t{o.heads} * o.head_dim;
    const uint64_t key = uint64_t{o.kv_heads} * o.head_dim;
    const uint64_t d = o.embedding;
    const uint64_t f = o.feed_forward;
    using Shapes = std::vector<std::pair<std::string, std::array<uint64_t, 4>>>;
    const auto is = [&](RandomArchitecture architecture) { return o.architecture == architecture; };
    Shapes shapes = {
        {"attn_norm.weight", {d, 1, 1, 1}},
        {"attn_output.weight", {query, d, 1, 1}},
        {is(RandomArchitecture::gpt_oss) ? "post_attention_norm.weight" : "ffn_norm.weight", {d, 1, 1, 1}}};
    const auto add = [&](const Shapes& more) { shapes.insert(shapes.end(), more.begin(), more.end()); };
    const bool has_fused_gate = is(RandomArchitecture::glm4);
    if (is(RandomArchitecture::phi3)) {
        add({{"attn_qkv.weight", {d, query + 2 * key, 1, 1}},
             {"ffn_up.weight", {d, 2 * f, 1, 1}},
             {"ffn_down.weight", {f, d, 1, 1}}});
        return shapes;
    }
    add({{"attn_q.weight", {d, query, 1, 1}},
         {"attn_k.weight", {d, key, 1, 1}},
         {"attn_v.weight", {d, key, 1, 1}}});
    if (is(RandomArchitecture::glm4) || is(RandomArchitecture::qwen2) || is(RandomArchitecture::qwen2moe) ||
        is(RandomArchitecture::qwen2vl) || is(RandomArchitecture::gpt_oss)) {
        add({{"attn_q.bias", {query, 1, 1, 1}},
             {"attn_k.bias", {key, 1, 1, 1}},
             {"attn_v.bias", {key, 1, 1, 1}}});
    }
    if (is(RandomArchitecture::qwen3) || is(RandomArchitecture::qwen3moe) ||
        is(RandomArchitecture::qwen3vl) || is(RandomArchitecture::qwen3vlmoe) ||
        is(RandomArchitecture::gemma3) || is(RandomArchitecture::gemma3n) || is(RandomArchitecture::gemma4))
        add({{"attn_q_norm.weight", {o.head_dim, 1, 1, 1}}, {"attn_k_norm.weight", {o.head_dim, 1, 1, 1}}});
    if (is(RandomArchitecture::gemma3n) || is(RandomArchitecture::gemma4)) {
        add({{"inp_gate.weight", {d, o.per_layer_width, 1, 1}},
             {"proj.weight", {o.per_layer_width, d, 1, 1}},
             {"post_norm.weight", {d, 1, 1, 1}}});
    }
    if (is(RandomArchitecture::gemma4))
        add({{"layer_output_scale.weight", {1, 1, 1, 1}}});
    if (is(RandomArchitecture::gemma3n)) {
        add({{"altup_router.weight", {d, o.streams, 1, 1}},
             {"altup_router_norm.weight", {d, 1, 1, 1}},
             {"altup_predict_coef.weight", {o.streams, uint64_t{o.streams} * o.streams, 1, 1}},
             {"altup_correct_coef.weight", {o.streams, o.streams, 1, 1}},
             {"altup_correct_scale.weight", {d, 1, 1, 1}},
             {"laurel_l.weight", {d, o.laurel_rank, 1, 1}},
             {"laurel_r.weight", {o.laurel_rank, d, 1, 1}},
             {"laurel_post_norm.weight", {d, 1, 1, 1}}});
    }
    if (is(RandomArchitecture::glm4) || is(RandomArchitecture::gemma2) || is(RandomArchitecture::gemma3) ||
        is(RandomArchitecture::gemma3n) || is(RandomArchitecture::gemma4))
        add({{"post_attention_norm.weight", {d, 1, 1, 1}}, {"post_ffw_norm.weight", {d, 1, 1, 1}}});
    if (is(RandomArchitecture::gpt_oss)) {
        add({{"attn_output.bias", {d, 1, 1, 1}},
             {"attn_sinks.weight", {o.heads, 1, 1, 1}},
             {"ffn_gate_inp.bias", {o.experts, 1, 1, 1}},
             {"ffn_gate_exps.bias", {o.expert_feed_forward, o.experts, 1, 1}},
             {"ffn_up_exps.bias", {o.expert_feed_forward, o.experts, 1, 1}},
             {"ffn_down_exps.bias", {d, o.experts, 1, 1}}});
    }
    if (is(RandomArchitecture::qwen2moe))
        add({{"ffn_gate_inp_shexp.weight", {d, 1, 1, 1}}});
    if (is(RandomArchitecture::qwen2moe) || is(RandomArchitecture::granitemoe)) {
        const uint64_t shared = o.shared_feed_forward;
        add({{"ffn_gate_shexp.weight", {d, shared, 1, 1}},
             {"ffn_up_shexp.weight", {d, shared, 1, 1}},
             {"ffn_down_shexp.weight", {shared, d, 1, 1}}});
    }
    const bool has_wide_experts =
        is(RandomArchitecture::granitemoe) || (is(RandomArchitecture::llama) && o.mixture);
    if (is(RandomArchitecture::qwen2moe) || is(RandomArchitecture::qwen3moe) ||
        is(RandomArchitecture::qwen3vlmoe) || is(RandomArchitecture::gpt_oss) || has_wide_experts) {
        const uint64_t own = has_wide_experts ? f : o.expert_feed_forward;
        add({{"ffn_gate_inp.weight", {d, o.experts, 1, 1}},
             {"ffn_gate_exps.weight", {d, own, o.experts, 1}},
             {"ffn_up_exps.weight", {d, own, o.experts, 1}},
             {"ffn_down_exps.weight", {own, d, o.experts, 1}}});
    } else if (has_fused_gate) {
        add({{"ffn_up.weight", {d, 2 * f, 1, 1}}, {"ffn_down.weight", {f, d, 1, 1}}});
    } else {
        add({{"ffn_gate.weight", {d, f, 1, 1}},
             {"ffn_up.weight", {d, f, 1, 1}},
             {"ffn_down.weight", {f, d, 1, 1}}});
    }
    return shapes;
}

} // namespace

TEST_CASE("a random model has every tensor of its architecture, in odd sizes too") {
    for (const auto architecture :
         {RandomArchitecture::llama, RandomArchitecture::mistral3, RandomArchitecture::smollm3,
          RandomArchitecture::granite, RandomArchitecture::granitemoe, RandomArchitecture::glm4,
          RandomArchitecture::qwen2, RandomArchitecture::qwen2moe, RandomArchitecture::qwen2vl,
          RandomArchitecture::qwen3, RandomArchitecture::qwen3moe, RandomArchitecture::qwen3vl,
          RandomArchitecture::qwen3vlmoe, RandomArchitecture::phi3, RandomArchitecture::gemma2,
          RandomArchitecture::gemma3, RandomArchitecture::gemma3n, RandomArchitecture::gemma4,
          RandomArchitecture::gpt_oss}) {
        const RandomModelOptions options{.architecture = architecture,
                                         .layers = 3,
                                         .embedding = 40,
                                         .heads = 6,
                                         .kv_heads = 3,
                                         .head_dim = 10,
                                         .feed_forward = 53,
                                         .vocabulary = 77,
                                         .mixture = architecture == RandomArchitecture::llama,
                                         .tokenizer = RandomTokenizer::none};
        const Bytes bytes = random_model(options);
        const gguf::File file = parse_sound(bytes);
        const auto shapes = layer_shapes(options);
        for (uint32_t layer = 0; layer < options.layers; ++layer) {
            for (const auto& [role, shape] : shapes) {
                const std::string name = "blk." + std::to_string(layer) + "." + role;
                CAPTURE(name);
                const gguf::Tensor* tensor = file.find_tensor(name);
                REQUIRE(tensor != nullptr);
                REQUIRE(tensor->shape == shape);
            }
        }
        // Three tensors are for the inputs of layers; gemma4 also has frequency divisors, gemma3n projections
        // of streams.
        const std::size_t others = architecture == RandomArchitecture::gemma4    ? 3 + 3 + 1
                                   : architecture == RandomArchitecture::gemma3n ? 3 + 3 + 2
                                                                                 : 3;
        REQUIRE(file.tensors().size() == options.layers * shapes.size() + others);
        REQUIRE(file.find_tensor("token_embd.weight")->shape == std::array<uint64_t, 4>{40, 77, 1, 1});
        REQUIRE(file.find_tensor("output.weight")->shape == std::array<uint64_t, 4>{40, 77, 1, 1});
        REQUIRE(file.find_tensor("output_norm.weight")->shape == std::array<uint64_t, 4>{40, 1, 1, 1});
        const std::string prefix = std::string(*file.text("general.architecture")) + ".";
        REQUIRE(prefix == std::string(to_string(architecture)) + ".");
        REQUIRE(file.unsigned_integer(prefix + "attention.key_length") == 10U);
        REQUIRE(file.unsigned_integer(prefix + "vocab_size") == 77U);
    }
}

TEST_CASE("a random model of qwen3next has fused projections, and experts of which one is shared") {
    RandomModelOptions options{.architecture = RandomArchitecture::qwen3next,
                               .layers = 2,
                               .embedding = 40,
                               .vocabulary = 77,
                               .experts = 3,
                               .expert_feed_forward = 9,
                               .shared_feed_forward = 11,
                               .delta_key_heads = 3,
                               .delta_value_heads = 6,
                               .delta_key_dim = 7,
                               .delta_value_dim = 5,
                               .tokenizer = RandomTokenizer::none};
    using Shape = std::array<uint64_t, 4>;
    for (const bool fused : {false, true}) {
        options.fused_inputs = fused;
        const Bytes bytes = random_model(options);
        const gguf::File file = parse_sound(bytes);
        const auto shape_of = [&](const std::string& name) {
            const gguf::Tensor* tensor = file.find_tensor("blk.0." + name + ".weight");
            return tensor == nullptr ? Shape{} : tensor->shape;
        };
        CHECK(shape_of("ssm_in") == (fused ? Shape{40, 2 * 21 + 2 * 30, 1, 1} : Shape{}));
        CHECK(shape_of("attn_qkv") == (fused ? Shape{} : Shape{40, 2 * 21 + 30, 1, 1}));
        CHECK(shape_of("attn_gate") == (fused ? Shape{} : Shape{40, 30, 1, 1}));
        CHECK(shape_of("ssm_ba") == Shape{40, 12, 1, 1});
        CHECK(shape_of("ffn_gate_exps") == Shape{40, 9, 3, 1});
        CHECK(shape_of("ffn_gate_inp_shexp") == Shape{40, 1, 1, 1});
        CHECK(shape_of("ffn_gate_shexp") == Shape{40, 11, 1, 1});
        CHECK(shape_of("ffn_up_shexp") == Shape{40, 11, 1, 1});
        CHECK(shape_of("ffn_down_shexp") == Shape{11, 40, 1, 1});
        CHECK(file.unsigned_integer("qwen3next.expert_shared_feed_forward_length") == 11U);
    }
}

TEST_CASE("a random model of gemma4 may have experts in parallel with its dense blocks") {
    RandomModelOptions options{.architecture = RandomArchitecture::gemma4,
                               .embedding = 40,
                               .feed_forward = 53,
                               .vocabulary = 77,
                               .mixture = true,
                               .tokenizer = RandomTokenizer::none};
    using Shape = std::array<uint64_t, 4>;
    const auto shapes_of = [](const RandomModelOptions& model) {
        const Bytes bytes = random_model(model);
        const gguf::File file = parse_sound(bytes);
        std::map<std::string, Shape> shapes;
        for (const gguf::Tensor& tensor : file.tensors())
            shapes[std::string(tensor.name)] = tensor.shape;
        return shapes;
    };
    auto shapes = shapes_of(options);
    CHECK(shapes["blk.1.ffn_up.weight"] == Shape{40, 53, 1, 1});
    CHECK(shapes["blk.1.ffn_gate_inp.weight"] == Shape{40, 5, 1, 1});
    CHECK(shapes["blk.1.ffn_gate_inp.scale"] == Shape{40, 1, 1, 1});
    CHECK(shapes["blk.1.ffn_down_exps.scale"] == Shape{5, 1, 1, 1});
    CHECK(shapes["blk.1.ffn_gate_exps.weight"] == Shape{40, 32, 5, 1});
    CHECK(shapes["blk.1.ffn_up_exps.weight"] == Shape{40, 32, 5, 1});
    CHECK(shapes["blk.1.ffn_down_exps.weight"] == Shape{32, 40, 5, 1});
    for (const std::string norm : {"pre_ffw_norm_2", "post_ffw_norm", "post_ffw_norm_1", "post_ffw_norm_2"})
        CHECK(shapes["blk.1." + norm + ".weight"] == Shape{40, 1, 1, 1});
    options.fused_experts = true;
    options.expert_scales = false;
    shapes = shapes_of(options);
    CHECK(shapes["blk.1.ffn_gate_up_exps.weight"] == Shape{40, 64, 5, 1});
    CHECK_FALSE(shapes.contains("blk.1.ffn_up_exps.weight"));
    CHECK_FALSE(shapes.contains("blk.1.ffn_down_exps.scale"));
}

TEST_CASE("a random model of qwen35 has recurrent layers, and one more to be ignored") {
    const RandomModelOptions o{.architecture = RandomArchitecture::qwen35,
                               .layers = 4,
                               .embedding = 40,
                               .heads = 6,
                               .kv_heads = 3,
                               .head_dim = 10,
                               .feed_forward = 53,
                               .vocabulary = 77,
                               .rotated = 6,
                               .delta_key_heads = 3,
                               .delta_value_heads = 6,
                               .delta_key_dim = 7,
                               .delta_value_dim = 5,
                               .convolution_width = 3,
                               .predicting_layers = 1,
                               .tokenizer = RandomTokenizer::none};
    const Bytes bytes = random_model(o);
    const gguf::File file = parse_sound(bytes);
    const auto shape_of = [&](const std::string& name) {
        const gguf::Tensor* tensor = file.find_tensor(name);
        REQUIRE(tensor != nullptr);
        return tensor->shape;
    };
    using Shape = std::array<uint64_t, 4>;
    for (const std::string block : {"blk.0.", "blk.2."}) {
        CHECK(shape_of(block + "attn_qkv.weight") == Shape{40, 2 * 21 + 30, 1, 1});
        CHECK(shape_of(block + "attn_gate.weight") == Shape{40, 30, 1, 1});
        CHECK(shape_of(block + "ssm_alpha.weight") == Shape{40, 6, 1, 1});
        CHECK(shape_of(block + "ssm_beta.weight") == Shape{40, 6, 1, 1});
        CHECK(shape_of(block + "ssm_conv1d.weight") == Shape{3, 72, 1, 1});
        CHECK(shape_of(block + "ssm_a") == Shape{6, 1, 1, 1});
        CHECK(shape_of(block + "ssm_dt.bias") == Shape{6, 1, 1, 1});
        CHECK(shape_of(block + "ssm_norm.weight") == Shape{5, 1, 1, 1});
        CHECK(shape_of(block + "ssm_out.weight") == Shape{30, 40, 1, 1});
        CHECK(file.find_tensor(block + "attn_q.weight") == nullptr);
    }
    for (const std::string block : {"blk.1.", "blk.3.", "blk.4."}) {
        CHECK(shape_of(block + "attn_q.weight") == Shape{40, 120, 1, 1}); // query and gate
        CHECK(shape_of(block + "attn_q_norm.weight") == Shape{10, 1, 1, 1});
        CHECK(shape_of(block + "post_attention_norm.weight") == Shape{40, 1, 1, 1});
    }
    CHECK(shape_of("blk.4.nextn.eh_proj.weight") == Shape{80, 40, 1, 1});
    CHECK(file.unsigned_integer("qwen35.block_count") == 5U);
    CHECK(file.unsigned_integer("qwen35.rope.dimension_count") == 6U);
    CHECK(file.unsigned_integer("qwen35.ssm.inner_size") == 30U);
}

TEST_CASE("options of head and rotation show in the file") {
    const Bytes tied = random_model({.head = HeadKind::tied});
    REQUIRE(parse_sound(tied).find_tensor("output.weight") == nullptr);

    const Bytes yarn =
        random_model({.rope_scaling = RopeScaling::yarn, .rope_factor = 8, .original_context = 32});
    const gguf::File yarn_file = parse_sound(yarn);
    REQUIRE(yarn_file.text("llama.rope.scaling.type") == "yarn");
    REQUIRE(yarn_file.number("llama.rope.scaling.factor") == 8.0);
    REQUIRE(yarn_file.unsigned_integer("llama.rope.scaling.original_context_length") == 32U);

    const Bytes linear = random_model({.rope_scaling = RopeScaling::linear});
    REQUIRE(parse_sound(linear).text("llama.rope.scaling.type") == "linear");

    const Bytes llama3 =
        random_model({.head_dim = 16, .rope_scaling = RopeScaling::llama3, .rope_factor = 8});
    const auto divisors = f32_values(parse_sound(llama3), "rope_freqs.weight");
    REQUIRE(divisors.size() == 8);
    REQUIRE(divisors.front() == 1.0F);
    REQUIRE(divisors.back() == 8.0F);
    REQUIRE(divisors[4] > 1.0F);
    REQUIRE(divisors[4] < 8.0F);
}

TEST_CASE("the same seed gives the same file, another seed another one") {
    const RandomModelOptions options{.seed = 5};
    RandomModelOptions other = options;
    other.seed = 6;
    REQUIRE(random_model(options) == random_model(options));
    REQUIRE(random_model(options) != random_model(other));
}

TEST_CASE("weights have the promised mean and spread") {
    const Bytes bytes = random_model({.embedding = 64, .feed_forward = 256});
    const gguf::File file = parse_sound(bytes);
    const auto values = f32_values(file, "blk.1.ffn_up.weight"); // 16384 values
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
        sum += value;
        squares += double{value} * value;
    }
    const auto count = static_cast<double>(values.size());
    const double deviation = 1 / std::sqrt(64.0);
    REQUIRE(std::fabs(sum / count) < 5 * deviation / std::sqrt(count));
    REQUIRE(std::sqrt(squares / count) == Approx(deviation).epsilon(0.03));
}

TEST_CASE("each weight format holds the drawn numbers to its own precision") {
    RandomModelOptions options{.layers = 1};
    const Bytes exact_bytes = random_model(options);
    const gguf::File exact_file = parse_sound(exact_bytes);
    const auto exact = f32_values(exact_file, "blk.0.attn_q.weight");
    struct Case {
        WeightFormat format;
        gguf::TensorType type;
        double relative; ///< half an ulp
        double absolute; ///< half a quantum of the largest possible block, or of binary16's smallest numbers
    };
    const double largest = std::sqrt(12.0) / std::sqrt(64.0); // four uniform numbers at their ends
    for (const Case& c : {Case{WeightFormat::f16, gguf::TensorType::f16, 0x1p-11, 0x1p-25},
                          Case{WeightFormat::bf16, gguf::TensorType::bf16, 0x1p-8, 0},
                          Case{WeightFormat::q8_0, gguf::TensorType::q8_0, 0x1p-11, 0.5 * largest / 127}}) {
        options.matrices = c.format;
        const Bytes bytes = random_model(options);
        const gguf::File file = parse_sound(bytes);
        const gguf::Tensor* tensor = file.find_tensor("blk.0.attn_q.weight");
        REQUIRE(tensor != nullptr);
        REQUIRE(tensor->type == c.type);
        const auto values = values_of(file, *tensor);
        REQUIRE(values.size() == exact.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            CAPTURE(static_cast<int>(c.format), i, exact[i], values[i]);
            REQUIRE(std::fabs(values[i] - exact[i]) <= std::fabs(exact[i]) * c.relative + c.absolute * 1.001);
        }
    }
}

TEST_CASE("weights of every format have the promised mean and spread, and are finite") {
    for (const WeightFormat format : all_weight_formats) {
        const Bytes bytes = random_model({.layers = 1,
                                          .embedding = 256,
                                          .feed_forward = 1024,
                                          .matrices = WeightFormat::f32,
                                          .role_formats = {{"ffn_up", format}},
                                          .tokenizer = RandomTokenizer::none});
        const gguf::File file = parse_sound(bytes);
        const gguf::Tensor* tensor = file.find_tensor("blk.0.ffn_up.weight");
        REQUIRE(tensor != nullptr);
        CAPTURE(static_cast<int>(format), gguf::describe(tensor->type)->name);
        REQUIRE(static_cast<uint32_t>(tensor->type) == type_number(format));
        REQUIRE(gguf::describe(tensor->type)->block_elements == block_elements(format));
        const auto values = reference::decode_matrix(*tensor, tensor_content(file, *tensor)).values;
        REQUIRE(values.size() == std::size_t{256} * 1024);
        double sum = 0;
        double squares = 0;
        for (const double value : values) {
            REQUIRE(std::isfinite(value));
            sum += value;
            squares += value * value;
        }
        const auto count = static_cast<double>(values.size());
        const double deviation = 1 / std::sqrt(256.0);
        // A block shares a scale, and its mean may be off by half a deviation: 1024 blocks count, not the
        // elements.
        REQUIRE(std::fabs(sum / count) < 5 * 0.5 * deviation / std::sqrt(1024.0));
        REQUIRE(std::sqrt(squares / count) == Approx(deviation).epsilon(0.04));
    }
}

TEST_CASE("a role's own format goes before the format of all matrices") {
    const Bytes bytes =
        random_model({.embedding = 256,
                      .heads = 16,
                      .kv_heads = 4,
                      .feed_forward = 512,
                      .matrices = WeightFormat::q4_k,
                      .embedding_format = WeightFormat::q5_0,
                      .head_format = WeightFormat::q6_k,
                      .role_formats = {{"attn_v", WeightFormat::mxfp4}, {"ffn_down", WeightFormat::iq4_xs}}});
    const gguf::File file = parse_sound(bytes);
    const auto type_of = [&](const char* name) {
        const gguf::Tensor* tensor = file.find_tensor(name);
        REQUIRE(tensor != nullptr);
        return tensor->type;
    };
    CHECK(type_of("token_embd.weight") == gguf::TensorType::q5_0);
    CHECK(type_of("output.weight") == gguf::TensorType::q6_k);
    CHECK(type_of("blk.1.attn_q.weight") == gguf::TensorType::q4_k);
    CHECK(type_of("blk.1.attn_v.weight") == gguf::TensorType::mxfp4);
    CHECK(type_of("blk.0.ffn_down.weight") == gguf::TensorType::iq4_xs);
    CHECK(type_of("blk.0.ffn_up.weight") == gguf::TensorType::q4_k);
}

TEST_CASE("tokenizers fill the vocabulary exactly") {
    for (const auto architecture : {RandomArchitecture::llama, RandomArchitecture::qwen3}) {
        for (const uint32_t size : {minimum_vocabulary(architecture), 270U, 400U}) {
            CAPTURE(size);
            const Bytes bytes = random_model(
                {.architecture = architecture, .vocabulary = size, .chat_template = chatml_template});
            const gguf::File file = parse_sound(bytes);
            const auto& tokens = std::get<gguf::Array>(*file.find("tokenizer.ggml.tokens")).items;
            const auto& types = std::get<gguf::Array>(*file.find("tokenizer.ggml.token_type")).items;
            REQUIRE(std::get<std::vector<std::string_view>>(tokens).size() == size);
            REQUIRE(std::get<std::vector<int32_t>>(types).size() == size);
            const auto names = std::get<std::vector<std::string_view>>(tokens);
            REQUIRE(names[*file.unsigned_integer("tokenizer.ggml.eos_token_id")] ==
                    (architecture == RandomArchitecture::llama ? "</s>" : "<|im_end|>"));
            REQUIRE(file.text("tokenizer.chat_template") == chatml_template);
        }
    }
}

TEST_CASE("options that contradict each other are refused") {
    REQUIRE_THROWS_AS(random_model({.heads = 4, .kv_heads = 3}), std::invalid_argument);
    REQUIRE_THROWS_AS(random_model({.head_dim = 5}), std::invalid_argument);
    REQUIRE_THROWS_AS(random_model({.vocabulary = 100}), std::invalid_argument);
    REQUIRE_THROWS_AS(random_model({.embedding = 40, .matrices = WeightFormat::q8_0}), std::invalid_argument);
    REQUIRE_THROWS_AS(random_model({.embedding = 40, .matrices = WeightFormat::mxfp4}),
                      std::invalid_argument);
    REQUIRE_THROWS_AS(random_model({.embedding = 128, .embedding_format = WeightFormat::q4_k}),
                      std::invalid_argument);
}

#include "tests/reference/model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace etna;
using namespace etna::reference;

namespace {

const std::vector<TokenId> ten_tokens{3, 141, 59, 26, 5, 35, 89, 79, 3, 238};

Result<ReferenceModel> try_load(const test::Bytes& bytes) {
    ETNA_TRY(const gguf::File file, gguf::File::parse(bytes, "random"));
    return ReferenceModel::load(file);
}

ReferenceModel load(const test::RandomModelOptions& options) {
    auto model = try_load(test::random_model(options));
    if (!model)
        FAIL(model.error().message);
    return std::move(*model);
}

double state_difference(View a, View b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, std::fabs(a[i] - b[i]));
    return largest;
}

// Root of the mean square; every element must be finite.
double spread(const std::vector<Vector>& rows) {
    double squares = 0;
    double count = 0;
    for (const Vector& row : rows) {
        for (const double value : row) {
            REQUIRE(std::isfinite(value));
            squares += value * value;
            ++count;
        }
    }
    return std::sqrt(squares / count);
}

void scale_tensor(test::Bytes& bytes, const std::string& name, float factor) {
    const auto file = gguf::File::parse(bytes, "random");
    REQUIRE(file.has_value());
    const gguf::Tensor* tensor = file->find_tensor(name);
    REQUIRE(tensor != nullptr);
    REQUIRE(tensor->type == gguf::TensorType::f32);
    std::byte* const start = bytes.data() + tensor->offset;
    for (std::size_t i = 0; i < tensor->bytes; i += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, start + i, sizeof value);
        value *= factor;
        std::memcpy(start + i, &value, sizeof value);
    }
}

} // namespace

TEST_CASE("a fork does not change the original cache, and truncating removes entries") {
    for (const auto architecture : test::all_random_architectures) {
        CAPTURE(test::to_string(architecture));
        const ReferenceModel model =
            load({.architecture = architecture, .tokenizer = test::RandomTokenizer::none});
        const auto straight = model.run(ten_tokens);
        Cache cache = model.make_cache();
        for (uint32_t i = 0; i < 6; ++i)
            model.forward(ten_tokens[i], i, i, cache);
        Cache fork = cache;
        const Vector other = model.forward(ten_tokens[0], 6, 6, fork);
        CHECK(cache.entries() == 6);
        CHECK(fork.entries() == 7);
        CHECK(model.forward(ten_tokens[6], 6, 6, cache) == straight[6]);
        CHECK(state_difference(other, straight[6]) > 0.01);
        if (test::is_recurrent(architecture))
            continue; // a copy of an earlier cache serves instead

        cache.truncate(3);
        CHECK(cache.entries() == 3);
        CHECK(model.forward(ten_tokens[3], 3, 3, cache) == straight[3]);
        CHECK(model.forward(ten_tokens[1], 1, 1, cache) ==
              straight[1]); // an earlier index truncates by itself
        CHECK(cache.entries() == 2);
    }
}

TEST_CASE("logits depend on relative positions alone") {
    for (const auto architecture : test::all_random_architectures) {
        CAPTURE(test::to_string(architecture));
        const ReferenceModel model =
            load({.architecture = architecture, .tokenizer = test::RandomTokenizer::none});
        const std::vector<bool>& rotates = model.config().rotates;
        const bool has_rotation = std::find(rotates.begin(), rotates.end(), true) != rotates.end();
        const auto straight = model.run(ten_tokens);
        Cache shifted = model.make_cache();
        Cache stretched = model.make_cache();
        for (uint32_t i = 0; i < ten_tokens.size(); ++i) {
            CHECK(state_difference(model.forward(ten_tokens[i], i, i + 1000, shifted), straight[i]) < 1e-9);
            const double difference =
                state_difference(model.forward(ten_tokens[i], i, 3 * i, stretched), straight[i]);
            CHECK((i == 0 || (has_rotation ? difference > 1e-3 : difference == 0)));
        }
    }
}

TEST_CASE("a narrower cache is a little off, the narrower the more") {
    const ReferenceModel model = load({.tokenizer = test::RandomTokenizer::none});
    const Vector exact = model.run(ten_tokens).back();
    const double f32 =
        state_difference(model.run(ten_tokens, {CacheElement::f32, CacheElement::f32}).back(), exact);
    const double f16 =
        state_difference(model.run(ten_tokens, {CacheElement::f16, CacheElement::f16}).back(), exact);
    CHECK(f32 > 0);
    CHECK(f32 < 1e-5);
    CHECK(f16 > f32);
    CHECK(f16 < 0.1);
}

TEST_CASE("qwen3 normalises queries and keys, so that their scale does not matter; for llama it does") {
    for (const auto architecture : {test::RandomArchitecture::llama, test::RandomArchitecture::qwen3}) {
        test::Bytes bytes = test::random_model(
            {.architecture = architecture, .norm_epsilon = 1e-12F, .tokenizer = test::RandomTokenizer::none});
        const auto plain = try_load(bytes);
        REQUIRE(plain.has_value());
        scale_tensor(bytes, "blk.0.attn_q.weight", 4);
        scale_tensor(bytes, "blk.1.attn_k.weight", 4);
        const auto scaled = try_load(bytes);
        REQUIRE(scaled.has_value());
        const double difference =
            state_difference(plain->run(ten_tokens).back(), scaled->run(ten_tokens).back());
        CAPTURE(difference);
        CHECK((architecture == test::RandomArchitecture::qwen3 ? difference < 1e-6 : difference > 0.01));
    }
}

TEST_CASE("the types of weights are distinguished") {
    test::RandomModelOptions options{.tokenizer = test::RandomTokenizer::none};
    const Vector f32 = load(options).run(ten_tokens).back();
    for (const auto format : {test::WeightFormat::f16, test::WeightFormat::bf16, test::WeightFormat::q8_0}) {
        options.matrices = format;
        const double difference = state_difference(load(options).run(ten_tokens).back(), f32);
        CAPTURE(static_cast<int>(format), difference);
        CHECK(difference > 0);
        CHECK(difference <
              0.5); // rounded weights, not other ones: logits have a standard deviation of about 4
    }
}

TEST_CASE("models run with weights of any format, and logits have the expected spread") {
    for (const auto format : test::all_weight_formats) {
        CAPTURE(static_cast<int>(format));
        test::RandomModelOptions options{.layers = 1,
                                         .embedding = 256,
                                         .heads = 16,
                                         .kv_heads = 4,
                                         .feed_forward = 256,
                                         .matrices = format,
                                         .head_format = format,
                                         .tokenizer = test::RandomTokenizer::none};
        CHECK(spread(load(options).run(ten_tokens)) == Approx(options.head_scale).epsilon(0.25));
        // Shared minima add up if both the embedding and the matrices have them.
        options.embedding_format = format;
        CHECK(spread(load(options).run(ten_tokens)) < 2 * options.head_scale);
    }
}

TEST_CASE("an unused tensor is refused by name") {
    test::GgufWriter writer = test::random_model_writer({.tokenizer = test::RandomTokenizer::none});
    writer.add_tensor({.name = "blk.0.surprise", .type = 0, .shape = {1}, .bytes = test::Bytes(4)});
    const auto model = try_load(writer.bytes());
    REQUIRE_FALSE(model.has_value());
    CHECK(model.error().message == "random: tensor `blk.0.surprise` belongs to nothing");
}

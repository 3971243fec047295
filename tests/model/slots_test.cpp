#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace etna;
using namespace etna::test;

// Sampled ids that stay on the device, several submissions in flight, and the other output kinds.
namespace {

constexpr uint32_t slots_vocabulary = 300;

Bytes slots_model() {
    return random_model(
        {.vocabulary = slots_vocabulary, .tokenizer = RandomTokenizer::none, .head_scale = 2.0F});
}

/// The first number of an F32 tensor becomes a NaN.
void spoil_first_number(Bytes& bytes, const std::string& name) {
    const auto file = gguf::File::parse(bytes, "random");
    REQUIRE(file);
    const gguf::Tensor* tensor = file->find_tensor(name);
    REQUIRE(tensor != nullptr);
    REQUIRE(tensor->type == gguf::TensorType::f32);
    const float nan = NAN;
    std::memcpy(bytes.data() + tensor->offset, &nan, sizeof nan);
}

engine::Row row_at(uint32_t index, engine::RowInput input, uint32_t value,
                   const sampling::Parameters& parameters, uint32_t slot) {
    engine::Row row;
    row.input = input;
    row.kind = index == 0 ? engine::RowKind::prefill : engine::RowKind::decode;
    row.output_kind = engine::OutputKind::sampled;
    row.value = value;
    row.set_position(index);
    row.output_slot = slot;
    row.sampling = parameters;
    return row;
}

/// `count` tokens after token 1, each fed by the host.
std::vector<TokenId> host_fed(engine::Executor& executor, uint32_t count,
                              const sampling::Parameters& parameters) {
    const std::vector<engine::PageId> pages{0, 1, 2};
    std::vector<TokenId> tokens{1};
    for (uint32_t i = 0; i < count; ++i) {
        const engine::Batch batch{.copies = {},
                                  .sequences = {{.pages = {pages}}},
                                  .rows = {row_at(i, engine::RowInput::token, tokens.back(), parameters, 0)}};
        tokens.push_back(run_batch(executor, batch).rows.at(0).token);
    }
    return tokens;
}

/// The same with each token left in a slot for the next step, which is submitted before the output is read.
std::vector<TokenId> slot_fed(engine::Executor& executor, uint32_t count,
                              const sampling::Parameters& parameters) {
    const std::vector<engine::PageId> pages{5, 4, 3};
    std::vector<TokenId> tokens{1};
    std::vector<engine::Ticket> unread;
    const auto read_oldest = [&] {
        const auto outputs = executor.wait(unread.front());
        REQUIRE(outputs);
        unread.erase(unread.begin());
        tokens.push_back(outputs->rows.at(0).token);
    };
    for (uint32_t i = 0; i < count; ++i) {
        const auto input = i == 0 ? engine::RowInput::token : engine::RowInput::slot;
        const uint32_t value = i == 0 ? 1 : (i - 1) % 2;
        const engine::Batch batch{.copies = {},
                                  .sequences = {{.pages = {pages}}},
                                  .rows = {row_at(i, input, value, parameters, i % 2)}};
        const auto ticket = executor.submit(batch);
        REQUIRE(ticket);
        unread.push_back(*ticket);
        if (unread.size() == executor.limits().in_flight_max)
            read_oldest();
    }
    while (!unread.empty())
        read_oldest();
    return tokens;
}

} // namespace

TEST_CASE("tokens fed through slots equal those fed by the host", "[device]") {
    ModelCase tested(slots_model(), {});
    REQUIRE(tested.executor().limits().in_flight_max >= 2);
    const sampling::Parameters greedy{.temperature = 0};
    const auto expected = tested.twin().continue_greedily(std::vector<TokenId>{1}, 70);
    const auto host = host_fed(tested.executor(), 70, greedy);
    CHECK(std::vector<TokenId>(host.begin() + 1, host.end()) == expected);
    CHECK(slot_fed(tested.executor(), 70, greedy) == host);

    const sampling::Parameters drawn{
        .temperature = 1.1F, .top_k = 30, .top_p = 0.9F, .min_p = 0.01F, .seed = 42};
    const auto host_drawn = host_fed(tested.executor(), 70, drawn);
    CHECK(host_drawn != host);
    CHECK(slot_fed(tested.executor(), 70, drawn) == host_drawn);
}

TEST_CASE("candidates, log-sum-exp and logits describe the same distribution", "[device]") {
    ModelCase tested(slots_model(), {});
    const std::vector<engine::PageId> first{0};
    const std::vector<engine::PageId> second{1};
    engine::Batch batch{.copies = {}, .sequences = {{.pages = {first}}, {.pages = {second}}}, .rows = {}};
    for (uint32_t sequence = 0; sequence < 2; ++sequence) {
        engine::Row row;
        row.value = 7;
        row.sequence = sequence;
        row.output_kind = sequence == 0 ? engine::OutputKind::logits : engine::OutputKind::candidates;
        row.candidates = sequence == 0 ? 0 : 9;
        batch.rows.push_back(row);
    }
    const engine::Outputs outputs = run_batch(tested.executor(), batch);
    const std::vector<float>& logits = outputs.rows.at(0).logits;
    const auto& candidates = outputs.rows.at(1).candidates;
    REQUIRE(logits.size() == slots_vocabulary);
    REQUIRE(candidates.size() == 9);
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(static_cast<double>(logit));
    CHECK(outputs.rows[1].log_sum_exp == Approx(std::log(sum)).epsilon(1e-5));
    std::vector<float> sorted = logits;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        CHECK(candidates[i].logit == sorted[i]);
        CHECK(logits[candidates[i].token] == candidates[i].logit);
    }
}

TEST_CASE("tokens that a file suppresses are never sampled, and other logits stay", "[device]") {
    const RandomModelOptions options{
        .vocabulary = slots_vocabulary, .tokenizer = RandomTokenizer::none, .head_scale = 2.0F};
    std::vector<int32_t> suppressed{-1, static_cast<int32_t>(slots_vocabulary)}; // outside: without effect
    ModelCase plain(slots_model(), {});
    const sampling::Parameters greedy{.temperature = 0};
    auto banned = host_fed(plain.executor(), 30, greedy); // 1 and what the model says
    for (TokenId token = 100; token < 160; ++token)       // more than one dispatch takes
        banned.push_back(token);
    for (const TokenId token : banned)
        suppressed.push_back(static_cast<int32_t>(token));
    GgufWriter writer = random_model_writer(options);
    writer.add_array("tokenizer.ggml.suppress_tokens", suppressed);
    ModelCase tested(writer.bytes(), {});

    const std::vector<engine::PageId> pages{0};
    engine::Batch batch{.copies = {},
                        .sequences = {{.pages = {pages}}},
                        .rows = {row_at(0, engine::RowInput::token, 7, greedy, 0)}};
    batch.rows[0].output_kind = engine::OutputKind::logits;
    std::vector<float> expected = run_batch(plain.executor(), batch).rows.at(0).logits;
    for (const TokenId token : banned)
        expected.at(token) = -INFINITY;
    CHECK(run_batch(tested.executor(), batch).rows.at(0).logits == expected);

    batch.rows[0].output_kind = engine::OutputKind::sampled;
    const auto best = std::ranges::max_element(expected) - expected.begin();
    CHECK(run_batch(tested.executor(), batch).rows.at(0).token == best);
    for (const auto& parameters : {greedy, sampling::Parameters{.temperature = 5, .top_k = 64, .min_p = 0}}) {
        auto tokens = slot_fed(tested.executor(), 60, parameters);
        tokens.erase(tokens.begin()); // the first is the prompt
        for (const TokenId token : banned)
            CHECK(std::ranges::find(tokens, token) == tokens.end());
    }
}

TEST_CASE("submissions and tickets are refused out of order", "[device]") {
    ModelCase tested(slots_model(), {});
    engine::Executor& executor = tested.executor();
    const std::vector<engine::PageId> pages{0};
    const engine::Batch batch{.copies = {},
                              .sequences = {{.pages = {pages}}},
                              .rows = {row_at(0, engine::RowInput::token, 1, {.temperature = 0}, 0)}};
    CHECK(executor.wait({.value = 1}).error().kind == ErrorKind::invalid_argument);
    CHECK(executor.submit({}).error().kind == ErrorKind::invalid_argument);
    for (uint32_t i = 0; i < executor.limits().in_flight_max; ++i)
        REQUIRE(executor.submit(batch));
    CHECK(executor.submit(batch).error().kind == ErrorKind::busy);
    CHECK(executor.wait({.value = 2}).error().kind == ErrorKind::invalid_argument);
    CHECK(executor.wait({.value = 1}));
    CHECK(executor.wait({.value = 1}).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("a NaN is an error that names model and layer, and does not affect other rows", "[device]") {
    struct NanCase {
        std::string tensor;
        std::string part;
    };
    const std::vector<NanCase> cases{
        {"token_embd.weight", "the token embedding"},
        {"blk.0.attn_output.weight", "the attention of layer 0"},
        {"blk.0.ffn_down.weight", "the feed-forward part of layer 0"},
        {"blk.1.attn_v.weight", "the attention of layer 1"},
        {"blk.1.ffn_norm.weight", "the feed-forward part of layer 1"},
        {"output.weight", "the head"},
    };
    for (const NanCase& one : cases) {
        INFO(one.tensor);
        Bytes bytes = random_model({.vocabulary = slots_vocabulary, .tokenizer = RandomTokenizer::none});
        spoil_first_number(bytes, one.tensor);
        ModelCase tested(std::move(bytes), {});
        const std::vector<engine::PageId> first{0};
        const std::vector<engine::PageId> second{1};
        auto bad = row_at(0, engine::RowInput::token, 0, {.temperature = 0}, 0);
        auto other = row_at(0, engine::RowInput::token, 1, {.temperature = 0}, 1);
        other.sequence = 1;
        const auto outputs = run_batch(
            tested.executor(),
            {.copies = {}, .sequences = {{.pages = {first}}, {.pages = {second}}}, .rows = {bad, other}});
        REQUIRE(outputs.rows[0].error.has_value());
        CHECK(outputs.rows[0].error->kind == ErrorKind::internal);
        CHECK(outputs.rows[0].error->message ==
              "test model: the logits are not numbers; the first bad value came from " + one.part);
        // Only the embedding's first row belongs to one token alone.
        CHECK(outputs.rows[1].error.has_value() == (one.tensor != "token_embd.weight"));
    }
}

TEST_CASE("a NaN in an earlier row reaches the rows that attend to it, in every cache format", "[device]") {
    using enum kernels::CacheFormat;
    for (const auto format : {f32, f16, q8_0}) {
        Bytes bytes = random_model({.vocabulary = slots_vocabulary, .tokenizer = RandomTokenizer::none});
        spoil_first_number(bytes, "token_embd.weight");
        ModelCase tested(std::move(bytes), {.family = std::nullopt, .cache = {format, format}});
        const std::vector<engine::PageId> pages{0};
        engine::Row first = row_at(0, engine::RowInput::token, 0, {}, 0);
        first.output_kind = engine::OutputKind::none;
        const engine::Row second = row_at(1, engine::RowInput::token, 1, {.temperature = 0}, 0);
        run_batch(tested.executor(), {.copies = {}, .sequences = {{.pages = {pages}}}, .rows = {first}});
        const auto outputs =
            run_batch(tested.executor(), {.copies = {}, .sequences = {{.pages = {pages}}}, .rows = {second}});
        INFO("cache format " << to_string(format));
        REQUIRE(outputs.rows[0].error.has_value());
        CHECK(outputs.rows[0].error->message.find("the attention of layer 0") != std::string::npos);
    }
}

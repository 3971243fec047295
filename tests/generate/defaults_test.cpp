#include "core/base/log.hpp"
#include "core/generate/defaults.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <limits>
#include <set>

using namespace etna;

namespace {

sampling::Parameters defaults_with(const std::function<void(test::GgufWriter&)>& fill) {
    test::GgufWriter writer;
    writer.add("general.architecture", "llama");
    fill(writer);
    const test::Bytes bytes = writer.bytes();
    return generate::with_overrides({},
                                    generate::recommended_sampling(gguf::File::parse(bytes, "test").value()));
}

} // namespace

TEST_CASE("without advice from the model, etna's defaults hold") {
    const auto parameters = defaults_with([](auto&) {});
    REQUIRE(parameters.temperature == 0.8F);
    REQUIRE(parameters.top_k == 40);
    REQUIRE(parameters.top_p == 0.95F);
    REQUIRE(parameters.min_p == 0.05F);
}

TEST_CASE("the model's advice counts where it makes sense") {
    const auto parameters = defaults_with([](auto& writer) {
        writer.add("general.sampling.temp", 0.6F);
        writer.add("general.sampling.top_k", int32_t{20});
        writer.add("general.sampling.top_p", 0.9F);
        writer.add("general.sampling.min_p", 0.0F);
    });
    REQUIRE(parameters.temperature == 0.6F);
    REQUIRE(parameters.top_k == 20);
    REQUIRE(parameters.top_p == 0.9F);
    REQUIRE(parameters.min_p == 0.0F);

    const auto nonsense = defaults_with([](auto& writer) {
        writer.add("general.sampling.temp", std::numeric_limits<float>::quiet_NaN());
        writer.add("general.sampling.top_k", int32_t{-1});
        writer.add("general.sampling.top_p", 0.0F);
        writer.add("general.sampling.min_p", 1.5F);
    });
    REQUIRE(nonsense.temperature == 0.8F);
    REQUIRE(nonsense.top_k == 40);
    REQUIRE(nonsense.top_p == 0.95F);
    REQUIRE(nonsense.min_p == 0.05F);
}

TEST_CASE("advice that cannot be followed is told") {
    std::vector<std::string> messages;
    set_log_sink([&](LogLevel level, std::string_view message) {
        CHECK(level == LogLevel::warning);
        messages.emplace_back(message);
    });
    const auto parameters = defaults_with([](auto& writer) {
        writer.add("general.sampling.temp", "0.6");
        writer.add("general.sampling.top_p", 2.0F);
    });
    set_log_sink({});
    REQUIRE(parameters.temperature == 0.8F);
    REQUIRE(messages ==
            std::vector<std::string>{"test: ignoring general.sampling.temp, which is not a number",
                                     "test: ignoring general.sampling.top_p = 2, which is out of range"});
}

TEST_CASE("advice on XTC and the repetition penalty counts too, where it makes sense") {
    const auto parameters = defaults_with([](auto& writer) {
        writer.add("general.sampling.xtc_probability", 0.5F);
        writer.add("general.sampling.xtc_threshold", 0.2F);
        writer.add("general.sampling.penalty_repeat", 1.1F);
        writer.add("general.sampling.penalty_last_n", int32_t{-1});
    });
    REQUIRE(parameters.xtc_probability == 0.5F);
    REQUIRE(parameters.xtc_threshold == 0.2F);
    REQUIRE(parameters.repetition_penalty == 1.1F);
    REQUIRE(parameters.repetition_window_tokens == sampling::full_history);
    const auto nonsense = defaults_with([](auto& writer) {
        writer.add("general.sampling.xtc_probability", 1.5F);
        writer.add("general.sampling.penalty_repeat", 0.0F);
        writer.add("general.sampling.penalty_last_n", int32_t{-2});
    });
    REQUIRE(nonsense.xtc_probability == 0);
    REQUIRE(nonsense.repetition_penalty == 1);
    REQUIRE(nonsense.repetition_window_tokens == 64);
}

TEST_CASE("every wish is heard") {
    const generate::SamplingOverrides overrides{.temperature = 1,
                                                .top_k = 2,
                                                .top_p = 0.3F,
                                                .min_p = 0.4F,
                                                .typical_p = 0.5F,
                                                .top_n_sigma = 6,
                                                .xtc_probability = 0.7F,
                                                .xtc_threshold = 0.8F,
                                                .min_keep = 9,
                                                .repetition_penalty = 10,
                                                .repetition_window_tokens = 11,
                                                .presence_penalty = 12,
                                                .presence_window_tokens = 13,
                                                .frequency_penalty = 14,
                                                .frequency_window_tokens = 15,
                                                .dry_multiplier = 16,
                                                .dry_base = 17,
                                                .dry_allowed_length = 18,
                                                .dry_window_tokens = 19};
    const sampling::Parameters parameters = generate::with_overrides({}, overrides);
    REQUIRE(parameters.temperature == 1);
    REQUIRE(parameters.top_k == 2);
    REQUIRE(parameters.top_p == 0.3F);
    REQUIRE(parameters.min_p == 0.4F);
    REQUIRE(parameters.typical_p == 0.5F);
    REQUIRE(parameters.top_n_sigma == 6);
    REQUIRE(parameters.xtc_probability == 0.7F);
    REQUIRE(parameters.xtc_threshold == 0.8F);
    REQUIRE(parameters.min_keep == 9);
    REQUIRE(parameters.repetition_penalty == 10);
    REQUIRE(parameters.repetition_window_tokens == 11);
    REQUIRE(parameters.presence_penalty == 12);
    REQUIRE(parameters.presence_window_tokens == 13);
    REQUIRE(parameters.frequency_penalty == 14);
    REQUIRE(parameters.frequency_window_tokens == 15);
    REQUIRE(parameters.dry_multiplier == 16);
    REQUIRE(parameters.dry_base == 17);
    REQUIRE(parameters.dry_allowed_length == 18);
    REQUIRE(parameters.dry_window_tokens == 19);
    REQUIRE(generate::with_overrides({.dry_base = 3}, {}).dry_base == 3);
}

TEST_CASE("wishes come before advice") {
    const auto parameters =
        generate::with_overrides({.temperature = 0.6F, .top_k = 20}, {.temperature = 0, .min_p = 0.1F});
    REQUIRE(parameters.temperature == 0);
    REQUIRE(parameters.top_k == 20);
    REQUIRE(parameters.min_p == 0.1F);
}

TEST_CASE("random seeds differ") {
    std::set<uint32_t> seeds;
    for (int i = 0; i < 16; ++i)
        seeds.insert(generate::random_seed());
    REQUIRE(seeds.size() > 8);
}

#include "core/engine/device/device_executor.hpp"
#include "core/gguf/file.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/shared_library.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

// Real files against greedy text from an independent float64 computation.
namespace {

struct Run {
    std::vector<TokenId> prompt;
    std::vector<TokenId> tokens; ///< prompt and continuation
};

nlohmann::json expected_json(const std::string& name) {
    std::ifstream file(ETNA_TEST_DATA "/models/" + name + ".expected.json");
    REQUIRE(file);
    return nlohmann::json::parse(file);
}

std::vector<TokenId> continue_greedily(engine::Executor& executor, const std::vector<TokenId>& prompt,
                                       std::size_t length) {
    std::vector<engine::PageId> pages(length / executor.limits().page_tokens + 1);
    for (std::size_t i = 0; i < pages.size(); ++i)
        pages[i] = static_cast<engine::PageId>(i);
    std::vector<TokenId> tokens = prompt;
    uint32_t done = 0;
    while (tokens.size() < length) {
        engine::Batch batch{.copies = {}, .sequences = {{.pages = {pages}}}, .rows = {}};
        for (; done < tokens.size(); ++done) {
            engine::Row row;
            row.kind = done < prompt.size() ? engine::RowKind::prefill : engine::RowKind::decode;
            row.value = tokens[done];
            row.set_position(done);
            batch.rows.push_back(row);
        }
        batch.rows.back().output_kind = engine::OutputKind::sampled;
        batch.rows.back().sampling.temperature = 0;
        tokens.push_back(run_batch(executor, batch).rows.at(0).token);
    }
    return tokens;
}

void check_runs(const std::string& name, const std::vector<Run>& runs, std::size_t generated_max) {
    const auto file = gguf::File::open(ETNA_TEST_DATA "/models/" + name + ".gguf");
    REQUIRE(file);
    for (std::size_t i = 0; i < all_families.size(); ++i) {
        const kernels::PlanFamily family = all_families[i];
        INFO(name << ", planned as " << kernels::to_string(family));
        auto executor =
            engine::create_device_executor(shared_library({.family = family}), *file,
                                           {.sizes = {.context_tokens = 512}, .planned = {}, .progress = {}});
        if (!executor)
            FAIL(executor.error().message);
        for (const Run& run : in_turn(runs, i)) {
            const std::size_t length = std::min(run.tokens.size(), run.prompt.size() + generated_max);
            REQUIRE(length > run.prompt.size());
            const std::vector<TokenId> expected(run.tokens.begin(),
                                                run.tokens.begin() + static_cast<std::ptrdiff_t>(length));
            CHECK(continue_greedily(**executor, run.prompt, length) == expected);
        }
    }
}

} // namespace

TEST_CASE("stories260K writes the expected text", "[device]") {
    const nlohmann::json expected = expected_json("stories260K");
    std::vector<Run> runs;
    for (const auto& run : expected["runs"]) {
        runs.push_back(
            {run["prompt_tokens"].get<std::vector<TokenId>>(), run["tokens"].get<std::vector<TokenId>>()});
    }
    REQUIRE(runs.size() >= 2);
    check_runs("stories260K", runs, 80);
}

TEST_CASE("llama-2-tiny-random writes the expected tokens", "[device]") {
    const nlohmann::json expected = expected_json("llama-2-tiny-random");
    check_runs("llama-2-tiny-random",
               {{expected["prompt_tokens"].get<std::vector<TokenId>>(),
                 expected["tokens"].get<std::vector<TokenId>>()}},
               80);
}

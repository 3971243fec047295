// Prompts as long as a context of 32,768 tokens, through the scheduler and on the device, against the CPU
// twin: windows, latents and recurrent states. Without ETNA_TEST_LONG=1 the context is shorter.

#include "core/engine/scheduler.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr uint32_t long_vocabulary = 61; ///< at most Limits::candidates_max, so that every logit is returned
constexpr uint32_t answer_tokens = 6;
constexpr uint32_t page_tokens = 32;
constexpr double long_tolerance = 2e-3; ///< that of reference_test.cpp for an F32 cache

uint32_t longest_context() {
    return runs_whole_products() ? 32768 : 2304;
}

/// As small as layers can be. The last layer has attention, or all are recurrent: see run_from().
RandomModelOptions long_model(RandomArchitecture architecture, uint32_t layers) {
    return {.architecture = architecture,
            .layers = layers,
            .embedding = 32,
            .heads = 1,
            .kv_heads = 1,
            .head_dim = 16,
            .feed_forward = 32,
            .vocabulary = long_vocabulary,
            .context = longest_context(),
            .window = 300,
            .latent_rank = 32,
            .query_rank = 0,
            .attention_interval = layers,
            .delta_key_heads = 1,
            .delta_value_heads = 2,
            .mamba_heads = 2,
            .mamba_groups = 1,
            .tokenizer = RandomTokenizer::none};
}

struct LongAnswer {
    std::vector<engine::TokenEvent> tokens;
    uint32_t cached_tokens = 0;
    uint32_t window_pages_max = 0; ///< that the sequence held in a group with a window
};

uint32_t held_window_pages(const engine::SequenceView& view, const engine::Limits& limits) {
    uint32_t most = 0;
    for (std::size_t group = 0; group < limits.groups.size(); ++group) {
        const auto& pages = view.pages[group];
        const auto released = std::count(pages.begin(), pages.end(), engine::no_page);
        if (limits.groups[group].kind == engine::CacheKind::sliding_window) {
            most =
                std::max(most, static_cast<uint32_t>(static_cast<std::ptrdiff_t>(pages.size()) - released));
        }
    }
    return most;
}

/// Runs requests sequentially, so that later ones find the cached pages of earlier ones.
class LongRunner {
public:
    explicit LongRunner(engine::Executor& executor)
        : executor_(executor), scheduler_(executor.limits(), {.hash_key = {1, 2}}) {}

    LongAnswer run(const std::vector<TokenId>& prompt) {
        engine::Request request{
            .prompt = prompt, .top_candidates = long_vocabulary, .max_tokens = answer_tokens};
        request.sampling.temperature = 0;
        REQUIRE(check(request, executor_.limits()).has_value());
        scheduler_.add(++requests_, std::move(request), engine::Clock::now());
        LongAnswer answer;
        engine::Updates updates;
        while (!scheduler_.is_idle()) {
            const engine::Batch& batch = scheduler_.schedule(updates, engine::Clock::now());
            REQUIRE_FALSE(batch.rows.empty());
            for (const engine::SequenceView& view : batch.sequences) {
                answer.window_pages_max =
                    std::max(answer.window_pages_max, held_window_pages(view, executor_.limits()));
            }
            REQUIRE(scheduler_.process_outputs(run_batch(executor_, batch), updates, engine::Clock::now())
                        .has_value());
            for (engine::Update& update : updates) {
                if (auto* token = std::get_if<engine::TokenEvent>(&update.event))
                    answer.tokens.push_back(std::move(*token));
                if (const auto* finished = std::get_if<engine::Finished>(&update.event))
                    answer.cached_tokens = finished->cached_tokens;
            }
            updates.clear();
        }
        return answer;
    }

private:
    engine::Executor& executor_;
    engine::Scheduler scheduler_;
    engine::RequestId requests_ = 0;
};

double log_sum_of(const reference::Vector& logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits)
        sum += std::exp(logit - largest);
    return largest + std::log(sum);
}

/// Every log-probability at every token of the answer.
void check_answer(const reference::ReferenceModel& twin, const std::vector<TokenId>& prompt,
                  const LongAnswer& answer) {
    REQUIRE(answer.tokens.size() == answer_tokens);
    std::vector<TokenId> tokens = prompt;
    for (std::size_t i = 0; i + 1 < answer.tokens.size(); ++i)
        tokens.push_back(answer.tokens[i].token);
    const auto expected = twin.run_from(prompt.size() - 1, tokens);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const engine::TokenEvent& event = answer.tokens[i];
        INFO("token " << i << " of the answer");
        REQUIRE(event.top.size() == long_vocabulary);
        CHECK(event.top.front().token == event.token);
        const double sum = log_sum_of(expected[i]);
        double worst = 0;
        for (const engine::Candidate& one : event.top) {
            const double difference =
                std::fabs((one.logit - event.log_sum_exp) - (expected[i][one.token] - sum));
            if (!(difference <= worst)) // NaN counts as worst
                worst = difference;
        }
        CHECK(worst <= long_tolerance);
    }
}

} // namespace

TEST_CASE("the end of a prompt as long as the context is the twin's", "[device]") {
    struct Case {
        std::string name;
        RandomModelOptions options;
        uint32_t window_tokens; ///< 0: none
        bool has_snapshots;
    };
    const auto index = GENERATE(range(0, 4));
    const Case tested = std::vector<Case>{
        {"gemma3, a window and full attention", long_model(RandomArchitecture::gemma3, 2), 300, false},
        {"deepseek2, latents", long_model(RandomArchitecture::deepseek2, 1), 0, false},
        {"qwen35, a delta net and attention", long_model(RandomArchitecture::qwen35, 2), 0, true},
        {"mamba2", long_model(RandomArchitecture::mamba2, 2), 0, true},
    }[static_cast<std::size_t>(index)];
    INFO(tested.name);
    ModelCase model(random_model(tested.options),
                    {.family = {},
                     .cache = {.keys = kernels::CacheFormat::f32, .values = kernels::CacheFormat::f32},
                     .pages = longest_context() / page_tokens + 2});
    const engine::Limits& limits = model.executor().limits();
    REQUIRE(limits.context_tokens == longest_context()); // the file's, because none was requested
    LongRunner runner(model.executor());
    const std::vector<TokenId> prompt = random_tokens(longest_context() - answer_tokens, long_vocabulary, 50);
    const LongAnswer answer = runner.run(prompt);
    CHECK(answer.cached_tokens == 0);
    check_answer(model.twin(), prompt, answer);

    // A prompt that diverges near its end.
    std::vector<TokenId> other(prompt.begin(), prompt.end() - 10);
    other.push_back((prompt[other.size()] + 1) % long_vocabulary);
    const LongAnswer again = runner.run(other);
    // Recurrent layers continue from the snapshot at the last full page of the first prompt.
    CHECK(again.cached_tokens ==
          (tested.has_snapshots ? (prompt.size() - 1) / page_tokens * page_tokens : other.size() - 1));
    check_answer(model.twin(), other, again);
    const uint32_t pages_max =
        tested.window_tokens == 0
            ? 0
            : engine::window_pages(tested.window_tokens, limits.batch_rows_max, limits.page_tokens);
    for (const LongAnswer& one : {answer, again}) {
        CHECK(one.window_pages_max <= pages_max);
        CHECK((one.window_pages_max > 0) == (pages_max > 0));
    }
}

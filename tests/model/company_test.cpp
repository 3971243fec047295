// Requests in company on the device, with scarce memory: each gets the bits that it gets alone.

#include "core/engine/prompt_lookup.hpp"
#include "core/engine/scheduler.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr uint32_t vocabulary = 300;

/// The tokens that one request received, by answer.
struct Received {
    std::map<uint32_t, std::vector<engine::TokenEvent>> answers;
    uint32_t cached_tokens = 0;
    uint32_t accepted_drafts = 0;
    uint32_t rejected_drafts = 0;
};

/// A scheduler over a device, which runs every request to its end.
class Company {
public:
    explicit Company(engine::Executor& executor)
        : executor_(executor), scheduler_(executor.limits(), {.hash_key = {1, 2}}) {}

    engine::RequestId add(engine::Request request) {
        REQUIRE(check(request, executor_.limits()).has_value());
        engine::make_draft_texts({&request, 1}, executor_.limits().context_tokens);
        scheduler_.add(++last_, std::move(request), engine::Clock::now());
        return last_;
    }

    /// Runs at most `steps` steps.
    void run(uint32_t steps = UINT32_MAX) {
        for (; steps > 0 && !scheduler_.is_idle(); --steps) {
            scheduler_.draft();
            const engine::Batch& batch = scheduler_.schedule(updates_, engine::Clock::now());
            if (!batch.rows.empty()) {
                rows_ += batch.rows.size();
                const engine::Outputs outputs = run_batch(executor_, batch);
                REQUIRE(scheduler_.process_outputs(outputs, updates_, engine::Clock::now()).has_value());
            }
            for (engine::Update& update : updates_)
                take(update);
            updates_.clear();
        }
    }

    [[nodiscard]] const Received& received(engine::RequestId id) const { return received_.at(id); }
    [[nodiscard]] uint64_t preemptions() const { return scheduler_.preemptions(); }
    [[nodiscard]] uint64_t rows() const { return rows_; }

private:
    void take(engine::Update& update) {
        Received& one = received_[update.request];
        if (auto* token = std::get_if<engine::TokenEvent>(&update.event)) {
            one.answers[update.answer].push_back(std::move(*token));
        } else {
            const auto& finished = std::get<engine::Finished>(update.event);
            INFO((finished.error ? finished.error->message : ""));
            REQUIRE(finished.reason == engine::FinishReason::length);
            one.cached_tokens = finished.cached_tokens;
            one.accepted_drafts = finished.accepted_drafts;
            one.rejected_drafts = finished.rejected_drafts;
        }
    }

    engine::Executor& executor_;
    engine::Scheduler scheduler_;
    engine::Updates updates_;
    engine::RequestId last_ = 0;
    uint64_t rows_ = 0;
    std::map<engine::RequestId, Received> received_;
};

Received alone(engine::Executor& executor, const engine::Request& request) {
    Company company(executor);
    const auto id = company.add(request);
    company.run();
    return company.received(id);
}

void check_equal(const Received& received, const Received& expected) {
    REQUIRE(received.answers.size() == expected.answers.size());
    for (const auto& [answer, events] : expected.answers) {
        const auto& own = received.answers.at(answer);
        REQUIRE(own.size() == events.size());
        for (std::size_t i = 0; i < events.size(); ++i) {
            INFO("answer " << answer << ", token " << i);
            CHECK(own[i].token == events[i].token);
            CHECK(own[i].logit == events[i].logit);
            CHECK(own[i].log_sum_exp == events[i].log_sum_exp);
        }
    }
}

constexpr uint32_t answer_length = 24; ///< past the end of the prompt's last page

/// Prompts of 75 tokens, the first 40 of them the same.
engine::Request request_number(uint32_t number) {
    engine::Request request{.prompt = random_tokens(40, vocabulary, 3), .max_tokens = answer_length};
    const auto own = random_tokens(35, vocabulary, 100 + number);
    request.prompt.insert(request.prompt.end(), own.begin(), own.end());
    request.sampling = {.temperature = number % 2 == 0 ? 0.0F : 1.2F, .top_k = 40, .seed = number};
    return request;
}

/// Drafts that are right, then wrong, then right again.
void predict(engine::Request& request, const Received& answer) {
    request.speculation = engine::Speculation{.tokens_max = 5};
    const auto& events = answer.answers.at(0);
    for (std::size_t i = 0; i < events.size(); ++i)
        request.speculation->prediction.push_back(i % 11 == 6 ? 0 : events[i].token);
}

Bytes model_of(RandomArchitecture architecture) {
    return random_model(
        {.architecture = architecture, .vocabulary = vocabulary, .tokenizer = RandomTokenizer::none});
}

} // namespace

TEST_CASE("requests that share scarce memory get the bits that they get alone", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCaseOptions options;
        options.pages = 7;
        ModelCase tested(model_of(architecture), options);
        std::vector<engine::Request> requests;
        std::vector<Received> expected;
        for (uint32_t i = 0; i < 6; ++i) {
            engine::Request request = request_number(i);
            if (i == 3)
                request.beams = engine::BeamOptions{.width = 3, .answers = 2};
            expected.push_back(alone(tested.executor(), request));
            if (i < 2)
                predict(request, expected.back());
            requests.push_back(std::move(request));
        }
        Company company(tested.executor());
        std::vector<engine::RequestId> ids;
        for (const engine::Request& request : requests) {
            ids.push_back(company.add(request));
            company.run(3);
        }
        company.run();
        uint32_t accepted_drafts = 0;
        uint32_t rejected_drafts = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            INFO("request " << i);
            check_equal(company.received(ids[i]), expected[i]);
            accepted_drafts += company.received(ids[i]).accepted_drafts;
            rejected_drafts += company.received(ids[i]).rejected_drafts;
        }
        CHECK(accepted_drafts > 0);
        CHECK(rejected_drafts > 0);
        const bool has_scarce_pages = architecture != RandomArchitecture::mamba2; // whose have no bytes
        CHECK((company.preemptions() > 0) == has_scarce_pages);
    }
}

TEST_CASE("the next turn computes new tokens only, and gives the bits of a full computation", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCase tested(model_of(architecture), {});
        ModelCase other(model_of(architecture), {}); // does not overwrite the conversation's pages
        Company company(tested.executor());
        engine::Request turn = request_number(1);
        turn.kinds.assign(turn.prompt.size(), engine::RowKind::prefill);
        for (uint32_t i = 0; i < 3; ++i) {
            const uint64_t rows = company.rows();
            const auto id = company.add(turn);
            company.run();
            const Received& received = company.received(id);
            // The last token of an answer was never an input; all others are cached.
            const uint64_t new_tokens = i == 0 ? turn.prompt.size() : 7 + 1;
            CHECK(company.rows() - rows == new_tokens + answer_length - 1);
            CHECK(received.cached_tokens == turn.prompt.size() - new_tokens);
            check_equal(received, alone(other.executor(), turn));
            for (const engine::TokenEvent& event : received.answers.at(0))
                turn.prompt.push_back(event.token);
            turn.kinds.resize(turn.prompt.size(), engine::RowKind::decode);
            const auto question = random_tokens(7, vocabulary, 50 + i);
            turn.prompt.insert(turn.prompt.end(), question.begin(), question.end());
            turn.kinds.resize(turn.prompt.size(), engine::RowKind::prefill);
        }
    }
}

TEST_CASE("a draft head changes no answer, in company with scarce memory", "[device]") {
    constexpr uint32_t few = 8; // so that some drafts of random weights are right
    uint32_t accepted_drafts = 0;
    uint32_t rejected_drafts = 0;
    for (const auto architecture :
         {RandomArchitecture::qwen35, RandomArchitecture::qwen35moe, RandomArchitecture::glm4moe}) {
        INFO(to_string(architecture));
        const Bytes bytes = random_model({.architecture = architecture,
                                          .vocabulary = few,
                                          .predicting_layers = 1,
                                          .tokenizer = RandomTokenizer::none});
        ModelCaseOptions options;
        options.has_draft_head = false;
        ModelCase plain(bytes, options);
        options.has_draft_head = true;
        options.pages = 7;
        ModelCase tested(bytes, options);
        CHECK_FALSE(plain.executor().limits().has_draft_head);
        Company company(tested.executor());
        std::vector<engine::RequestId> ids;
        std::vector<Received> expected;
        for (uint32_t i = 0; i < 6; ++i) {
            engine::Request request = request_number(i);
            for (TokenId& token : request.prompt)
                token %= few;
            request.top_candidates = i == 2 ? 3 : 0;
            if (i == 5)
                request.beams = engine::BeamOptions{.width = 3, .answers = 2};
            expected.push_back(alone(plain.executor(), request));
            if (i == 4) // sampled by the host, without drafts
                request.logit_bias = {{few - 1, 0.0F}};
            if (i != 3)
                request.speculation = engine::Speculation{.uses_head = true};
            ids.push_back(company.add(request));
            company.run(3);
        }
        company.run();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            INFO("request " << i);
            check_equal(company.received(ids[i]), expected[i]);
            accepted_drafts += company.received(ids[i]).accepted_drafts;
            rejected_drafts += company.received(ids[i]).rejected_drafts;
        }
        CHECK(company.preemptions() > 0);
    }
    CHECK(accepted_drafts > 0);
    CHECK(rejected_drafts > 0);
}

#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

using namespace etna;
using namespace etna::test;

// Recurrent states in slots: drafts that are rejected, copies, slots that are used again. Logits are compared
// bit by bit with those of a sequence that is alone and has neither.
namespace {

constexpr uint32_t state_vocabulary = 200;
constexpr uint32_t prompt_tokens = 21;
constexpr std::array recurrent_architectures{
    RandomArchitecture::qwen35,        RandomArchitecture::qwen3next,      RandomArchitecture::qwen35moe,
    RandomArchitecture::falcon_h1,     RandomArchitecture::lfm2,           RandomArchitecture::lfm2moe,
    RandomArchitecture::granitehybrid, RandomArchitecture::nemotron_h_moe, RandomArchitecture::mamba2};

Bytes state_model(RandomArchitecture architecture) {
    return random_model({.architecture = architecture,
                         .layers = 3,
                         .vocabulary = state_vocabulary,
                         .delta_key_dim = 20,
                         .delta_value_dim = 12,
                         .matrices = WeightFormat::f16,
                         .tokenizer = RandomTokenizer::none});
}

/// A sequence that an executor runs step by step, with its own pages and slot.
class Sequence {
public:
    Sequence(engine::Executor& executor, engine::StateSlot slot, const std::vector<engine::PageId>& pages)
        : executor_(&executor), slot_(slot), pages_(executor.limits(), pages) {}

    /// Returns the logits of `tokens` at the next positions. The first `kept` of them are accepted.
    Logits step(const std::vector<TokenId>& tokens, std::size_t kept, engine::RowKind kind,
                engine::StateUpdate update, const std::vector<engine::StateCopy>& copies = {}) {
        engine::Batch batch{.copies = {},
                            .state_copies = copies,
                            .sequences = {pages_.view(slot_, committed_, update)},
                            .rows = {}};
        for (uint32_t i = 0; i < tokens.size(); ++i) {
            engine::Row row;
            row.kind = kind;
            row.output_kind = engine::OutputKind::logits;
            row.value = tokens[i];
            row.set_position(done_ + i);
            batch.rows.push_back(row);
        }
        Logits logits;
        for (engine::RowOutput& output : run_batch(*executor_, batch).rows)
            logits.push_back(std::move(output.logits));
        committed_ =
            update == engine::StateUpdate::commit ? done_ + static_cast<uint32_t>(tokens.size()) : done_;
        done_ += static_cast<uint32_t>(kept);
        return logits;
    }

    Logits prompt(const std::vector<TokenId>& tokens) {
        return step(tokens, tokens.size(), engine::RowKind::prefill, engine::StateUpdate::commit);
    }

    /// Continues from the state in another slot, whose pages are the same.
    void continue_in(engine::StateSlot slot) { slot_ = slot; }

private:
    engine::Executor* executor_;
    engine::StateSlot slot_;
    GroupTables pages_;
    uint32_t done_ = 0;
    uint32_t committed_ = 0; ///< positions in the state
};

std::vector<TokenId> part(const std::vector<TokenId>& tokens, std::size_t first, std::size_t count) {
    const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    return {from, from + static_cast<std::ptrdiff_t>(std::min(count, tokens.size() - first))};
}

/// The logits of decode rows for tokens after the prompt, one a step.
Logits plainly(engine::Executor& executor, const std::vector<TokenId>& tokens) {
    Sequence sequence(executor, 7, {0, 1});
    sequence.prompt(part(tokens, 0, prompt_tokens));
    Logits logits;
    for (std::size_t i = prompt_tokens; i < tokens.size(); ++i) {
        logits.push_back(
            sequence.step({tokens[i]}, 1, engine::RowKind::decode, engine::StateUpdate::commit)[0]);
    }
    return logits;
}

} // namespace

TEST_CASE("rejected drafts leave no trace in recurrent states", "[device]") {
    for (std::size_t i = 0; i < all_families.size(); ++i) {
        const kernels::PlanFamily family = all_families[i];
        const auto architecture = recurrent_architectures[i % recurrent_architectures.size()];
        INFO(to_string(architecture) << ", planned as " << kernels::to_string(family));
        ModelCase tested(state_model(architecture), {.family = family});
        const auto tokens = random_tokens(60, state_vocabulary, 40);
        const Logits expected = plainly(tested.executor(), tokens);
        const uint32_t drafts_max = tested.executor().limits().pending_rows_max;
        REQUIRE(drafts_max == 9);

        std::mt19937 random(41);
        Sequence sequence(tested.executor(), 2, {4, 3});
        sequence.prompt(part(tokens, 0, prompt_tokens));
        for (std::size_t done = prompt_tokens; done < tokens.size();) {
            // Some steps commit, as steps without drafts may; some accept no row.
            const bool commits = random() % 5 == 0;
            std::vector<TokenId> rows = part(tokens, done, commits ? 1 : 1 + random() % drafts_max);
            const std::size_t kept = commits ? 1 : random() % (rows.size() + 1);
            for (std::size_t row = kept; row < rows.size(); ++row)
                rows[row] = (rows[row] + 1) % state_vocabulary;
            const Logits logits =
                sequence.step(rows, kept, engine::RowKind::decode,
                              commits ? engine::StateUpdate::commit : engine::StateUpdate::defer);
            for (std::size_t row = 0; row < kept; ++row)
                REQUIRE(logits[row] == expected[done + row - prompt_tokens]);
            done += kept;
        }
    }
}

TEST_CASE("a copied state continues as its original, which it does not change", "[device]") {
    const auto architecture = GENERATE(from_range(recurrent_architectures));
    INFO(to_string(architecture));
    ModelCase tested(state_model(architecture), {});
    engine::Executor& executor = tested.executor();
    const auto tokens = random_tokens(40, state_vocabulary, 42);
    const Logits expected = plainly(executor, tokens);
    const engine::StateSlot snapshot = executor.limits().state_slots - 1;

    Sequence sequence(executor, 1, {2, 3});
    sequence.prompt(part(tokens, 0, prompt_tokens));
    Sequence again = sequence;
    const auto decode = [&](Sequence& one, TokenId token, const std::vector<engine::StateCopy>& copies) {
        return one.step({token}, 1, engine::RowKind::decode, engine::StateUpdate::defer, copies)[0];
    };
    // Another token after the prompt, whose state was copied in the same batch.
    const auto other = decode(sequence, (tokens[prompt_tokens] + 1) % state_vocabulary,
                              {{.from = 1, .to = snapshot}, {.from = 1, .to = 4}});
    CHECK(other != expected[0]);
    again.continue_in(4);
    for (std::size_t i = prompt_tokens; i < tokens.size(); ++i)
        REQUIRE(decode(again, tokens[i], {}) == expected[i - prompt_tokens]);
    Sequence last(executor, 1, {2, 3});
    last.prompt(part(tokens, 0, prompt_tokens));
    last.continue_in(0);
    REQUIRE(decode(last, tokens[prompt_tokens], {{.from = snapshot, .to = 0}}) == expected[0]);
}

TEST_CASE("a slot that is used again begins without a state", "[device]") {
    ModelCase tested(state_model(RandomArchitecture::qwen35), {});
    const auto tokens = random_tokens(30, state_vocabulary, 43);
    const Logits expected = plainly(tested.executor(), tokens);
    for (uint32_t seed = 50; seed < 52; ++seed) {
        Sequence earlier(tested.executor(), 3, {2, 3});
        earlier.prompt(random_tokens(25, state_vocabulary, seed));
        earlier.step({5, 6}, 2, engine::RowKind::decode, engine::StateUpdate::defer); // stays pending
        Sequence sequence(tested.executor(), 3, {2, 3});
        sequence.prompt(part(tokens, 0, prompt_tokens));
        CHECK(sequence.step({tokens[prompt_tokens]}, 1, engine::RowKind::decode,
                            engine::StateUpdate::defer)[0] == expected[0]);
    }
}

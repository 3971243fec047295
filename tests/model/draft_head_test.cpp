#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/vulkan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

// Draft heads (DeepSeek-V3, arXiv 2412.19437, 2.2) against the CPU twin, and without effect on samples.
namespace {

constexpr uint32_t drafted_vocabulary = 200;

RandomModelOptions with_head(RandomArchitecture architecture) {
    return {.architecture = architecture,
            .layers = 3,
            .vocabulary = drafted_vocabulary,
            .rotated = 8,
            .delta_key_dim = 20,
            .delta_value_dim = 12,
            .predicting_layers = 1,
            .tokenizer = RandomTokenizer::none};
}

struct HeadModel {
    std::string name;
    Bytes bytes;
    double tolerance = 2e-3;
};

std::vector<HeadModel> head_models() {
    RandomModelOptions half = with_head(RandomArchitecture::qwen35);
    half.matrices = WeightFormat::f16;
    half.own_draft_ends = true;
    half.predicting_layers = 2; // the second is ignored
    RandomModelOptions tiled = tiled_model(RandomArchitecture::qwen35, WeightFormat::q8_0);
    tiled.vocabulary = drafted_vocabulary;
    tiled.predicting_layers = 1;
    RandomModelOptions latent_head = with_head(RandomArchitecture::deepseek2);
    latent_head.rotated = 0;
    RandomModelOptions tied = with_head(RandomArchitecture::glm4moe);
    tied.head = HeadKind::tied;
    tied.matrices = WeightFormat::q8_0;
    return {
        {"qwen35 F32", random_model(with_head(RandomArchitecture::qwen35))},
        {"qwen35 F16, own table and head", random_model(half), 2e-2},
        {"qwen35 Q8_0 in tiles", random_model(tiled), 2e-2},
        {"qwen35moe F32", random_model(with_head(RandomArchitecture::qwen35moe))},
        {"qwen3next F32", random_model(with_head(RandomArchitecture::qwen3next))},
        {"glm4moe F32", random_model(with_head(RandomArchitecture::glm4moe))},
        {"glm4moe Q8_0, tied", random_model(tied), 2e-2},
        {"deepseek2 F32", random_model(latent_head)},
        {"nemotron_h_moe F32", random_model(with_head(RandomArchitecture::nemotron_h_moe))},
    };
}

/// Outputs of a script, by position.
using Steps = std::vector<engine::RowOutput>;

/// Runs scripts together, with the largest logit of every row as its sample. The last row of each is the only
/// one whose next token is its own sample.
class DraftConductor {
public:
    DraftConductor(engine::Executor& executor, const std::vector<Script>& scripts, bool drafts)
        : executor_(executor), scripts_(scripts), drafts_(drafts), done_(scripts.size()),
          steps_(scripts.size()) {
        engine::PageId next = 0;
        for (const Script& script : scripts) {
            std::vector<engine::PageId> pages;
            for (uint32_t position = 0; position < script.tokens.size();
                 position += executor.limits().page_tokens)
                pages.push_back(next++);
            std::reverse(pages.begin(), pages.end());
            tables_.emplace_back(executor.limits(), pages);
        }
    }

    std::vector<Steps> run() {
        while (step()) {
        }
        return std::move(steps_);
    }

private:
    bool step() {
        engine::Batch batch;
        batch.runs_draft_head = drafts_;
        std::vector<uint32_t> owners;
        for (uint32_t i = 0; i < scripts_.size(); ++i)
            add_rows(batch, i, owners);
        if (batch.rows.empty())
            return false;
        engine::Outputs outputs = run_batch(executor_, batch);
        REQUIRE(outputs.rows.size() == owners.size());
        for (std::size_t row = 0; row < owners.size(); ++row)
            steps_[owners[row]].push_back(std::move(outputs.rows[row]));
        return true;
    }

    void add_rows(engine::Batch& batch, uint32_t i, std::vector<uint32_t>& owners) {
        const Script& script = scripts_[i];
        const uint32_t first = done_[i];
        const auto length = static_cast<uint32_t>(script.tokens.size());
        const bool is_prompt = first < script.prompt;
        const uint32_t end =
            std::min(is_prompt ? std::min(first + script.chunk, script.prompt) : first + 1, length);
        batch.sequences.push_back(tables_[i].view(i, end > first ? first : 0));
        for (; done_[i] < end; ++done_[i]) {
            engine::Row row;
            row.kind = is_prompt ? engine::RowKind::prefill : engine::RowKind::decode;
            row.value = script.tokens[done_[i]];
            row.sequence = i;
            row.set_position(done_[i]);
            row.output_kind = engine::OutputKind::sampled;
            row.sampling.temperature = 0;
            row.output_slot = static_cast<uint32_t>(batch.rows.size());
            row.requests_draft = drafts_;
            if (done_[i] + 1 < length)
                row.next_token = script.tokens[done_[i] + 1];
            batch.rows.push_back(row);
            owners.push_back(i);
        }
    }

    engine::Executor& executor_;
    const std::vector<Script>& scripts_;
    bool drafts_;
    std::vector<uint32_t> done_;
    std::vector<GroupTables> tables_;
    std::vector<Steps> steps_;
};

std::vector<Script> scripts() {
    return {
        {.tokens = random_tokens(50, drafted_vocabulary, 1), .prompt = 45, .chunk = 17},
        {.tokens = random_tokens(12, drafted_vocabulary, 2), .prompt = 1},
        {.tokens = random_tokens(37, drafted_vocabulary, 3), .prompt = 37, .chunk = 7},
    };
}

double log_sum_exp(const reference::Vector& logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits)
        sum += std::exp(logit - largest);
    return largest + std::log(sum);
}

/// The drafted tokens are the twin's likeliest, with its log-probabilities.
void check_drafts(const Steps& steps, const std::vector<reference::Vector>& expected, double tolerance) {
    REQUIRE(steps.size() == expected.size());
    double worst = 0;
    double worst_choice = 0;
    for (std::size_t position = 0; position < steps.size(); ++position) {
        const auto& draft = steps[position].draft;
        REQUIRE(draft);
        const reference::Vector& logits = expected[position];
        const double sum = log_sum_exp(logits);
        worst =
            std::max(worst, std::fabs((draft->logit - draft->log_sum_exp) - (logits[draft->token] - sum)));
        const double largest = *std::max_element(logits.begin(), logits.end());
        worst_choice = std::max(worst_choice, largest - logits[draft->token]);
    }
    CHECK(worst <= tolerance);
    CHECK(worst_choice <= 2 * tolerance);
}

void check_model(const HeadModel& model, kernels::PlanFamily family) {
    INFO(model.name << ", planned as " << kernels::to_string(family));
    constexpr auto cache = kernels::CacheFormat::f32;
    ModelCase tested(model.bytes, {.family = family, .cache = {cache, cache}});
    REQUIRE(tested.executor().limits().has_draft_head);
    const std::vector<Script> all = scripts();
    const std::vector<Steps> steps = DraftConductor(tested.executor(), all, true).run();
    const std::vector<Steps> plain = DraftConductor(tested.executor(), all, false).run();
    for (std::size_t i = 0; i < all.size(); ++i) {
        INFO("script " << i);
        for (std::size_t position = 0; position < steps[i].size(); ++position) {
            CHECK(steps[i][position].token == plain[i][position].token);
            CHECK(steps[i][position].logit == plain[i][position].logit);
            CHECK_FALSE(plain[i][position].draft);
        }
        std::vector<TokenId> tokens = all[i].tokens;
        tokens.push_back(steps[i].back().token);
        const bool is_float = model.tolerance < 1e-2;
        const uint32_t on_units = is_float ? 0 : matrix_tokens(all[i], family);
        check_drafts(steps[i], tested.twin().run_drafts(tokens, {}, on_units), model.tolerance);
    }
}

} // namespace

TEST_CASE("draft heads agree with the twin in mixed batches, and change no sample", "[device]") {
    const std::vector<HeadModel> models = head_models();
    for (std::size_t i = 0; i < models.size(); ++i) {
        for (const kernels::PlanFamily family : families_of(i))
            check_model(models[i], family);
    }
}

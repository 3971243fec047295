#include "core/engine/device/recorded_steps.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/vulkan.hpp"

#include <array>
#include <cstring>
#include <vector>

using namespace etna;
using namespace etna::test;

// Steps of one shape run the commands that were recorded for the first of them.
namespace {

/// Counts the steps that ran earlier commands.
class CountingExecutor final : public engine::Executor {
public:
    explicit CountingExecutor(engine::Executor& executor) : executor_(executor) {}

    [[nodiscard]] const engine::Limits& limits() const override { return executor_.limits(); }
    Result<engine::Ticket> submit(const engine::Batch& batch) override { return executor_.submit(batch); }
    Result<engine::Outputs> wait(engine::Ticket ticket) override {
        auto outputs = executor_.wait(ticket);
        repeated_ += outputs && outputs->is_repeated ? 1 : 0;
        return outputs;
    }
    [[nodiscard]] uint32_t repeated() const { return repeated_; }

private:
    engine::Executor& executor_;
    uint32_t repeated_ = 0;
};

bool are_same_bits(const std::vector<Logits>& a, const std::vector<Logits>& b) {
    bool are_same = a.size() == b.size();
    for (std::size_t i = 0; are_same && i < a.size(); ++i) {
        are_same = a[i].size() == b[i].size();
        for (std::size_t k = 0; are_same && k < a[i].size(); ++k)
            are_same = std::memcmp(a[i][k].data(), b[i][k].data(), a[i][k].size() * sizeof(float)) == 0;
    }
    return are_same;
}

/// Sequences that begin and end at different steps, one beyond several KV splits and pages.
std::vector<Script> company() {
    return {{.tokens = random_tokens(150, 301, 1), .prompt = 120, .chunk = 40, .want_from = 110},
            {.tokens = random_tokens(40, 301, 2), .prompt = 5, .chunk = 5, .want_from = 0},
            {.tokens = random_tokens(24, 301, 3), .prompt = 17, .chunk = 9, .want_from = 9}};
}

/// Steps of an executor with generated rows of sequences 0 and 1, whose pages are 0 to 7 and 8 to 15.
class Steps {
public:
    explicit Steps(engine::Executor& executor) : executor_(executor) {
        for (engine::PageId page = 0; page < 8; ++page) {
            tables_[0].push_back(page);
            tables_[1].push_back(8 + page);
        }
    }

    /// Adds a row at `position`.
    Steps& row(uint32_t sequence, uint32_t position,
               const sampling::Parameters& parameters = {.temperature = 0}) {
        batch_.sequences.push_back({.pages = {tables_[sequence]}});
        engine::Row row;
        row.kind = engine::RowKind::decode;
        row.sequence = static_cast<uint32_t>(batch_.sequences.size() - 1);
        row.set_position(position);
        row.output_kind = engine::OutputKind::sampled;
        row.output_slot = row.sequence;
        row.sampling = parameters;
        batch_.rows.push_back(row);
        return *this;
    }
    Steps& copy(engine::PageId from, engine::PageId to) {
        batch_.copies.push_back({.group = 0, .from = from, .to = to});
        return *this;
    }
    Steps& swap_pages(uint32_t sequence) {
        std::swap(tables_[sequence][0], tables_[sequence][1]);
        return *this;
    }
    Steps& prefill() {
        batch_.rows.back().kind = engine::RowKind::prefill;
        return *this;
    }
    Steps& output(engine::OutputKind kind) {
        batch_.rows.back().output_kind = kind;
        return *this;
    }

    /// Runs the step in each submission's memory; returns how many times it was not recorded.
    uint32_t repeated() {
        uint32_t count = 0;
        for (uint32_t i = 0; i < executor_.limits().in_flight_max; ++i)
            count += run_batch(executor_, batch_).is_repeated ? 1 : 0;
        batch_ = {};
        return count;
    }

private:
    engine::Executor& executor_;
    std::array<std::vector<engine::PageId>, 2> tables_;
    engine::Batch batch_;
};

} // namespace

TEST_CASE("repeated commands give the bits of commands recorded for the step", "[device]") {
    const std::array architectures{RandomArchitecture::qwen3, RandomArchitecture::gemma3,
                                   RandomArchitecture::deepseek2, RandomArchitecture::qwen35};
    for (std::size_t i = 0; i < architectures.size(); ++i) {
        RandomModelOptions options = tiled_model(architectures[i], WeightFormat::q8_0);
        options.context = 600;
        const Bytes bytes = random_model(options);
        for (const auto family : in_turn(all_families, i)) {
            INFO(to_string(architectures[i]) << ", planned as " << kernels::to_string(family));
            ModelCase recording(bytes, {.family = family, .timestamps = true});
            CountingExecutor always(recording.executor());
            const std::vector<Logits> expected = run_together(always, company());
            CHECK(always.repeated() == 0);

            ModelCase repeating(bytes, {.family = family});
            CountingExecutor once(repeating.executor());
            CHECK(are_same_bits(run_together(once, company()), expected));
            const uint32_t first = once.repeated();
            CHECK(first > 10);
            CHECK(are_same_bits(run_together(once, company()), expected));
            CHECK(once.repeated() > 2 * first); // and those whose commands came from the first time
        }
    }
}

TEST_CASE("a step is recorded when its shape is new", "[device]") {
    ModelCase tested(random_model({.vocabulary = 301, .context = 600, .tokenizer = RandomTokenizer::none}),
                     {.family = kernels::PlanFamily::nvidia});
    const uint32_t all = tested.executor().limits().in_flight_max;
    const sampling::Parameters drawn{.temperature = 1, .top_k = 30, .seed = 7};
    Steps steps(tested.executor());
    CHECK(steps.row(0, 0).prefill().repeated() == 0);
    CHECK(steps.row(0, 0).prefill().repeated() == 0); // prompts never are
    CHECK(steps.row(0, 1).repeated() == 0);
    CHECK(steps.row(0, 2).repeated() == all);
    CHECK(steps.row(1, 0).repeated() == all); // another sequence
    CHECK(steps.row(0, 127).repeated() == all);
    CHECK(steps.row(0, 128).repeated() == 0); // more keys
    CHECK(steps.row(0, 200).repeated() == all);
    CHECK(steps.row(0, 3).row(1, 1).repeated() == 0);
    CHECK(steps.row(0, 4).row(1, 2).repeated() == all);
    CHECK(steps.row(0, 5).repeated() == all);      // the other one was cancelled
    CHECK(steps.row(0, 6, drawn).repeated() == 0); // more candidates
    CHECK(steps.row(0, 7, drawn).repeated() == all);
    CHECK(steps.row(0, 8).copy(20, 21).repeated() == 0);
    CHECK(steps.row(0, 9).output(engine::OutputKind::logits).repeated() == 0);
    CHECK(steps.row(0, 10).repeated() == all);
    CHECK(steps.swap_pages(0).row(0, 40).repeated() == 0); // reads a page table
    CHECK(steps.row(0, 100).repeated() == all);            // a longer one
}

TEST_CASE("the commands of the shapes used last are held") {
    engine::RecordedSteps steps;
    const auto shape = [](uint32_t rows) {
        engine::StepShape result;
        result.step.rows = rows;
        return result;
    };
    const auto add = [&](uint32_t rows) {
        auto recorder = vk::Recorder::create(gpu().device);
        REQUIRE(recorder);
        auto commands = recorder->finish();
        REQUIRE(commands);
        steps.insert(shape(rows), std::move(*commands));
    };
    for (uint32_t rows = 0; rows < engine::RecordedSteps::steps_max; ++rows) {
        CHECK(steps.find(shape(rows)) == nullptr);
        add(rows);
        CHECK(steps.find(shape(rows)) != nullptr);
    }
    CHECK(steps.find(shape(0)) != nullptr); // now the last of all
    add(100);
    CHECK(steps.find(shape(1)) == nullptr);
    CHECK(steps.find(shape(0)) != nullptr);
    CHECK(steps.find(shape(100)) != nullptr);
}

#include "core/engine/prefill_budget.hpp"
#include "tests/engine/driver.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>

namespace etna::test {
namespace {

constexpr uint32_t batch_rows_max = 512;

/// Rows of a step after 20 full steps that each took `step_ms`, and `row_ms` more for a row.
uint32_t rows_after(double step_ms, double row_ms, double decode_ms = 0) {
    engine::PrefillBudget budget(250, batch_rows_max);
    budget.record_decode(decode_ms);
    for (int step = 0; step < 20; ++step)
        budget.record_step(budget.rows(), budget.rows() + 1, step_ms + row_ms * budget.rows());
    return budget.rows();
}

TEST_CASE("a prefill step has as many rows as fit the target time, within bounds") {
    CHECK(rows_after(0, 0.1) == batch_rows_max);
    CHECK(rows_after(0, 2.5) == Approx(100).margin(2));
    CHECK(rows_after(0, 100) == 16);
}

TEST_CASE("a prefill step may take as long as a few decode steps of a slow device") {
    CHECK(rows_after(300, 15) == 16);
    CHECK(rows_after(300, 15, 315) == Approx(60).margin(5));
}

TEST_CASE("the first prefill step is short, and no step has more than twice the rows of the one before") {
    engine::PrefillBudget budget(250, batch_rows_max);
    CHECK(budget.rows() == 64);
    budget.record_step(64, 64, 1);
    CHECK(budget.rows() == 128);
    CHECK(engine::PrefillBudget(250, 8).rows() == 8);
}

TEST_CASE("a step with few prefill rows, or a quick one, does not lower the budget") {
    engine::PrefillBudget budget(250, batch_rows_max);
    budget.record_step(2, 2, 1000);
    CHECK(budget.rows() == 64);
    budget.record_step(40, 40, 249);
    CHECK(budget.rows() == 64);
    budget.record_step(40, 40, 1000);
    CHECK(budget.rows() == 16);
}

TEST_CASE("the slower of the last two prefill steps decides") {
    engine::PrefillBudget budget(250, batch_rows_max);
    budget.record_step(64, 64, 640); // the end of a long prompt
    CHECK(budget.rows() == 25);
    budget.record_step(25, 25, 1); // the start of another
    CHECK(budget.rows() == 25);
    budget.record_step(25, 25, 1);
    CHECK(budget.rows() == 50);
}

TEST_CASE("without a target, prefill steps are as large as batches") {
    engine::PrefillBudget budget(0, batch_rows_max);
    budget.record_step(batch_rows_max, batch_rows_max, 10'000);
    CHECK(budget.rows() == batch_rows_max);
}

TEST_CASE("a batch has at most prefill_rows_max prefill rows, and all decode rows") {
    FakeOptions options;
    options.limits.context_tokens = 5000;
    options.limits.groups = {{.page_count = 20'000}};
    options.limits.batch_rows_max = 512;
    uint32_t rows_max = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        uint32_t prefill = 0;
        for (const engine::Row& row : batch.rows)
            prefill += row.kind == engine::RowKind::prefill ? 1 : 0;
        rows_max = std::max(rows_max, prefill);
    };
    Driver driver(options);
    engine::Request request = {.max_tokens = 5, .end_tokens = {}};
    request.sampling.temperature = 0;
    request.prompt.assign(2000, 7);
    driver.set_prefill_rows_max(20);
    for (uint32_t i = 0; i < 3; ++i) {
        request.prompt.front() = i;
        driver.add(request);
    }
    driver.run();
    CHECK(rows_max == 20);
}

} // namespace
} // namespace etna::test

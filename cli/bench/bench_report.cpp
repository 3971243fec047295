#include "cli/bench/bench_report.hpp"

#include "cli/bench/text_table.hpp"
#include "core/base/bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double gigabyte = 1e9;
constexpr double teraflop = 1e12;
constexpr std::string_view no_figure = "-";

std::string with_spread(const Spread& spread, int decimals) {
    return fmt::format("{:.{}f} ±{:.0f}%", spread.median, decimals, spread.half_range() * 100);
}

std::string optional_cell(std::optional<double> value, double scale, int decimals, std::string_view unit) {
    return value ? fmt::format("{:.{}f}{}", *value * scale, decimals, unit) : std::string(no_figure);
}

std::string count_cell(double count) {
    return count == 0 ? std::string(no_figure) : fmt::format("{:.1f}", count);
}

std::string prompts_table(const BenchReport& report) {
    TextTable table = {{"batch", "depth", "tok/s", "first ms", "TFLOP/s", "of matrix rate"}};
    for (const BenchRow& row : report.rows) {
        table.push_back({fmt::format("{}", row.batch), fmt::format("{}", row.depth),
                         with_spread(row.prompt_tok_s, 1), with_spread(row.first_token_ms, 1),
                         optional_cell(row.prompt_flop_s(), 1 / teraflop, 3, ""),
                         optional_cell(matrix_share(report, row), 100, 0, "%")});
    }
    return aligned(table, FirstColumn::right);
}

std::string generation_table(const BenchReport& report) {
    TextTable table = {{"batch", "depth", "tok/s", "weights GB/s", "of copies"}};
    for (const BenchRow& row : report.rows) {
        table.push_back({fmt::format("{}", row.batch), fmt::format("{}", row.depth),
                         with_spread(row.generation_tok_s, 1),
                         optional_cell(row.weight_bytes_s(), 1 / gigabyte, 2, ""),
                         optional_cell(copy_share(report, row), 100, 0, "%")});
    }
    return aligned(table, FirstColumn::right);
}

std::string costs_table(const BenchReport& report) {
    TextTable table = {
        {"batch", "depth", "dispatches", "barriers", "submits", "recorded", "idle", "host us"}};
    for (const BenchRow& row : report.rows) {
        table.push_back({fmt::format("{}", row.batch), fmt::format("{}", row.depth),
                         count_cell(row.dispatches), count_cell(row.barriers),
                         fmt::format("{:.2f}", row.submits), fmt::format("{:.2f}", row.recorded),
                         fmt::format("{:.2f}", row.idle), with_spread(row.host_us, 1)});
    }
    return aligned(table, FirstColumn::right);
}

std::string embeddings_table(const EmbeddingReport& report) {
    TextTable table = {{"batch", "texts/s", "tok/s", "batch ms", "TFLOP/s", "of matrix rate"}};
    for (const EmbeddingRow& row : report.rows) {
        table.push_back({fmt::format("{}", row.batch), with_spread(row.texts_s, 1), with_spread(row.tok_s, 1),
                         with_spread(row.batch_ms, 1), optional_cell(row.flop_s(), 1 / teraflop, 3, ""),
                         optional_cell(matrix_share(report, row), 100, 0, "%")});
    }
    return aligned(table, FirstColumn::right);
}

std::string mebibytes(uint64_t bytes) {
    return bytes == 0 ? std::string(no_figure)
                      : fmt::format("{:.0f} MiB", static_cast<double>(bytes) / static_cast<double>(mebibyte));
}

Json as_json(const Spread& spread) {
    return {{"max", spread.max}, {"median", spread.median}, {"min", spread.min}};
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json();
}

Json or_null_if_zero(double value) {
    return value == 0 ? Json() : Json(value);
}

Json as_json(const BenchReport& report, const BenchRow& row) {
    return {{"batch", row.batch},
            {"depth", row.depth},
            {"first_token_ms", as_json(row.first_token_ms)},
            {"generation_tok_s", as_json(row.generation_tok_s)},
            {"per_token",
             {{"barriers", or_null_if_zero(row.barriers)},
              {"dispatches", or_null_if_zero(row.dispatches)},
              {"host_us", as_json(row.host_us)},
              {"idle", row.idle},
              {"recorded", row.recorded},
              {"submits", row.submits}}},
            {"prompt_flop_s", or_null(row.prompt_flop_s())},
            {"prompt_of_matrix_rate", or_null(matrix_share(report, row))},
            {"prompt_tok_s", as_json(row.prompt_tok_s)},
            {"step_weight_bytes", or_null(row.step_weight_bytes)},
            {"weight_bytes_s", or_null(row.weight_bytes_s())},
            {"weights_of_copy_rate", or_null(copy_share(report, row))}};
}

Json as_json(const EmbeddingReport& report, const EmbeddingRow& row) {
    return {{"batch", row.batch},
            {"batch_ms", as_json(row.batch_ms)},
            {"flop_s", or_null(row.flop_s())},
            {"of_matrix_rate", or_null(matrix_share(report, row))},
            {"texts_s", as_json(row.texts_s)},
            {"tok_s", as_json(row.tok_s)}};
}

std::string title_text(const MeasuredModel& report) {
    return fmt::format("{} on {}\nload {:.0f} ms; peak memory: device {}, host {}\n", report.model,
                       report.device, report.load_ms, mebibytes(report.device_peak_bytes),
                       mebibytes(report.host_peak_bytes));
}

std::string matrix_rate_text(const MeasuredModel& report) {
    return "matrix rate " + optional_cell(report.matrix_flop_s, 1 / teraflop, 3, " TFLOP/s");
}

/// Returns the operations of `tok_s` rows a second; empty if the weights are unknown.
std::optional<double> operations_s(uint64_t row_weights, double tok_s) {
    if (row_weights == 0)
        return std::nullopt;
    return 2 * static_cast<double>(row_weights) * tok_s;
}

std::optional<double> share_of(const std::optional<double>& value, const std::optional<double>& limit) {
    if (!value || !limit)
        return std::nullopt;
    return *value / *limit;
}

} // namespace

Spread spread_of(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const std::size_t middle = samples.size() / 2;
    const double median =
        samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
    return {.median = median, .min = samples.front(), .max = samples.back()};
}

std::optional<double> BenchRow::weight_bytes_s() const {
    if (!step_weight_bytes)
        return std::nullopt;
    return static_cast<double>(*step_weight_bytes) * generation_tok_s.median / batch;
}

std::optional<double> copy_share(const BenchReport& report, const BenchRow& row) {
    return share_of(row.weight_bytes_s(), report.copy_bytes_s);
}

std::optional<double> BenchRow::prompt_flop_s() const {
    return operations_s(row_weights, prompt_tok_s.median);
}

std::optional<double> EmbeddingRow::flop_s() const {
    return operations_s(row_weights, tok_s.median);
}

std::optional<double> matrix_share(const BenchReport& report, const BenchRow& row) {
    return share_of(row.prompt_flop_s(), report.matrix_flop_s);
}

std::optional<double> matrix_share(const EmbeddingReport& report, const EmbeddingRow& row) {
    return share_of(row.flop_s(), report.matrix_flop_s);
}

std::string bench_text(const BenchReport& report) {
    std::string text = title_text(report);
    text += fmt::format("copies {}; {}\n", optional_cell(report.copy_bytes_s, 1 / gigabyte, 2, " GB/s"),
                        matrix_rate_text(report));
    text += fmt::format("prompt of {} tokens, {} generated; medians of {}, ± half of the range\n\n",
                        report.prompt_tokens, report.generated_tokens, report.repetitions);
    if (!report.rows.empty()) {
        text += "prompts:\n" + prompts_table(report) + "\ngeneration:\n" + generation_table(report) +
                "\nper generated token:\n" + costs_table(report);
    }
    return text;
}

std::string bench_text(const EmbeddingReport& report) {
    std::string text = title_text(report) + matrix_rate_text(report) + "\n";
    text += fmt::format("texts of {} tokens; medians of {}, ± half of the range\n", report.text_tokens,
                        report.repetitions);
    if (!report.rows.empty())
        text += "\nembeddings:\n" + embeddings_table(report);
    return text;
}

Json bench_json(const BenchReport& report) {
    Json rows = Json::array();
    for (const BenchRow& row : report.rows)
        rows.push_back(as_json(report, row));
    Json gaps = Json::array();
    for (const BenchGap& gap : report.gaps)
        gaps.push_back({{"batch", gap.batch}, {"depth", gap.depth}, {"reason", gap.reason}});
    return {{"copy_bytes_s", or_null(report.copy_bytes_s)},
            {"device", report.device},
            {"device_peak_bytes", report.device_peak_bytes == 0 ? Json() : Json(report.device_peak_bytes)},
            {"generated_tokens", report.generated_tokens},
            {"host_peak_bytes", report.host_peak_bytes},
            {"load_ms", report.load_ms},
            {"matrix_flop_s", or_null(report.matrix_flop_s)},
            {"model", report.model},
            {"not_measured", gaps},
            {"prompt_tokens", report.prompt_tokens},
            {"repetitions", report.repetitions},
            {"rows", rows}};
}

Json bench_json(const EmbeddingReport& report) {
    Json rows = Json::array();
    for (const EmbeddingRow& row : report.rows)
        rows.push_back(as_json(report, row));
    Json gaps = Json::array();
    for (const BenchGap& gap : report.gaps)
        gaps.push_back({{"batch", gap.batch}, {"reason", gap.reason}});
    return {{"device", report.device},
            {"device_peak_bytes", report.device_peak_bytes == 0 ? Json() : Json(report.device_peak_bytes)},
            {"host_peak_bytes", report.host_peak_bytes},
            {"load_ms", report.load_ms},
            {"matrix_flop_s", or_null(report.matrix_flop_s)},
            {"model", report.model},
            {"not_measured", gaps},
            {"repetitions", report.repetitions},
            {"rows", rows},
            {"text_tokens", report.text_tokens}};
}

} // namespace etna::cli

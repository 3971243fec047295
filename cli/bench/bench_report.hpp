#pragma once

#include "core/base/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::cli {

/// The median of repeated measurements, and their extremes.
struct Spread {
    double median = 0;
    double min = 0;
    double max = 0;

    /// Half the distance of the extremes, as a share of the median; 0 if the median is.
    [[nodiscard]] double half_range() const { return median == 0 ? 0 : (max - min) / 2 / median; }
};

/// The median of an even number of samples is the mean of the middle two. Precondition: there is a sample.
Spread spread_of(std::vector<double> samples);

/// The measurements of one batch size and depth.
struct BenchRow {
    uint32_t batch = 1; ///< sequences together
    uint32_t depth = 0; ///< tokens that each sequence holds before the measurement
    Spread prompt_tok_s;
    Spread first_token_ms; ///< from submission, of each sequence
    Spread generation_tok_s;
    Spread host_us;        ///< per generated token: CPU time of the engine's thread
    double dispatches = 0; ///< per generated token; 0: unknown
    double barriers = 0;   ///< per generated token; 0: unknown
    double submits = 0;    ///< per generated token
    double recorded = 0;   ///< submits per generated token whose commands no earlier one had
    double idle = 0;       ///< submits per generated token to a device with nothing to do
    /// Bytes of weights that a generation step reads, each weight counted once; empty: unknown.
    std::optional<uint64_t> step_weight_bytes;
    uint64_t row_weights = 0; ///< model::WeightReads'; 0: unknown

    /// Returns the bytes of weights that generation reads in a second.
    [[nodiscard]] std::optional<double> weight_bytes_s() const;

    /// Returns the multiplications and additions of prompts with the layers' weights in a second.
    [[nodiscard]] std::optional<double> prompt_flop_s() const;
};

/// A batch size and depth without measurements.
struct BenchGap {
    uint32_t batch = 1;
    uint32_t depth = 0;
    std::string reason;
};

/// The results of `etna bench MODEL` that do not depend on the kind of model.
struct MeasuredModel {
    std::string model;
    std::string device;
    uint32_t repetitions = 0;
    double load_ms = 0;
    uint64_t device_peak_bytes = 0;      ///< 0: unknown
    uint64_t host_peak_bytes = 0;        ///< with a device that is the CPU, its memory too
    std::optional<double> matrix_flop_s; ///< see kernels::measure_matrix_rate(); empty: unknown
};

/// The results of `etna bench MODEL` for a model that generates.
struct BenchReport : MeasuredModel {
    uint32_t prompt_tokens = 0;
    uint32_t generated_tokens = 0;
    std::optional<double> copy_bytes_s; ///< read and written by copies on the device; empty: unknown
    std::vector<BenchRow> rows;
    std::vector<BenchGap> gaps;
};

/// The measurements of one number of texts that run together.
struct EmbeddingRow {
    uint32_t batch = 1;
    Spread batch_ms; ///< from the submission of all texts to the last embedding
    Spread texts_s;
    Spread tok_s;
    uint64_t row_weights = 0; ///< model::WeightReads'; 0: unknown

    /// Returns the multiplications and additions with the layers' weights in a second.
    [[nodiscard]] std::optional<double> flop_s() const;
};

/// The results of `etna bench MODEL` for an encoder.
struct EmbeddingReport : MeasuredModel {
    uint32_t text_tokens = 0; ///< of each text
    std::vector<EmbeddingRow> rows;
    std::vector<BenchGap> gaps; ///< without a depth
};

/// Returns the bytes of weights read as a share of the device's copy rate; empty if one is unknown.
std::optional<double> copy_share(const BenchReport& report, const BenchRow& row);

/// Returns the operations of prompts as a share of the device's matrix rate; empty if one is unknown.
std::optional<double> matrix_share(const BenchReport& report, const BenchRow& row);
std::optional<double> matrix_share(const EmbeddingReport& report, const EmbeddingRow& row);

/// Tables for people, lines of at most 80 columns.
std::string bench_text(const BenchReport& report);
std::string bench_text(const EmbeddingReport& report);
Json bench_json(const BenchReport& report);
Json bench_json(const EmbeddingReport& report);

} // namespace etna::cli

#pragma once

#include "core/engine/executor.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/library.hpp"
#include "tests/reference/model.hpp"
#include "tests/support/random_model.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::test {

inline constexpr std::array all_families{kernels::PlanFamily::nvidia, kernels::PlanFamily::amd,
                                         kernels::PlanFamily::intel, kernels::PlanFamily::lavapipe};

/// The families that model number `index` of a list runs as: all of them in a full product, else the CPU's
/// and one GPU's, round-robin.
std::vector<kernels::PlanFamily> families_of(std::size_t index);

/// A model whose matrices are all in tiles on GPUs, so that decode rows run fused kernels.
RandomModelOptions tiled_model(RandomArchitecture architecture, WeightFormat format);

struct ModelCaseOptions {
    std::optional<kernels::PlanFamily> family;
    kernels::Precision precision = kernels::Precision::exact;
    kernels::CacheFormats cache = {};
    uint32_t pages = 64;
    uint64_t kv_memory_bytes = 0; ///< instead of `pages`, for models that the twin does not read; 0: pages
    uint32_t batch_rows_max = 64;
    uint32_t embeddings_max = 0;
    uint64_t matrix_part_bytes = 0;
    bool has_draft_head = true;
    bool timestamps = false; ///< then each step is recorded
};

/// A model in memory, its executor on the device under test, and its CPU twin. A load error fails the
/// test.
class ModelCase {
public:
    ModelCase(Bytes bytes, const ModelCaseOptions& options);

    [[nodiscard]] engine::Executor& executor() { return *executor_; }
    [[nodiscard]] const gguf::File& file() const { return *file_; }
    [[nodiscard]] const reference::ReferenceModel& twin();

private:
    Bytes bytes_;
    std::optional<gguf::File> file_;
    std::optional<reference::ReferenceModel> twin_;
    std::unique_ptr<engine::Executor> executor_;
};

/// One sequence: positions [0, prompt) are prefill rows, `chunk` a step; the others are decode rows, one a
/// step, with the given tokens.
struct Script {
    std::vector<TokenId> tokens;
    uint32_t prompt = 0;
    uint32_t chunk = 16;
    uint32_t want_from = 0; ///< first position with logits
};

/// How many of its tokens go through matrix units on the device under test.
uint32_t matrix_tokens(const Script& script, kernels::PlanFamily family);

/// The pages of sequences: consecutive for each, or scattered.
enum class PageOrder : uint8_t { consecutive, scattered };

using Logits = std::vector<std::vector<float>>; ///< [position - want_from][vocabulary]

/// Mean over the positions of sum p log(p / q), p the probabilities of `expected`.
double mean_divergence(const Logits& logits, const std::vector<reference::Vector>& expected);

/// Runs all scripts in common steps until each has ended, and gives each one's logits. Decode rows of every
/// second script change recurrent states at once, those of the others stay pending.
std::vector<Logits> run_together(engine::Executor& executor, const std::vector<Script>& scripts,
                                 PageOrder order = PageOrder::scattered);

/// One table for each cache group, whose pages are numbered apart: `pages` in group 0, shifted by 1 (modulo
/// `page_count`) in the next, and so on. Owns what SequenceView borrows.
class GroupTables {
public:
    GroupTables(const engine::Limits& limits, const std::vector<engine::PageId>& pages);

    /// Tables of script number `script`: in groups with a window its few own pages take turns, as if those
    /// that left the window had been released.
    static GroupTables with_windows(const engine::Limits& limits, const std::vector<engine::PageId>& pages,
                                    uint32_t script);

    [[nodiscard]] engine::SequenceView view() const;
    /// With the slot of a recurrent state that covers [0, position); models without such layers ignore it.
    [[nodiscard]] engine::SequenceView view(engine::StateSlot slot, uint32_t position,
                                            engine::StateUpdate update = engine::StateUpdate::commit) const;

private:
    std::vector<std::vector<engine::PageId>> tables_;
};

/// Submits and waits; an error fails the test.
engine::Outputs run_batch(engine::Executor& executor, const engine::Batch& batch);

/// `count` tokens below `vocabulary` that depend on `seed` alone.
std::vector<TokenId> random_tokens(uint32_t count, uint32_t vocabulary, uint32_t seed);

/// Fails unless each log-probability is within `tolerance` of the twin's, and the largest is the same token
/// if the twin's top two are further apart than twice that. `twin` [tokens][vocabulary] begins at position 0.
void check_against_twin(const Script& script, const Logits& logits,
                        const std::vector<reference::Vector>& twin, double tolerance);

/// Writes another value into the metadata entry of type u32 with this key.
void set_integer(Bytes& file, std::string_view key, uint32_t value);

std::string_view to_string(kernels::CacheFormat format);

} // namespace etna::test

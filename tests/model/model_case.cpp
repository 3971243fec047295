#include "tests/model/model_case.hpp"

#include "core/engine/device/device_executor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/shared_library.hpp"
#include "tests/support/vulkan.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>

namespace etna::test {
namespace {

uint64_t page_bytes(const gguf::File& file, kernels::CacheFormats formats) {
    const auto model = reference::read_config(file);
    REQUIRE(model);
    uint64_t bytes = 0;
    for (std::size_t layer = 0; layer < model->shapes.size(); ++layer) {
        const reference::Config::Layer& shape = model->shapes[layer];
        if (model->recurrent[layer] || shape.keys_of)
            continue;
        if (model->latent.rank > 0) { // keys alone, which are latents
            bytes += kernels::layer_cache_bytes(
                formats.keys, 1, 1, static_cast<uint32_t>(model->latent.rank + model->latent.rotated));
            continue;
        }
        for (const kernels::CacheFormat format : {formats.keys, formats.values}) {
            bytes += kernels::layer_cache_bytes(format, 1, static_cast<uint32_t>(shape.kv_heads),
                                                static_cast<uint32_t>(shape.head_length));
        }
    }
    return bytes;
}

/// Pages for each script, every page used at most once.
std::vector<std::vector<engine::PageId>> share_pages(const std::vector<Script>& scripts, uint32_t page_tokens,
                                                     PageOrder order) {
    std::vector<std::vector<engine::PageId>> tables(scripts.size());
    engine::PageId next = 0;
    if (order == PageOrder::consecutive) {
        for (std::size_t i = 0; i < scripts.size(); ++i) {
            for (uint32_t position = 0; position < scripts[i].tokens.size(); position += page_tokens)
                tables[i].push_back(next++);
        }
        return tables;
    }
    std::size_t longest = 0;
    for (const Script& script : scripts)
        longest = std::max(longest, script.tokens.size());
    for (uint32_t position = 0; position < longest; position += page_tokens) {
        for (std::size_t i = 0; i < scripts.size(); ++i) {
            if (position < scripts[i].tokens.size())
                tables[i].push_back(next++);
        }
    }
    for (auto& table : tables) { // later positions are in earlier pages
        for (engine::PageId& page : table)
            page = next - 1 - page;
    }
    return tables;
}

double log_sum_exp(const auto& logits) {
    double largest = -INFINITY;
    for (const double logit : logits)
        largest = std::max(largest, logit);
    double sum = 0;
    for (const double logit : logits)
        sum += std::exp(logit - largest);
    return largest + std::log(sum);
}

std::size_t largest_of(const auto& logits) {
    return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Runs scripts step by step; `done` is the next position of each.
class Conductor {
public:
    Conductor(engine::Executor& executor, const std::vector<Script>& scripts, PageOrder order)
        : executor_(executor), scripts_(scripts), done_(scripts.size()), committed_(scripts.size()),
          logits_(scripts.size()) {
        for (const auto& pages : share_pages(scripts, executor.limits().page_tokens, order)) {
            tables_.push_back(
                GroupTables::with_windows(executor.limits(), pages, static_cast<uint32_t>(tables_.size())));
        }
    }

    std::vector<Logits> run() {
        while (step()) {
        }
        return std::move(logits_);
    }

private:
    bool step() {
        batch_.rows.clear();
        batch_.sequences.clear();
        wanted_.clear();
        for (uint32_t i = 0; i < scripts_.size(); ++i)
            add_rows(i);
        if (batch_.rows.empty())
            return false;
        const engine::Outputs outputs = run_batch(executor_, batch_);
        REQUIRE(outputs.rows.size() == wanted_.size());
        for (std::size_t i = 0; i < wanted_.size(); ++i)
            logits_[wanted_[i]].push_back(outputs.rows[i].logits);
        return true;
    }

    void add_rows(uint32_t i) {
        const Script& script = scripts_[i];
        const bool is_prompt = done_[i] < script.prompt;
        const uint32_t first = done_[i];
        uint32_t left = is_prompt ? std::min(script.chunk, script.prompt - done_[i]) : 1;
        const engine::Limits& limits = executor_.limits();
        while (left-- > 0 && done_[i] < script.tokens.size() && batch_.rows.size() < limits.batch_rows_max &&
               wanted_.size() < limits.output_rows_max) {
            engine::Row row;
            row.kind = is_prompt ? engine::RowKind::prefill : engine::RowKind::decode;
            row.value = script.tokens[done_[i]];
            row.sequence = i;
            row.set_position(done_[i]++);
            if (row.position >= script.want_from) {
                row.output_kind = engine::OutputKind::logits;
                wanted_.push_back(i);
            }
            batch_.rows.push_back(row);
        }
        add_sequence(i, first, is_prompt || i % 2 == 1);
    }

    /// Without rows, it has any state.
    void add_sequence(uint32_t i, uint32_t first, bool commits) {
        const bool has_rows = done_[i] > first;
        batch_.sequences.push_back(
            tables_[i].view(i, has_rows ? committed_[i] : 0,
                            commits ? engine::StateUpdate::commit : engine::StateUpdate::defer));
        if (has_rows)
            committed_[i] = commits ? done_[i] : first;
    }

    engine::Executor& executor_;
    const std::vector<Script>& scripts_;
    std::vector<uint32_t> done_;
    std::vector<uint32_t> committed_; ///< positions in the recurrent state
    std::vector<Logits> logits_;
    std::vector<GroupTables> tables_;
    std::vector<uint32_t> wanted_;
    engine::Batch batch_;
};

std::vector<double> probabilities(const auto& logits) {
    double largest = -INFINITY;
    for (const double logit : logits)
        largest = std::max(largest, logit);
    std::vector<double> result;
    double sum = 0;
    for (const double logit : logits) {
        result.push_back(std::exp(logit - largest));
        sum += result.back();
    }
    for (double& value : result)
        value /= sum;
    return result;
}

} // namespace

std::vector<kernels::PlanFamily> families_of(std::size_t index) {
    if (runs_whole_products())
        return {all_families.begin(), all_families.end()};
    if (runs_once())
        return {kernels::natural_family(gpu().device.profile())};
    constexpr std::size_t gpu_families = all_families.size() - 1;
    return {all_families[index % gpu_families], kernels::PlanFamily::lavapipe};
}

RandomModelOptions tiled_model(RandomArchitecture architecture, WeightFormat format) {
    return {.architecture = architecture,
            .layers = 3,
            .embedding = 256,
            .heads = 4,
            .kv_heads = 2,
            .head_dim = 64,
            .feed_forward = 512,
            .vocabulary = 301,
            .delta_key_dim = 64,
            .delta_value_dim = 64,
            .matrices = format,
            .embedding_format = format,
            .head_format = format,
            .tokenizer = RandomTokenizer::none};
}

ModelCase::ModelCase(Bytes bytes, const ModelCaseOptions& options) : bytes_(std::move(bytes)) {
    auto file = gguf::File::parse(bytes_, "test model");
    if (!file)
        FAIL(file.error().message);
    file_.emplace(std::move(*file));
    auto executor = engine::create_device_executor(
        shared_library({.family = options.family, .precision = options.precision}), *file_,
        {.sizes = {.cache_formats = options.cache,
                   .kv_memory_bytes = options.kv_memory_bytes > 0
                                          ? options.kv_memory_bytes
                                          : options.pages * page_bytes(*file_, options.cache),
                   .batch_rows_max = options.batch_rows_max,
                   .sequences_max = 8,
                   .embeddings_max = options.embeddings_max,
                   .has_draft_head = options.has_draft_head},
         .timestamps = options.timestamps,
         .matrix_part_bytes = options.matrix_part_bytes,
         .planned = {},
         .progress = {}});
    if (!executor)
        FAIL(executor.error().message);
    executor_ = std::move(*executor);
}

double mean_divergence(const Logits& logits, const std::vector<reference::Vector>& expected) {
    double sum = 0;
    for (std::size_t position = 0; position < logits.size(); ++position) {
        const auto p = probabilities(expected[position]);
        const auto q = probabilities(logits[position]);
        for (std::size_t token = 0; token < p.size(); ++token)
            sum += p[token] * std::log(p[token] / q[token]);
    }
    return sum / static_cast<double>(logits.size());
}

const reference::ReferenceModel& ModelCase::twin() {
    if (!twin_) {
        auto twin = reference::ReferenceModel::load(*file_, executor_->limits().context_tokens);
        if (!twin)
            FAIL(twin.error().message);
        twin_.emplace(std::move(*twin));
    }
    return *twin_;
}

uint32_t matrix_tokens(const Script& script, kernels::PlanFamily family) {
    const bool has_units = gpu().device.profile().cooperative_matrix;
    return has_units && family != kernels::PlanFamily::lavapipe ? script.prompt : 0;
}

GroupTables::GroupTables(const engine::Limits& limits, const std::vector<engine::PageId>& pages) {
    engine::PageId shift = 0;
    for (const engine::CacheGroup& group : limits.groups) {
        tables_.push_back(pages);
        for (engine::PageId& page : tables_.back())
            page = (page + shift) % group.page_count;
        ++shift;
    }
}

GroupTables GroupTables::with_windows(const engine::Limits& limits, const std::vector<engine::PageId>& pages,
                                      uint32_t script) {
    GroupTables tables(limits, pages);
    for (std::size_t group = 0; group < limits.groups.size(); ++group) {
        if (limits.groups[group].kind == engine::CacheKind::full)
            continue;
        const uint32_t stride = engine::window_pages(limits.groups[group].window_tokens,
                                                     limits.batch_rows_max, limits.page_tokens);
        const uint32_t own = std::min(stride, static_cast<uint32_t>(pages.size()));
        REQUIRE(script * stride + own <= limits.groups[group].page_count);
        for (std::size_t i = 0; i < pages.size(); ++i)
            tables.tables_[group][i] = script * stride + static_cast<engine::PageId>(i) % own;
    }
    return tables;
}

engine::SequenceView GroupTables::view() const {
    engine::SequenceView view;
    for (const auto& table : tables_)
        view.pages.emplace_back(table);
    return view;
}

engine::SequenceView GroupTables::view(engine::StateSlot slot, uint32_t position,
                                       engine::StateUpdate update) const {
    engine::SequenceView view = this->view();
    view.state_slot = slot;
    view.state_position = position;
    view.state_update = update;
    return view;
}

engine::Outputs run_batch(engine::Executor& executor, const engine::Batch& batch) {
    const auto ticket = executor.submit(batch);
    if (!ticket)
        FAIL(ticket.error().message);
    auto outputs = executor.wait(*ticket);
    if (!outputs)
        FAIL(outputs.error().message);
    return std::move(*outputs);
}

std::vector<Logits> run_together(engine::Executor& executor, const std::vector<Script>& scripts,
                                 PageOrder order) {
    return Conductor(executor, scripts, order).run();
}

std::vector<TokenId> random_tokens(uint32_t count, uint32_t vocabulary, uint32_t seed) {
    std::mt19937 numbers(seed);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens)
        token = static_cast<TokenId>(numbers() % vocabulary);
    return tokens;
}

void check_against_twin(const Script& script, const Logits& logits,
                        const std::vector<reference::Vector>& twin, double tolerance) {
    REQUIRE(logits.size() == script.tokens.size() - script.want_from);
    double worst = 0;
    std::string where;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const std::size_t position = script.want_from + i;
        const reference::Vector& expected = twin[position];
        REQUIRE(logits[i].size() == expected.size());
        const double sum = log_sum_exp(logits[i]);
        const double expected_sum = log_sum_exp(expected);
        for (std::size_t token = 0; token < expected.size(); ++token) {
            const double difference = std::fabs((logits[i][token] - sum) - (expected[token] - expected_sum));
            if (!(difference <= worst)) { // NaN counts as worst
                worst = difference;
                where = fmt::format("position {} of {} (prompt {}, chunk {}), token {}: {} instead of {}",
                                    position, script.tokens.size(), script.prompt, script.chunk, token,
                                    logits[i][token], expected[token]);
            }
        }
        reference::Vector sorted = expected;
        std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
        if (sorted[0] - sorted[1] > 2 * tolerance) {
            INFO("position " << position);
            CHECK(largest_of(logits[i]) == largest_of(expected));
        }
    }
    INFO("worst log-probability at " << where);
    CHECK(worst <= tolerance);
}

void set_integer(Bytes& file, std::string_view key, uint32_t value) {
    const auto* begin = reinterpret_cast<const std::byte*>(key.data());
    const auto found = std::search(file.begin(), file.end(), begin, begin + key.size());
    REQUIRE(found != file.end());
    constexpr std::ptrdiff_t type_bytes = 4;
    std::memcpy(&*found + key.size() + type_bytes, &value, sizeof value);
}

std::string_view to_string(kernels::CacheFormat format) {
    switch (format) {
    case kernels::CacheFormat::f32:
        return "F32";
    case kernels::CacheFormat::f16:
        return "F16";
    case kernels::CacheFormat::q8_0:
        break;
    }
    return "Q8_0";
}

} // namespace etna::test

#include "core/engine/executor.hpp"

#include "core/sampling/choose.hpp"

#include <cstddef>
#include <optional>

#include <fmt/format.h>

namespace etna::engine {
namespace {

template <class... Arguments>
Error broken(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    return {ErrorKind::invalid_argument, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

Status check_counts(const Batch& batch, const Limits& limits) {
    if (batch.rows.empty())
        return broken("the batch has no rows");
    if (batch.rows.size() > limits.batch_rows_max)
        return broken("{} rows, but at most {} fit a batch", batch.rows.size(), limits.batch_rows_max);
    if (batch.sequences.size() > limits.sequences_max) {
        return broken("{} sequences, but at most {} fit a batch", batch.sequences.size(),
                      limits.sequences_max);
    }
    return {};
}

/// Copies may run in any order, so no page may be written twice, or be both read and written.
Status check_copies(const Batch& batch, const Limits& limits) {
    for (std::size_t i = 0; i < batch.copies.size(); ++i) {
        const PageCopy& copy = batch.copies[i];
        if (copy.group >= limits.groups.size())
            return broken("copy {}: cache group {} of {}", i, copy.group, limits.groups.size());
        const uint32_t page_count = limits.groups[copy.group].page_count;
        if (copy.from >= page_count || copy.to >= page_count || copy.from == copy.to)
            return broken("copy {}: from page {} to page {} of {}", i, copy.from, copy.to, page_count);
        for (std::size_t j = 0; j < i; ++j) {
            const PageCopy& other = batch.copies[j];
            if (other.group == copy.group &&
                (other.to == copy.to || other.to == copy.from || other.from == copy.to))
                return broken("copies {} and {} depend on each other", j, i);
        }
    }
    return {};
}

Status check_tables(const Batch& batch, const Limits& limits) {
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
        const auto& tables = batch.sequences[i].pages;
        if (tables.size() != limits.groups.size()) {
            return broken("sequence {}: {} page tables for {} cache groups", i, tables.size(),
                          limits.groups.size());
        }
        for (std::size_t group = 0; group < tables.size(); ++group) {
            for (const PageId page : tables[group]) {
                if (page >= limits.groups[group].page_count) {
                    return broken("sequence {}: page {} of {} in cache group {}", i, page,
                                  limits.groups[group].page_count, group);
                }
            }
        }
    }
    return {};
}

Status check_place(const Batch& batch, std::size_t i, const Limits& limits) {
    const Row& row = batch.rows[i];
    const uint32_t inputs = row.input == RowInput::token ? limits.vocabulary : limits.slots;
    if (row.value >= inputs) {
        return broken("row {}: {} {} of {}", i, row.input == RowInput::token ? "token" : "slot", row.value,
                      inputs);
    }
    if (row.sequence >= batch.sequences.size())
        return broken("row {}: sequence {} of {}", i, row.sequence, batch.sequences.size());
    if (row.index >= limits.context_tokens)
        return broken("row {}: place {} of a context of {}", i, row.index, limits.context_tokens);
    for (const auto& table : batch.sequences[row.sequence].pages) {
        if (row.index / limits.page_tokens >= table.size())
            return broken("row {}: no page holds place {}", i, row.index);
    }
    return {};
}

Status check_sampled(const Row& row, std::size_t i, const Limits& limits) {
    if (row.output_slot >= limits.slots)
        return broken("row {}: output slot {} of {}", i, row.output_slot, limits.slots);
    if (const Status status = sampling::check(row.sampling); !status)
        return status.error().while_doing(fmt::format("row {}", i));
    if (!sampling::is_plain(row.sampling))
        return broken("row {}: the device samples by temperature, top_k, top_p and min_p only", i);
    const uint32_t top_k = row.sampling.top_k;
    if (row.sampling.temperature > 0 && (top_k == 0 || top_k > limits.candidates_max)) {
        return broken("row {}: top_k {} is not between 1 and {}, which the device can sample", i, top_k,
                      limits.candidates_max);
    }
    return {};
}

Status check_wanted(const Batch& batch, const Limits& limits) {
    std::size_t wanted = 0;
    std::vector<bool> slot_is_written(limits.slots);
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        const Row& row = batch.rows[i];
        wanted += row.output_kind != OutputKind::none ? 1 : 0;
        const uint32_t least = row.output_kind == OutputKind::candidates ? 1 : 0;
        if (row.candidates < least || row.candidates > limits.candidates_max) {
            return broken("row {}: {} candidates, but 1 to {} can be had", i, row.candidates,
                          limits.candidates_max);
        }
        if (row.output_kind != OutputKind::sampled)
            continue;
        ETNA_CHECK(check_sampled(row, i, limits));
        if (slot_is_written[row.output_slot])
            return broken("row {}: output slot {} is written twice", i, row.output_slot);
        slot_is_written[row.output_slot] = true;
    }
    if (wanted > limits.output_rows_max)
        return broken("{} rows want an output, but at most {} can", wanted, limits.output_rows_max);
    return {};
}

} // namespace

Status check(const Batch& batch, const Limits& limits) {
    ETNA_CHECK(check_counts(batch, limits));
    ETNA_CHECK(check_copies(batch, limits));
    ETNA_CHECK(check_tables(batch, limits));
    std::vector<std::optional<uint32_t>> next_index(batch.sequences.size());
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        ETNA_CHECK(check_place(batch, i, limits));
        const Row& row = batch.rows[i];
        std::optional<uint32_t>& next = next_index[row.sequence];
        if (next && *next != row.index) {
            return broken("row {}: place {} of sequence {} follows place {}", i, row.index, row.sequence,
                          *next - 1);
        }
        next = row.index + 1;
    }
    return check_wanted(batch, limits);
}

} // namespace etna::engine

#include "core/engine/executor.hpp"

#include "core/base/bytes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace etna::engine {
namespace {

template <class... Arguments>
Error invalid(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    return {ErrorKind::invalid_argument, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

Status check_counts(const Batch& batch, const Limits& limits) {
    if (batch.rows.empty())
        return invalid("the batch has no rows");
    if (batch.rows.size() > limits.batch_rows_max)
        return invalid("{} rows, but at most {} fit a batch", batch.rows.size(), limits.batch_rows_max);
    if (batch.embeddings.size() > limits.embeddings_max) {
        return invalid("{} embeddings, but at most {} fit a batch", batch.embeddings.size(),
                       limits.embeddings_max);
    }
    if (batch.sequences.size() > limits.sequences_max) {
        return invalid("{} sequences, but at most {} fit a batch", batch.sequences.size(),
                       limits.sequences_max);
    }
    return {};
}

/// Copies may run in any order, so no page may be written twice, or be both read and written.
Status check_copies(const Batch& batch, const Limits& limits) {
    for (std::size_t i = 0; i < batch.copies.size(); ++i) {
        const PageCopy& copy = batch.copies[i];
        if (copy.group >= limits.groups.size())
            return invalid("copy {}: cache group {} of {}", i, copy.group, limits.groups.size());
        const uint32_t page_count = limits.groups[copy.group].page_count;
        if (copy.from >= page_count || copy.to >= page_count || copy.from == copy.to)
            return invalid("copy {}: from page {} to page {} of {}", i, copy.from, copy.to, page_count);
        for (std::size_t j = 0; j < i; ++j) {
            const PageCopy& other = batch.copies[j];
            if (other.group == copy.group &&
                (other.to == copy.to || other.to == copy.from || other.from == copy.to))
                return invalid("copies {} and {} depend on each other", j, i);
        }
    }
    return {};
}

/// Copies of states may run in any order, as those of pages.
Status check_state_copies(const Batch& batch, const Limits& limits) {
    std::vector<bool> is_read(limits.state_slots);
    std::vector<bool> is_written(limits.state_slots);
    for (std::size_t i = 0; i < batch.state_copies.size(); ++i) {
        const StateCopy& copy = batch.state_copies[i];
        if (copy.from >= limits.state_slots || copy.to >= limits.state_slots) {
            return invalid("state copy {}: from slot {} to slot {} of {}", i, copy.from, copy.to,
                           limits.state_slots);
        }
        is_read[copy.from] = true;
        if (is_written[copy.to])
            return invalid("state copy {}: slot {} is written twice", i, copy.to);
        is_written[copy.to] = true;
    }
    for (std::size_t slot = 0; slot < limits.state_slots; ++slot) {
        if (is_read[slot] && is_written[slot])
            return invalid("state slot {} is both read and written by copies", slot);
    }
    return {};
}

/// Rows of a sequence in a batch.
struct SequenceRows {
    uint32_t begin = 0; ///< positions
    uint32_t end = 0;
    bool has_one_kind = true;
};

Status check_states(const Batch& batch, std::span<const SequenceRows> rows, const Limits& limits) {
    if (limits.state_slots == 0)
        return {};
    std::vector<bool> is_used(limits.state_slots);
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
        const SequenceView& view = batch.sequences[i];
        if (view.state_slot >= limits.state_slots)
            return invalid("sequence {}: state slot {} of {}", i, view.state_slot, limits.state_slots);
        if (is_used[view.state_slot])
            return invalid("sequence {}: state slot {} is used twice", i, view.state_slot);
        is_used[view.state_slot] = true;
        const auto& [begin, end, has_one_kind] = rows[i];
        if (begin < view.state_position || begin - view.state_position > limits.pending_rows_max) {
            return invalid("sequence {}: rows from position {} on, but the state ends at {} with at most {} "
                           "rows pending",
                           i, begin, view.state_position, limits.pending_rows_max);
        }
        if (view.state_update == StateUpdate::defer && end - begin > limits.pending_rows_max)
            return invalid("sequence {}: {} rows cannot stay pending", i, end - begin);
        if (!has_one_kind)
            return invalid("sequence {}: rows of both kinds for recurrent layers", i);
    }
    return {};
}

/// A table without its leading entries `no_page`.
std::span<const PageId> held_pages(std::span<const PageId> table) {
    const auto first = std::find_if(table.begin(), table.end(), [](PageId page) { return page != no_page; });
    return table.subspan(static_cast<std::size_t>(first - table.begin()));
}

Status check_tables(const Batch& batch, const Limits& limits) {
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
        const auto& tables = batch.sequences[i].pages;
        if (tables.size() != limits.groups.size()) {
            return invalid("sequence {}: {} page tables for {} cache groups", i, tables.size(),
                           limits.groups.size());
        }
        for (std::size_t group = 0; group < tables.size(); ++group) {
            for (const PageId page : held_pages(tables[group])) {
                if (page >= limits.groups[group].page_count) {
                    return invalid("sequence {}: page {} of {} in cache group {}", i, page,
                                   limits.groups[group].page_count, group);
                }
            }
        }
    }
    return {};
}

Status check_input(const Batch& batch, std::size_t i, const Limits& limits) {
    const Row& row = batch.rows[i];
    const auto is_below = [&](const char* name, std::size_t count) -> Status {
        if (row.value >= count)
            return invalid("row {}: {} {} of {}", i, name, row.value, count);
        return {};
    };
    switch (row.input) {
    case RowInput::token:
        return is_below("token", limits.vocabulary);
    case RowInput::slot:
        return is_below("slot", limits.slots);
    case RowInput::embedding:
        break;
    }
    ETNA_CHECK(is_below("embedding", batch.embeddings.size()));
    const std::size_t width = batch.embeddings[row.value].size();
    if (width != limits.width) {
        return invalid("row {}: its embedding has {} values; the width of the model is {}", i, width,
                       limits.width);
    }
    return {};
}

Status check_row(const Batch& batch, std::size_t i, const Limits& limits) {
    const Row& row = batch.rows[i];
    ETNA_CHECK(check_input(batch, i, limits));
    if (row.sequence >= batch.sequences.size())
        return invalid("row {}: sequence {} of {}", i, row.sequence, batch.sequences.size());
    if (row.position >= limits.context_tokens)
        return invalid("row {}: position {} of a context of {}", i, row.position, limits.context_tokens);
    if (row.attend_begin > row.position || row.attend_end <= row.position) {
        return invalid("row {}: position {} attends to [{}, {}), without itself", i, row.position,
                       row.attend_begin, row.attend_end);
    }
    const auto& tables = batch.sequences[row.sequence].pages;
    for (std::size_t group = 0; group < tables.size(); ++group) {
        if (row.position / limits.page_tokens >= tables[group].size())
            return invalid("row {}: no page for position {}", i, row.position);
        const uint32_t first = attend_begin(row, limits.groups[group]);
        if (tables[group][first / limits.page_tokens] == no_page)
            return invalid("row {}: no page for position {}", i, first);
    }
    return {};
}

Status check_sampled(const Row& row, std::size_t i, const Limits& limits) {
    if (row.output_slot >= limits.slots)
        return invalid("row {}: output slot {} of {}", i, row.output_slot, limits.slots);
    if (const Status status = sampling::check(row.sampling); !status)
        return status.error().while_doing(fmt::format("row {}", i));
    if (!sampling::is_plain(row.sampling))
        return invalid("row {}: the device samples by temperature, top_k, top_p and min_p only", i);
    const uint32_t top_k = row.sampling.top_k;
    if (row.sampling.temperature > 0 && (top_k == 0 || top_k > limits.candidates_max)) {
        return invalid("row {}: top_k {} is outside 1 to {}, the range of the device's sampler", i, top_k,
                       limits.candidates_max);
    }
    return {};
}

Status check_draft(const Batch& batch, const Row& row, std::size_t i, const Limits& limits) {
    if (row.next_token && *row.next_token >= limits.vocabulary)
        return invalid("row {}: next token {} of {}", i, *row.next_token, limits.vocabulary);
    if (row.requests_draft && (!batch.runs_draft_head || row.output_kind != OutputKind::sampled))
        return invalid("row {}: a draft without a sampled token or a draft head", i);
    return {};
}

Status check_outputs(const Batch& batch, const Limits& limits) {
    if (batch.runs_draft_head && !limits.has_draft_head)
        return invalid("the executor has no draft head");
    std::size_t outputs = 0;
    std::vector<bool> slot_is_written(limits.slots);
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        const Row& row = batch.rows[i];
        outputs += runs_head(row.output_kind) ? 1 : 0;
        ETNA_CHECK(check_draft(batch, row, i, limits));
        const uint32_t min = row.output_kind == OutputKind::candidates ? 1 : 0;
        if (row.candidates < min || row.candidates > limits.candidates_max) {
            return invalid("row {}: {} candidates, outside {} to {}", i, row.candidates, min,
                           limits.candidates_max);
        }
        if (row.output_kind != OutputKind::sampled)
            continue;
        ETNA_CHECK(check_sampled(row, i, limits));
        if (slot_is_written[row.output_slot])
            return invalid("row {}: output slot {} is written twice", i, row.output_slot);
        slot_is_written[row.output_slot] = true;
    }
    if (outputs > limits.output_rows_max) {
        return invalid("{} rows run the LM head, but at most {} fit a batch", outputs,
                       limits.output_rows_max);
    }
    return {};
}

} // namespace

Status check(const Limits& limits) {
    struct Bound {
        const char* name;
        uint32_t value;
    };
    const std::array<Bound, 9> bounds = {{{"vocabulary", limits.vocabulary},
                                          {"width", limits.width},
                                          {"page_tokens", limits.page_tokens},
                                          {"context_tokens", limits.context_tokens},
                                          {"batch_rows_max", limits.batch_rows_max},
                                          {"sequences_max", limits.sequences_max},
                                          {"slots", limits.slots},
                                          {"output_rows_max", limits.output_rows_max},
                                          {"in_flight_max", limits.in_flight_max}}};
    for (const Bound& bound : bounds) {
        if (bound.value == 0)
            return invalid("the executor's {} is 0", bound.name);
    }
    if (limits.state_slots > 0 && limits.state_slots <= limits.sequences_max) {
        return invalid("the executor has {} state slots for {} sequences and at least one snapshot",
                       limits.state_slots, limits.sequences_max);
    }
    if (limits.state_slots > 0 && limits.pending_rows_max == 0)
        return invalid("the executor's pending_rows_max is 0");
    if (limits.groups.empty() && limits.state_slots == 0)
        return invalid("the executor has neither cache groups nor state slots");
    for (std::size_t group = 0; group < limits.groups.size(); ++group) {
        const CacheGroup& one = limits.groups[group];
        if (one.page_count == 0)
            return invalid("the executor's cache group {} has no pages", group);
        if (one.kind == CacheKind::full)
            continue;
        if (one.window_tokens == 0)
            return invalid("the window of the executor's cache group {} is 0", group);
        const uint32_t needed =
            std::min(window_pages(one.window_tokens, limits.batch_rows_max, limits.page_tokens),
                     divide_up(limits.context_tokens, limits.page_tokens));
        if (one.page_count < needed) {
            return invalid("the executor's cache group {} has {} pages, but a sequence needs {}", group,
                           one.page_count, needed);
        }
    }
    return {};
}

Status check(const Batch& batch, const Limits& limits) {
    ETNA_CHECK(check_counts(batch, limits));
    ETNA_CHECK(check_copies(batch, limits));
    ETNA_CHECK(check_state_copies(batch, limits));
    ETNA_CHECK(check_tables(batch, limits));
    std::vector<SequenceRows> sequences(batch.sequences.size());
    std::vector<const Row*> previous(batch.sequences.size());
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        ETNA_CHECK(check_row(batch, i, limits));
        const Row& row = batch.rows[i];
        SequenceRows& rows = sequences[row.sequence];
        const Row*& last = previous[row.sequence];
        if (last == nullptr) {
            rows.begin = row.position;
        } else if (rows.end != row.position) {
            return invalid("row {}: position {} of sequence {} after position {}", i, row.position,
                           row.sequence, rows.end - 1);
        }
        rows.has_one_kind = rows.has_one_kind && (last == nullptr || last->kind == row.kind);
        rows.end = row.position + 1;
        last = &row;
    }
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        const Row& row = batch.rows[i];
        if (row.attend_end > sequences[row.sequence].end) {
            return invalid("row {}: attends to [{}, {}), but its sequence ends at {}", i, row.attend_begin,
                           row.attend_end, sequences[row.sequence].end);
        }
    }
    ETNA_CHECK(check_states(batch, sequences, limits));
    return check_outputs(batch, limits);
}

} // namespace etna::engine

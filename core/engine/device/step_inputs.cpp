#include "core/engine/device/step_inputs.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace etna::engine {
namespace {

constexpr uint64_t section_alignment = 16;

/// The key ranges of decode rows are rounded up to multiples of this, so that generation can reuse a step's
/// commands for this many tokens. A KV split beyond a row's keys costs a workgroup that ends at once.
constexpr uint32_t attend_step_tokens = 2 * kernels::decode_tile_tokens;

uint64_t section_bytes(uint64_t count, uint64_t element_bytes) {
    return round_up(std::max<uint64_t>(count * element_bytes, section_alignment), section_alignment);
}

kernels::SampleInfo sample_info(const Row& row) {
    if (row.output_kind != OutputKind::sampled)
        return {.candidates = row.candidates};
    return {.temperature = row.sampling.temperature,
            .top_k = row.sampling.top_k,
            .top_p = row.sampling.top_p,
            .min_p = row.sampling.min_p,
            .seed = row.sampling.seed,
            .position = row.position,
            .slot = row.output_slot,
            .candidates = row.candidates};
}

/// At least 1: the largest logit is always computed.
uint32_t candidates_needed(const Row& row) {
    const bool draws = row.output_kind == OutputKind::sampled && row.sampling.temperature > 0;
    return std::max({row.candidates, draws ? row.sampling.top_k : 0, 1U});
}

uint32_t input_of(const Row& row) {
    switch (row.input) {
    case RowInput::slot:
        return row.value | kernels::RowInfo::input_is_slot;
    case RowInput::embedding:
        return row.value | kernels::RowInfo::input_is_embedding;
    case RowInput::token:
        break;
    }
    return row.value;
}

/// The input of the token after a row; any token if it is not known.
uint32_t next_input_of(const Row& row) {
    if (row.next_token)
        return *row.next_token;
    return row.output_kind == OutputKind::sampled ? row.output_slot | kernels::RowInfo::input_is_slot : 0;
}

/// Words in the section of `used` words of page tables: rounded up, so that the sections after it stay where
/// they are while the tables grow.
std::size_t table_section_words(std::size_t used, std::size_t most) {
    constexpr std::size_t step = 256;
    return std::min<std::size_t>(round_up(used, step), most);
}

/// Returns the page that position 0 would have if the held pages are consecutive; it wraps around below 0.
std::optional<PageId> consecutive_from(std::span<const PageId> pages) {
    const auto held = std::find_if(pages.begin(), pages.end(), [](PageId page) { return page != no_page; });
    const auto first = static_cast<std::size_t>(held - pages.begin());
    for (std::size_t i = first; i < pages.size(); ++i) {
        if (pages[i] != pages[first] + (i - first))
            return std::nullopt;
    }
    const auto from =
        first < pages.size() ? pages[first] - static_cast<PageId>(first) : kernels::RowInfo::no_page;
    return from == kernels::RowInfo::no_page ? std::nullopt : std::optional(from);
}

} // namespace

uint64_t step_input_bytes(const Limits& limits, uint32_t rotary_dims, std::size_t groups) {
    const uint64_t pages = divide_up(limits.context_tokens, limits.page_tokens);
    const uint64_t group = section_bytes(limits.batch_rows_max, sizeof(kernels::RowInfo)) +
                           section_bytes(limits.sequences_max * pages, sizeof(uint32_t)) +
                           section_bytes(uint64_t{limits.batch_rows_max} * rotary_dims, sizeof(float));
    const uint64_t drafts = section_bytes(limits.batch_rows_max, sizeof(kernels::RowInfo)) +
                            section_bytes(limits.output_rows_max, sizeof(uint32_t)) +
                            section_bytes(limits.output_rows_max, sizeof(kernels::SampleInfo));
    return groups * group + (limits.has_draft_head ? drafts : 0) +
           section_bytes(uint64_t{limits.embeddings_max} * limits.width, sizeof(float)) +
           section_bytes(limits.sequences_max, sizeof(kernels::SequenceInfo)) +
           section_bytes(limits.output_rows_max, sizeof(uint32_t)) +
           section_bytes(limits.output_rows_max, sizeof(kernels::SampleInfo));
}

StepInputs::StepInputs(const Limits& limits, std::span<const model::Rotary> rotaries)
    : rotaries_(rotaries), cache_groups_(limits.groups), infos_(limits.groups.size()),
      tables_(limits.groups.size()), angles_(limits.groups.size()), context_tokens_(limits.context_tokens),
      table_words_max_(uint64_t{limits.sequences_max} * divide_up(limits.context_tokens, limits.page_tokens)),
      pending_half_(limits.state_slots) {
    step_.groups.resize(limits.groups.size());
    step_.row_ranges.reserve(model::row_ranges_max);
    order_.reserve(limits.batch_rows_max);
    packed_row_.reserve(limits.batch_rows_max);
    lengths_.reserve(limits.sequences_max);
    locations_.reserve(limits.sequences_max);
    sequence_infos_.reserve(limits.sequences_max);
    table_words_.reserve(table_words_max_);
    output_rows_.reserve(limits.batch_rows_max);
    draft_rows_.reserve(limits.has_draft_head ? limits.output_rows_max : 0);
}

template <class T>
std::span<T> StepInputs::take(MutableByteView out, std::size_t count, Section& section) {
    section = {.offset = cursor_, .bytes = section_bytes(count, sizeof(T))};
    cursor_ += section.bytes;
    assert(cursor_ <= out.size());
    return {reinterpret_cast<T*>(out.data() + section.offset), count};
}

void StepInputs::sort_rows(const Batch& batch) {
    order_.clear();
    packed_row_.resize(batch.rows.size());
    lengths_.assign(batch.sequences.size(), 0);
    step_.row_ranges.clear();
    for (const RowKind kind : {RowKind::decode, RowKind::prefill}) {
        model::RowRange range{.path = kind == RowKind::decode ? kernels::RowPath::decode
                                                              : kernels::RowPath::prefill,
                              .first = static_cast<uint32_t>(order_.size())};
        for (uint32_t i = 0; i < batch.rows.size(); ++i) {
            const Row& row = batch.rows[i];
            if (row.kind != kind)
                continue;
            order_.push_back(i);
            lengths_[row.sequence] = std::max(lengths_[row.sequence], row.position + 1);
        }
        range.count = static_cast<uint32_t>(order_.size()) - range.first;
        std::sort(order_.begin() + range.first, order_.end(), [&](uint32_t a, uint32_t b) {
            return std::pair(batch.rows[a].sequence, a) < std::pair(batch.rows[b].sequence, b);
        });
        for (std::size_t i = range.first; i < order_.size(); ++i) {
            const bool is_same =
                i > range.first && batch.rows[order_[i]].sequence == batch.rows[order_[i - 1]].sequence;
            range.sequences += is_same ? 0 : 1;
        }
        if (range.count > 0)
            step_.row_ranges.push_back(range);
    }
    for (uint32_t packed = 0; packed < order_.size(); ++packed)
        packed_row_[order_[packed]] = packed;
}

void StepInputs::pack_sequences(const Batch& batch, MutableByteView out) {
    sequence_infos_.clear();
    for (uint32_t packed = 0; packed < order_.size() && !pending_half_.empty(); ++packed) {
        const Row& row = batch.rows[order_[packed]];
        if (packed > 0 && batch.rows[order_[packed - 1]].sequence == row.sequence) {
            ++sequence_infos_.back().row_count;
            continue;
        }
        const SequenceView& view = batch.sequences[row.sequence];
        const uint32_t commits = view.state_update == StateUpdate::commit ? kernels::commit_rows : 0;
        const uint32_t half = pending_half_[view.state_slot] ? kernels::pending_parity : 0;
        sequence_infos_.push_back({.slot = view.state_slot,
                                   .first_row = packed,
                                   .row_count = 1,
                                   .position = row.position,
                                   .accepted = row.position - view.state_position,
                                   .flags = commits | half});
    }
    const auto infos = take<kernels::SequenceInfo>(out, sequence_infos_.size(), sequences_);
    std::copy(sequence_infos_.begin(), sequence_infos_.end(), infos.begin());
}

void StepInputs::submitted() {
    for (const kernels::SequenceInfo& info : sequence_infos_) {
        if ((info.flags & kernels::commit_rows) == 0)
            pending_half_[info.slot] = !pending_half_[info.slot];
    }
}

void StepInputs::pack_table(std::span<const PageId> pages, TableLocation& location) {
    location = {.first_page = kernels::RowInfo::no_page, .table = static_cast<uint32_t>(table_words_.size())};
    if (const auto first = consecutive_from(pages)) {
        location.first_page = *first;
    } else {
        table_words_.insert(table_words_.end(), pages.begin(), pages.end());
    }
}

void StepInputs::pack_group(const Batch& batch, std::size_t group, MutableByteView out) {
    table_words_.clear();
    locations_.resize(batch.sequences.size());
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
        pack_table(batch.sequences[i].pages[group].first(divide_up(lengths_[i], kernels::page_tokens)),
                   locations_[i]);
    }

    const auto infos = take<kernels::RowInfo>(out, order_.size(), infos_[group]);
    for (std::size_t i = 0; i < order_.size(); ++i) {
        const Row& row = batch.rows[order_[i]];
        const TableLocation& location = locations_[row.sequence];
        infos[i] = {.input = input_of(row),
                    .position = row.position,
                    .attend_begin = attend_begin(row, cache_groups_[group]),
                    .attend_end = attend_end(row, cache_groups_[group]),
                    .table = location.first_page == kernels::RowInfo::no_page ? location.table : 0,
                    .first_page = location.first_page};
    }
    step_.groups[group].attend_max = {};
    for (std::size_t i = 0; i < step_.row_ranges.size(); ++i)
        step_.groups[group].attend_max[i] = attend_max_of(step_.row_ranges[i], infos);
    const auto words =
        take<uint32_t>(out, table_section_words(table_words_.size(), table_words_max_), tables_[group]);
    std::copy(table_words_.begin(), table_words_.end(), words.begin());
}

kernels::AttendMax StepInputs::attend_max_of(const model::RowRange& range,
                                             std::span<const kernels::RowInfo> infos) const {
    kernels::AttendMax max;
    for (const kernels::RowInfo& info : infos.subspan(range.first, range.count))
        max.include(info.attend_begin, info.attend_end);
    if (range.path == kernels::RowPath::prefill)
        return max;
    const auto rounded = [&](uint32_t tokens) {
        return static_cast<uint32_t>(
            std::min<uint64_t>(round_up(tokens, attend_step_tokens), context_tokens_));
    };
    return {.end = rounded(max.end), .keys = rounded(max.keys)};
}

void StepInputs::pack_angles(const Batch& batch, std::size_t group, MutableByteView out) {
    const model::Rotary& rotary = rotaries_[group];
    const std::size_t dims = 2 * rotary.frequencies().size();
    const auto angles = take<float>(out, order_.size() * dims, angles_[group]);
    for (std::size_t i = 0; i < order_.size(); ++i)
        rotary.angles(batch.rows[order_[i]].rope_position[0], angles.subspan(i * dims, dims));
}

void StepInputs::pack_embeddings(const Batch& batch, MutableByteView out) {
    const std::size_t width = batch.embeddings.empty() ? 0 : batch.embeddings.front().size();
    has_embeddings_ = !batch.embeddings.empty();
    const auto values = take<float>(out, batch.embeddings.size() * width, embeddings_);
    for (std::size_t i = 0; i < batch.embeddings.size(); ++i) {
        std::copy(batch.embeddings[i].begin(), batch.embeddings[i].end(),
                  values.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
}

void StepInputs::pack_outputs(const Batch& batch, MutableByteView out) {
    output_rows_.clear();
    head_rows_ = 0;
    candidates_ = 1;
    for (uint32_t i = 0; i < batch.rows.size(); ++i) {
        const Row& row = batch.rows[i];
        if (row.output_kind == OutputKind::none)
            continue;
        const uint32_t at = runs_head(row.output_kind) ? head_rows_++ : packed_row_[i];
        output_rows_.push_back(
            {.output_kind = row.output_kind, .row = i, .at = at, .candidates = row.candidates});
        if (runs_head(row.output_kind))
            candidates_ = std::max(candidates_, candidates_needed(row));
    }
    const auto indices = take<uint32_t>(out, head_rows_, output_indices_);
    const auto infos = take<kernels::SampleInfo>(out, head_rows_, sample_infos_);
    for (const OutputRow& output : output_rows_) {
        if (!runs_head(output.output_kind))
            continue;
        indices[output.at] = packed_row_[output.row];
        infos[output.at] = sample_info(batch.rows[output.row]);
    }
}

void StepInputs::pack_drafts(const Batch& batch, MutableByteView out) {
    draft_rows_.clear();
    draft_candidates_ = 1;
    if (!batch.runs_draft_head)
        return;
    const auto next = take<kernels::RowInfo>(out, order_.size(), next_infos_);
    for (std::size_t i = 0; i < order_.size(); ++i)
        next[i] = {.input = next_input_of(batch.rows[order_[i]])};
    for (OutputRow& output : output_rows_) {
        const Row& row = batch.rows[output.row];
        if (!row.requests_draft)
            continue;
        output.draft = head_rows_ + static_cast<uint32_t>(draft_rows_.size());
        draft_rows_.push_back(output.row);
        draft_candidates_ =
            std::max(draft_candidates_, row.sampling.temperature > 0 ? row.sampling.top_k : 1);
    }
    const auto indices = take<uint32_t>(out, draft_rows_.size(), draft_indices_);
    const auto infos = take<kernels::SampleInfo>(out, draft_rows_.size(), draft_infos_);
    for (std::size_t i = 0; i < draft_rows_.size(); ++i) {
        const Row& row = batch.rows[draft_rows_[i]];
        indices[i] = packed_row_[draft_rows_[i]];
        infos[i] = sample_info(row);
        infos[i].position = row.position + 1;
        infos[i].slot = kernels::SampleInfo::no_slot;
        infos[i].candidates = 0;
    }
}

void StepInputs::pack(const Batch& batch, MutableByteView out) {
    cursor_ = 0;
    sort_rows(batch);
    for (std::size_t group = 0; group < step_.groups.size(); ++group) {
        pack_group(batch, group, out);
        pack_angles(batch, group, out);
    }
    pack_sequences(batch, out);
    pack_embeddings(batch, out);
    pack_outputs(batch, out);
    pack_drafts(batch, out);
}

const model::Step& StepInputs::step(const vk::Range& inputs, const vk::Range& results) {
    for (std::size_t group = 0; group < step_.groups.size(); ++group) {
        step_.groups[group].infos = infos_[group].in(inputs);
        step_.groups[group].tables = {tables_[group].in(inputs)};
        step_.groups[group].angles = angles_[group].in(inputs);
    }
    step_.rows = static_cast<uint32_t>(order_.size());
    step_.sequences = {.infos = sequences_.in(inputs),
                       .count = static_cast<uint32_t>(sequence_infos_.size()),
                       .rows = step_.rows};
    step_.embeddings = has_embeddings_ ? embeddings_.in(inputs) : vk::Range{};
    step_.returns_hidden = head_rows_ < output_rows_.size();
    step_.output_rows = head_rows_;
    step_.output_indices = output_indices_.in(inputs);
    step_.sample_infos = sample_infos_.in(inputs);
    step_.sample_results = results;
    step_.candidates = candidates_;
    step_.next_infos = next_infos_.in(inputs);
    step_.draft_rows = static_cast<uint32_t>(draft_rows_.size());
    step_.draft_indices = draft_indices_.in(inputs);
    step_.draft_infos = draft_infos_.in(inputs);
    step_.draft_results = results.part(head_rows_ * sizeof(kernels::SampleResult),
                                       draft_rows_.size() * sizeof(kernels::SampleResult));
    step_.draft_candidates = draft_candidates_;
    return step_;
}

} // namespace etna::engine

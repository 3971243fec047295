#include "tests/support/fake_executor.hpp"

#include "core/sampling/sampler.hpp"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace etna::test {
namespace {

const Error device_lost{ErrorKind::device_lost, "the fake device was lost",
                        "FakeOptions::lost_at_step was reached"};

std::vector<engine::Candidate> best(std::span<const float> logits, uint32_t count) {
    std::vector<engine::Candidate> candidates;
    candidates.reserve(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i)
        candidates.push_back({static_cast<TokenId>(i), logits[i]});
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.logit > b.logit; });
    candidates.resize(std::min<std::size_t>(count, candidates.size()));
    return candidates;
}

} // namespace

engine::Limits fake_limits() {
    return {.vocabulary = 64,
            .width = 3,
            .page_tokens = 4,
            .context_tokens = 256,
            .batch_rows_max = 16,
            .sequences_max = 4,
            .slots = 8,
            .embeddings_max = 16,
            .output_rows_max = 4,
            .candidates_max = 16,
            .verifies_steps = true,
            .in_flight_max = 2,
            .groups = {{.page_count = 128}}};
}

FakeDevice::Clock::time_point FakeDevice::submit(Clock::duration duration) {
    const std::scoped_lock lock(mutex_);
    free_ = std::max(free_, Clock::now()) + duration;
    return free_;
}

FakeExecutor::FakeExecutor(FakeOptions options)
    : options_(std::move(options)), model_{options_.limits.vocabulary, options_.scripts},
      states_(options_.limits.state_slots), slots_(options_.limits.slots) {
    for (const engine::CacheGroup& group : options_.limits.groups) {
        const std::size_t entries = std::size_t{group.page_count} * options_.limits.page_tokens;
        cache_.emplace_back(entries);
        written_at_.emplace_back(entries);
    }
}

Result<engine::Ticket> FakeExecutor::submit(const engine::Batch& batch) {
    if (is_lost_)
        return device_lost;
    if (submissions_.size() >= options_.limits.in_flight_max)
        return Error{ErrorKind::busy, fmt::format("{} submissions are unread", submissions_.size())};
    ETNA_CHECK(check(batch, options_.limits));
    if (options_.on_submit)
        options_.on_submit(batch);
    Submission submission{.copies = batch.copies,
                          .state_copies = batch.state_copies,
                          .rows = batch.rows,
                          .sequences = {},
                          .ticket = next_ticket_++,
                          .done = {}};
    for (engine::Row& row : submission.rows) {
        if (row.input == engine::RowInput::embedding)
            row.value = fake_token(batch.embeddings[row.value]);
    }
    for (const engine::SequenceView& view : batch.sequences) {
        Sequence& sequence = submission.sequences.emplace_back();
        for (const auto& pages : view.pages)
            sequence.pages.emplace_back(pages.begin(), pages.end());
        sequence.slot = view.state_slot;
        sequence.state_position = view.state_position;
        sequence.update = view.state_update;
    }
    submission.done = options_.device->submit(options_.step_delay);
    submissions_.push_back(std::move(submission));
    return engine::Ticket{submissions_.back().ticket};
}

Result<engine::Outputs> FakeExecutor::wait(engine::Ticket ticket) {
    if (is_lost_)
        return device_lost;
    if (submissions_.empty() || submissions_.front().ticket != ticket.value) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("ticket {} is not the oldest unread", ticket.value)};
    }
    const Submission submission = std::move(submissions_.front());
    submissions_.pop_front();
    if (options_.step_delay.count() > 0)
        std::this_thread::sleep_until(submission.done); // the work of a step
    if (options_.lost_at_step && ticket.value >= *options_.lost_at_step) {
        is_lost_ = true;
        return device_lost;
    }
    return execute(submission);
}

Result<engine::Outputs> FakeExecutor::execute(const Submission& submission) {
    const auto page_tokens = static_cast<std::ptrdiff_t>(options_.limits.page_tokens);
    for (const engine::PageCopy& copy : submission.copies) {
        const auto pages = cache_[copy.group].begin();
        std::copy_n(pages + copy.from * page_tokens, page_tokens, pages + copy.to * page_tokens);
    }
    ETNA_CHECK(copy_states(submission));
    ETNA_CHECK(begin_states(submission));
    running_ticket_ = submission.ticket;
    for (const engine::Row& row : submission.rows)
        ETNA_CHECK(write_row(row, submission.sequences[row.sequence]));
    engine::Outputs outputs;
    outputs.device_ms = std::chrono::duration<double, std::milli>(options_.step_delay).count();
    for (const engine::Row& row : submission.rows) {
        if (row.output_kind == engine::OutputKind::none)
            continue;
        ETNA_TRY(engine::RowOutput output, answer(row, submission.sequences[row.sequence]));
        outputs.rows.push_back(std::move(output));
    }
    end_states(submission);
    // Slots are written last, because rows of this step read those of earlier steps.
    std::size_t next = 0;
    for (const engine::Row& row : submission.rows) {
        if (row.output_kind == engine::OutputKind::sampled)
            slots_[row.output_slot] = outputs.rows[next].token;
        next += row.output_kind != engine::OutputKind::none ? 1 : 0;
    }
    return outputs;
}

Status FakeExecutor::copy_states(const Submission& submission) {
    for (const engine::StateCopy& copy : submission.state_copies) {
        states_[copy.to] = {.committed = states_[copy.from].committed, .pending = {}};
    }
    return {};
}

/// Commits the pending rows that each sequence continues from. During a step `pending` holds its rows.
Status FakeExecutor::begin_states(const Submission& submission) {
    if (states_.empty())
        return {};
    std::vector<bool> has_begun(submission.sequences.size());
    for (const engine::Row& row : submission.rows) {
        if (has_begun[row.sequence])
            continue;
        has_begun[row.sequence] = true;
        const Sequence& sequence = submission.sequences[row.sequence];
        State& state = states_[sequence.slot];
        if (sequence.state_position == 0)
            state.committed.clear();
        const uint32_t accepted = row.position - sequence.state_position;
        if (state.committed.size() != sequence.state_position || state.pending.size() < accepted) {
            return Error{ErrorKind::internal,
                         fmt::format("state slot {} covers {} positions with {} pending, not {} with {}",
                                     sequence.slot, state.committed.size(), state.pending.size(),
                                     sequence.state_position, accepted)};
        }
        state.committed.insert(state.committed.end(), state.pending.begin(),
                               state.pending.begin() + accepted);
        state.pending.clear();
    }
    return {};
}

void FakeExecutor::end_states(const Submission& submission) {
    for (const Sequence& sequence : submission.sequences) {
        if (states_.empty() || sequence.update == engine::StateUpdate::defer)
            continue;
        State& state = states_[sequence.slot];
        state.committed.insert(state.committed.end(), state.pending.begin(), state.pending.end());
        state.pending.clear();
    }
}

Status FakeExecutor::write_row(const engine::Row& row, const Sequence& sequence) {
    const PageTables& tables = sequence.pages;
    TokenId token = row.value;
    if (row.input == engine::RowInput::slot) {
        if (!slots_[row.value])
            return Error{ErrorKind::internal, fmt::format("slot {} was never filled", row.value)};
        token = *slots_[row.value];
    }
    const FakeEntry written{.token = token, .position = row.position, .kind = row.kind, .written = true};
    if (!states_.empty())
        states_[sequence.slot].pending.push_back(written);
    for (std::size_t group = 0; group < tables.size(); ++group) {
        FakeEntry& target = entry(group, tables, row.position);
        uint64_t& written_at = written_at_[group][static_cast<std::size_t>(&target - cache_[group].data())];
        if (written_at == running_ticket_) {
            return Error{ErrorKind::internal, fmt::format("two rows of step {} write position {} of one page",
                                                          running_ticket_, row.position)};
        }
        written_at = running_ticket_;
        target = written;
    }
    return {};
}

Result<engine::RowOutput> FakeExecutor::answer(const engine::Row& row, const Sequence& sequence) {
    const PageTables& tables = sequence.pages;
    std::vector<std::vector<FakeEntry>> visible(tables.size());
    for (std::size_t group = 0; group < tables.size(); ++group) {
        for (uint32_t i = attend_begin(row, options_.limits.groups[group]); i < row.attend_end; ++i)
            visible[group].push_back(entry(group, tables, i));
    }
    if (!states_.empty()) {
        const State& state = states_[sequence.slot];
        std::vector<FakeEntry>& all = visible.emplace_back(state.committed);
        const auto count = static_cast<std::ptrdiff_t>(row.position + 1 - state.committed.size());
        all.insert(all.end(), state.pending.begin(), state.pending.begin() + count);
    }
    engine::RowOutput output;
    const auto is_bad = [&](const FakeEntry& one) { return one.token == options_.bad_token; };
    for (const auto& entries : visible) {
        if (std::any_of(entries.begin(), entries.end(), is_bad)) {
            output.error = Error{ErrorKind::internal, "fake model: the logits are not numbers"};
            return output;
        }
    }
    std::vector<float> logits = model_.logits(visible);
    output.log_sum_exp = static_cast<float>(sampling::log_sum_exp(logits));
    if (row.output_kind == engine::OutputKind::sampled) {
        ETNA_TRY(const sampling::SampledToken choice, sampling::sample(row.sampling, logits, row.position));
        output.token = choice.token;
        output.logit = choice.logit;
        if (row.requests_draft)
            ETNA_CHECK(add_draft(row, visible, output));
    }
    output.candidates = best(logits, row.candidates);
    if (row.output_kind == engine::OutputKind::hidden)
        output.hidden = model_.hidden(visible, options_.limits.width);
    if (row.output_kind == engine::OutputKind::logits)
        output.logits = std::move(logits);
    return output;
}

/// Samples the token after the row's sample as the row of that position will.
Status FakeExecutor::add_draft(const engine::Row& row, std::vector<std::vector<FakeEntry>> visible,
                               engine::RowOutput& output) const {
    const uint32_t position = row.position + 1;
    for (std::size_t group = 0; group < visible.size(); ++group) {
        std::vector<FakeEntry>& entries = visible[group];
        entries.push_back(
            {.token = output.token, .position = position, .kind = engine::RowKind::decode, .written = true});
        if (group >= options_.limits.groups.size())
            continue; // a recurrent state
        engine::Row next = row;
        next.position = position;
        const uint32_t begin = attend_begin(row, options_.limits.groups[group]);
        const uint32_t next_begin = attend_begin(next, options_.limits.groups[group]);
        entries.erase(entries.begin(), entries.begin() + (next_begin - begin));
    }
    const std::vector<float> logits = model_.logits(visible);
    ETNA_TRY(const sampling::SampledToken choice, sampling::sample(row.sampling, logits, position));
    if (options_.drafts == FakeDrafts::none)
        return {};
    constexpr uint32_t late_begin = 60;
    const bool is_late = options_.drafts == FakeDrafts::late && position < late_begin;
    const bool is_wrong = options_.drafts == FakeDrafts::wrong || is_late;
    output.draft = engine::RowOutput::Draft{
        .token = is_wrong ? (choice.token + 1) % options_.limits.vocabulary : choice.token,
        .log_sum_exp = static_cast<float>(sampling::log_sum_exp(logits)),
        .logit = choice.logit};
    return {};
}

FakeEntry& FakeExecutor::entry(std::size_t group, const PageTables& tables, uint32_t position) {
    const uint32_t page_tokens = options_.limits.page_tokens;
    const std::size_t page = tables[group][position / page_tokens];
    return cache_[group][page * page_tokens + position % page_tokens];
}

} // namespace etna::test

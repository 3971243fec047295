#include "core/engine/scheduler.hpp"

#include "core/engine/wanted.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
namespace {

bool is_older(const Sequence* a, const Sequence* b) {
    return a->id < b->id;
}

template <class Queue>
void insert_by_age(Queue& queue, Sequence* sequence) {
    queue.insert(std::upper_bound(queue.begin(), queue.end(), sequence, is_older), sequence);
}

void tell(Updates& updates, RequestId request, Event event) {
    Update& update = updates.emplace_back();
    update.request = request;
    update.event = std::move(event);
}

} // namespace

Scheduler::Scheduler(const Limits& limits, const SchedulerOptions& options)
    : limits_(limits), cache_(limits, options.hash_key, options.model_salt) {
    // With these bounds a sequence that generates always finds a row, a wish and, mostly, a slot.
    running_max_ = std::min({limits.sequences_max, limits.rows_max, limits.wanted_max,
                             std::max(limits.slots / limits.in_flight_max, 1U)});
    for (uint32_t slot = limits.slots; slot > 0; --slot)
        free_slots_.push_back(slot - 1);
}

void Scheduler::add(RequestId id, Request request, Clock::time_point now) {
    assert(sequences_.empty() || sequences_.rbegin()->first < id);
    const auto [entry, is_new] =
        sequences_.emplace(id, make_sequence(id, std::move(request), limits_, cache_, now));
    assert(is_new);
    waiting_.push_back(&entry->second);
}

const Batch& Scheduler::schedule(Updates& updates, Clock::time_point now) {
    batch_.copies.clear();
    batch_.sequences.clear();
    batch_.rows.clear();
    Step step;
    schedule_generation(step, updates, now);
    for (Sequence* sequence : running_) {
        if (sequence->state == SequenceState::prefill)
            schedule_known(*sequence, step);
    }
    admit_waiting(step, updates, now);
    for (Sequence* sequence : running_) {
        cache_.publish(sequence->pages, sequence->content(),
                       std::min(sequence->computed, sequence->length()));
    }
    cache_.end_batch();
    if (!batch_.rows.empty())
        steps_.push_back(std::move(step));
    return batch_;
}

bool Scheduler::samples_on_device(const Sequence& sequence) const {
    return wish_of(sequence, sequence.expected_length() - 1, limits_).want == Want::sampled;
}

/// Whether the next row has an input, a place for its output, and a use.
bool Scheduler::can_generate(const Sequence& sequence) const {
    const uint32_t index = sequence.computed;
    const bool has_input = index < sequence.length() || (index < sequence.expected_length() && sequence.slot);
    const bool has_output = !samples_on_device(sequence) || !free_slots_.empty();
    return has_input && has_output && index + 1 < sequence.length_max;
}

void Scheduler::schedule_generation(Step& step, Updates& updates, Clock::time_point now) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
        Sequence& sequence = *running_[i];
        if (sequence.state != SequenceState::decode || sequence.pace == Pace::hold || !can_generate(sequence))
            continue;
        if (!find_page(sequence, updates, now))
            return; // the youngest itself had to yield; nobody comes after it
        append_rows(sequence, 1, step);
    }
}

/// Finds a page for the next place of a sequence, from younger ones if need be: those have no rows in this
/// batch yet.
bool Scheduler::find_page(Sequence& sequence, Updates& updates, Clock::time_point now) {
    while (!cache_.reserve(sequence.pages, sequence.computed, sequence.computed + 1, 0, batch_.copies)) {
        Sequence& youngest = *running_.back();
        if (running_.size() > 1) {
            preempt(youngest);
            if (&youngest == &sequence)
                return false;
            continue;
        }
        sequence.length_max = sequence.expected_length(); // what is unread still comes
        if (sequence.unread == 0) {
            Finished finished = describe_end(sequence, now);
            finished.reason = FinishReason::length;
            end(sequence, std::move(finished), updates);
        }
        return false;
    }
    return true;
}

void Scheduler::preempt(Sequence& sequence) {
    running_.erase(std::find(running_.begin(), running_.end(), &sequence));
    cache_.publish_all(sequence.pages, sequence.content(), std::min(sequence.computed, sequence.length()));
    cache_.release(sequence.pages);
    sequence.computed = 0;
    sequence.state = SequenceState::waiting;
    ++preemptions_;
    insert_by_age(waiting_, &sequence);
}

/// Takes the place and the pages of the youngest sequence that is held. False where there is none to take.
bool Scheduler::preempt_held() {
    const auto held = std::find_if(running_.rbegin(), running_.rend(), [](const Sequence* one) {
        return one->pace == Pace::hold && one->state == SequenceState::decode && one->unread == 0;
    });
    if (held == running_.rend())
        return false;
    preempt(**held);
    return true;
}

/// How many rows for known tokens fit.
uint32_t Scheduler::known_rows(const Sequence& sequence, const Step& step) const {
    const auto room = limits_.rows_max - static_cast<uint32_t>(batch_.rows.size());
    const auto wishes = limits_.wanted_max - static_cast<uint32_t>(step.size());
    uint32_t end = sequence.length();
    if (wishes == 0 || (samples_on_device(sequence) && free_slots_.empty()))
        --end; // the last row wants an output, and waits for a place for it
    const uint32_t first_score = std::max(sequence.computed, sequence.unscored);
    if (sequence.scores(first_score)) // half of the wishes, lest others wait for the whole prompt
        end = std::min(end, first_score + divide_up(wishes, 2));
    return std::min(room, end - sequence.computed);
}

/// Rows for known tokens, as many as fit. Their pages were taken on admission.
void Scheduler::schedule_known(Sequence& sequence, Step& step) {
    append_rows(sequence, known_rows(sequence, step), step);
    if (sequence.computed == sequence.length())
        sequence.state = SequenceState::decode;
}

void Scheduler::admit_waiting(Step& step, Updates& updates, Clock::time_point now) {
    while (batch_.rows.size() < limits_.rows_max) {
        const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                       [](const Sequence* one) { return one->pace == Pace::go_on; });
        if (next == waiting_.end())
            return;
        Sequence& sequence = **next;
        if (running_.size() == running_max_ && !preempt_held())
            return;
        if (sequence.unread > 0)
            return; // it was preempted; its last tokens are still to come
        if (!take_pages(sequence)) {
            if (preempt_held())
                continue;
            if (!running_.empty())
                return;
            Finished finished = describe_end(sequence, now); // it outgrew the memory
            finished.reason = FinishReason::length;
            end(sequence, std::move(finished), updates);
            continue;
        }
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &sequence));
        insert_by_age(running_, &sequence);
        sequence.state = SequenceState::prefill;
        if (!sequence.admitted) {
            sequence.admitted = now;
            sequence.cached_tokens = sequence.computed;
        }
        schedule_known(sequence, step);
    }
}

/// Pages for all known tokens, as many of them as possible from the cache; one row at least is left to
/// compute, and all that have to be scored. Some pages stay spare for those who generate, lest a newcomer is
/// sent back at once.
bool Scheduler::take_pages(Sequence& sequence) {
    const uint32_t length = sequence.length();
    const auto spare = static_cast<uint32_t>(running_.size());
    const uint32_t most = sequence.scores(sequence.unscored) ? sequence.unscored : length - 1;
    // The second try does without the page that would be copied only for the sake of a few rows.
    for (const bool copies : {true, false}) {
        const uint32_t places_max = copies ? most : most / limits_.page_tokens * limits_.page_tokens;
        uint32_t cached = cache_.reuse(sequence.pages, sequence.content(), places_max);
        if (copies && cached < places_max)
            cached += cache_.reuse_beginning(sequence.pages, sequence.content(), cached, places_max);
        if (cache_.reserve(sequence.pages, cached, length, spare, batch_.copies)) {
            sequence.computed = cached;
            return true;
        }
        cache_.release(sequence.pages);
    }
    return false;
}

void Scheduler::append_rows(Sequence& sequence, uint32_t count, Step& step) {
    if (count == 0)
        return;
    const auto view_index = static_cast<uint32_t>(batch_.sequences.size());
    SequenceView& view = batch_.sequences.emplace_back();
    view.pages.assign(sequence.pages.groups.begin(), sequence.pages.groups.end());
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t index = sequence.computed++;
        Row& row = batch_.rows.emplace_back();
        row.kind = sequence.kind(index);
        row.sequence = view_index;
        row.index = index;
        row.position.fill(index);
        row.input = index < sequence.length() ? RowInput::token : RowInput::slot;
        row.value = index < sequence.length() ? sequence.tokens[index] : *sequence.slot;
        if (index + 1 == sequence.expected_length()) {
            want_output(sequence, row, step);
        } else if (sequence.scores(index)) {
            want_score(sequence, row, step);
        }
    }
}

void Scheduler::want_score(Sequence& sequence, Row& row, Step& step) {
    row.want = Want::logits;
    row.candidates = std::min(sequence.top_candidates, limits_.vocabulary);
    sequence.unscored = row.index + 1;
    step.push_back({.request = sequence.id, .index = row.index, .slot = std::nullopt});
}

void Scheduler::want_output(Sequence& sequence, Row& row, Step& step) {
    const Wish wish = wish_of(sequence, row.index, limits_);
    row.want = wish.want;
    row.candidates = wish.candidates;
    sequence.slot.reset();
    if (row.want == Want::sampled) {
        row.sampling = sequence.sampling;
        row.output_slot = free_slots_.back();
        free_slots_.pop_back();
        sequence.slot = row.output_slot;
    }
    ++sequence.unread;
    step.push_back({.request = sequence.id, .index = row.index, .slot = sequence.slot});
}

void Scheduler::prepare_constraints() {
    if (steps_.empty())
        return;
    for (const Wanted& wanted : steps_.back()) {
        const auto found = sequences_.find(wanted.request);
        if (found == sequences_.end() || wanted.index + 1 != found->second.length())
            continue;
        if (const auto& constraint = found->second.constraint)
            (void)constraint->allowed(); // what is wrong with it is told when the logits are there
    }
}

Status Scheduler::publish(const Outputs& outputs, Updates& updates, Clock::time_point now) {
    if (steps_.empty() || steps_.front().size() != outputs.rows.size()) {
        return Error{ErrorKind::internal,
                     fmt::format("{} outputs for a step that wanted {}", outputs.rows.size(),
                                 steps_.empty() ? 0 : steps_.front().size())};
    }
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    for (std::size_t i = 0; i < step.size(); ++i) {
        const Wanted& wanted = step[i];
        if (wanted.slot)
            free_slots_.push_back(*wanted.slot); // its readers, if any, have been submitted
        const auto found = sequences_.find(wanted.request);
        if (found == sequences_.end())
            continue; // surplus: the request ended in between
        if (const auto& error = outputs.rows[i].error) {
            fail(found->second, *error, updates, now);
            continue;
        }
        if (wanted.index + 1 < found->second.prompt_tokens) {
            tell(updates, wanted.request, read_score(outputs.rows[i], found->second, wanted.index));
            continue;
        }
        auto token = read_token(outputs.rows[i], found->second, wanted.index, limits_, sampler_);
        const bool is_own_fault = !token && (token.error().kind == ErrorKind::invalid_argument ||
                                             token.error().kind == ErrorKind::unsupported);
        if (token) {
            accept(found->second, std::move(token).value(), updates, now);
        } else if (is_own_fault) {
            fail(found->second, token.error(), updates, now); // the others go on
        } else {
            return token.error();
        }
    }
    return {};
}

void Scheduler::accept(Sequence& sequence, TokenEvent token, Updates& updates, Clock::time_point now) {
    --sequence.unread;
    if (!sequence.first_token)
        sequence.first_token = now;
    const auto& end_tokens = sequence.end_tokens;
    if (std::find(end_tokens.begin(), end_tokens.end(), token.token) != end_tokens.end()) {
        Finished finished = describe_end(sequence, now);
        finished.reason = FinishReason::stop;
        finished.end_token = token.token;
        end(sequence, std::move(finished), updates);
        return;
    }
    sequence.append(token.token);
    const Result<bool> is_over = follow_constraint(sequence, token.token);
    tell(updates, sequence.id, std::move(token));
    if (!is_over)
        return fail(sequence, is_over.error(), updates, now);
    if (*is_over || sequence.length() == sequence.length_max) {
        Finished finished = describe_end(sequence, now);
        finished.reason = *is_over ? FinishReason::stop : FinishReason::length;
        end(sequence, std::move(finished), updates);
    }
}

/// Whether the answer is whole with the token, and nothing may follow.
Result<bool> Scheduler::follow_constraint(Sequence& sequence, TokenId token) {
    if (sequence.constraint == nullptr)
        return false;
    sequence.constraint->accept(token);
    return sequence.constraint->is_over();
}

void Scheduler::fail(Sequence& sequence, const Error& error, Updates& updates, Clock::time_point now) {
    Finished finished = describe_end(sequence, now);
    finished.reason = FinishReason::error;
    finished.error = error;
    end(sequence, std::move(finished), updates);
}

void Scheduler::cancel(RequestId id, Updates& updates, Clock::time_point now) {
    const auto found = sequences_.find(id);
    if (found == sequences_.end())
        return;
    Finished finished = describe_end(found->second, now);
    finished.reason = FinishReason::cancelled;
    end(found->second, std::move(finished), updates);
}

void Scheduler::set_pace(RequestId id, Pace pace) {
    if (const auto found = sequences_.find(id); found != sequences_.end())
        found->second.pace = pace;
}

bool Scheduler::holds_any() const {
    return std::any_of(sequences_.begin(), sequences_.end(),
                       [](const auto& entry) { return entry.second.pace == Pace::hold; });
}

void Scheduler::end_all(FinishReason reason, const std::optional<Error>& error, Updates& updates,
                        Clock::time_point now) {
    while (!sequences_.empty()) {
        Sequence& sequence = sequences_.begin()->second;
        Finished finished = describe_end(sequence, now);
        finished.reason = reason;
        finished.error = error;
        end(sequence, std::move(finished), updates);
    }
}

void Scheduler::end(Sequence& sequence, Finished finished, Updates& updates) {
    if (finished.error && finished.error->kind == ErrorKind::internal) {
        cache_.withdraw(sequence.pages); // what could not be computed must not be found again
    } else {
        cache_.publish_all(sequence.pages, sequence.content(),
                           std::min(sequence.computed, sequence.length()));
    }
    cache_.release(sequence.pages);
    std::erase(running_, &sequence);
    std::erase(waiting_, &sequence);
    sequence.state = SequenceState::finished;
    const RequestId id = sequence.id;
    tell(updates, id, std::move(finished));
    sequences_.erase(id);
}

} // namespace etna::engine

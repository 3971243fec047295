#include "core/engine/draft_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace etna::engine {

DraftModel::DraftModel(std::unique_ptr<Executor> executor, const SchedulerOptions& options)
    : executor_(std::move(executor)), scheduler_(executor_->limits(), options) {}

/// Uses only parameters that the device samples with; penalties, bias and grammars apply at verification.
Request DraftModel::request_for(const DraftRequest& draft, uint32_t tokens_max) const {
    const sampling::Parameters& parameters = draft.sampling;
    Request request;
    request.prompt.assign(draft.text.tokens.begin(), draft.text.tokens.end());
    request.kinds.assign(draft.text.kinds.begin(), draft.text.kinds.end());
    request.sampling = {.temperature = parameters.temperature,
                        .top_k = parameters.top_k,
                        .top_p = parameters.top_p,
                        .min_p = parameters.min_p,
                        .seed = parameters.seed};
    request.max_tokens = tokens_max;
    // The next request has the same tokens: this position is where it can continue if its drafts differ.
    request.branch_positions = {static_cast<uint32_t>(request.prompt.size()) - 1};
    request.cache_salt = draft.cache_salt;
    return request;
}

Result<std::vector<ModelDrafts>> DraftModel::draft(std::span<const DraftRequest> requests) {
    add(requests);
    is_first_batch_ = true;
    while (!scheduler_.is_idle() || !tickets_.empty())
        ETNA_CHECK(step());
    std::vector<ModelDrafts> result(requests.size());
    for (Drafts& drafts : drafts_) {
        result[drafts.index] = {.tokens = std::move(drafts.tokens),
                                .is_caught_up = drafts.is_added && !drafts.is_late};
    }
    return result;
}

/// Adds requests with few rows left before those with possibly an entire prompt, which get the first batch
/// only.
void DraftModel::add(std::span<const DraftRequest> requests) {
    drafts_.clear();
    first_id_ = next_id_;
    for (const bool is_caught_up : {true, false}) {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (requests[i].is_caught_up != is_caught_up)
                continue;
            Drafts& drafts = drafts_.emplace_back();
            drafts.index = i;
            drafts.confidence_min = requests[i].confidence_min;
            drafts.was_caught_up = is_caught_up;
            const RequestId id = next_id_++;
            Request request = request_for(requests[i], requests[i].tokens_max);
            drafts.is_added = check(request, executor_->limits()).has_value();
            drafts.is_done = !drafts.is_added;
            if (drafts.is_added)
                scheduler_.add(id, std::move(request), Clock::now());
        }
    }
}

Status DraftModel::step() {
    bool is_started = false;
    if (tickets_.size() < executor_->limits().in_flight_max) {
        const Batch& batch = scheduler_.schedule(updates_, Clock::now());
        is_started = !batch.rows.empty();
        if (is_started) {
            ETNA_TRY(const Ticket ticket, executor_->submit(batch));
            tickets_.push_back(ticket);
            postpone_late();
        }
    }
    if (!tickets_.empty() && (!is_started || tickets_.size() == executor_->limits().in_flight_max)) {
        const Ticket ticket = tickets_.front();
        tickets_.pop_front();
        ETNA_TRY(const Outputs outputs, executor_->wait(ticket));
        ETNA_CHECK(scheduler_.process_outputs(outputs, updates_, Clock::now()));
    } else if (!is_started && updates_.empty()) {
        return Error{ErrorKind::internal, "draft requests are waiting, and none can run"};
    }
    const Updates updates = std::exchange(updates_, {});
    for (const Update& update : updates)
        receive(update);
    return {};
}

/// Postpones the requests that need more than the last submitted batch. Their computed pages stay in the
/// cache for the next call.
void DraftModel::postpone_late() {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
        Drafts& drafts = drafts_[i];
        if (drafts.is_done)
            continue;
        const auto left = scheduler_.rows_left(first_id_ + i);
        // A request that had caught up has few rows left, unless others needed its pages.
        drafts.is_late = drafts.was_caught_up ? left && *left > executor_->limits().batch_rows_max
                                              : is_first_batch_ && (!left || *left > 0);
        if (!drafts.is_late)
            continue;
        drafts.is_done = true;
        scheduler_.cancel(first_id_ + i, updates_, Clock::now());
    }
    is_first_batch_ = false;
}

void DraftModel::receive(const Update& update) {
    Drafts& drafts = drafts_[update.request - first_id_];
    const auto* const token = std::get_if<TokenEvent>(&update.event);
    if (token == nullptr || drafts.is_done)
        return;
    drafts.tokens.push_back(token->token);
    if (drafts.confidence_min && std::exp(token->logit - token->log_sum_exp) < *drafts.confidence_min) {
        drafts.is_done = true;
        scheduler_.cancel(update.request, updates_, Clock::now());
        updates_.clear(); // the cancellation is not reported
    }
}

} // namespace etna::engine

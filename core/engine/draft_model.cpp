#include "core/engine/draft_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace etna::engine {

DraftModel::DraftModel(std::unique_ptr<Executor> executor, const SchedulerOptions& options)
    : executor_(std::move(executor)), scheduler_(executor_->limits(), options) {}

/// Only what the device draws by itself: penalties, bias and grammars are left to the verification.
Request DraftModel::request_for(const DraftWish& wish, uint32_t most) const {
    const sampling::Parameters& given = wish.sampling;
    Request request;
    request.prompt.assign(wish.content.tokens.begin(), wish.content.tokens.end());
    request.kinds.assign(wish.content.kinds.begin(), wish.content.kinds.end());
    request.sampling = {.temperature = given.temperature,
                        .top_k = given.top_k,
                        .top_p = given.top_p,
                        .min_p = given.min_p,
                        .seed = given.seed};
    request.max_tokens = most;
    request.cache_salt = wish.cache_salt;
    return request;
}

Result<std::vector<std::vector<TokenId>>> DraftModel::draft(std::span<const DraftWish> wishes) {
    drafts_.assign(wishes.size(), {});
    first_id_ = next_id_;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        drafts_[i].confidence_min = wishes[i].confidence_min;
        const RequestId id = next_id_++;
        Request request = request_for(wishes[i], wishes[i].most);
        if (check(request, executor_->limits()))
            scheduler_.add(id, std::move(request), Clock::now());
    }
    while (!scheduler_.is_idle() || !tickets_.empty())
        ETNA_CHECK(step());
    std::vector<std::vector<TokenId>> result;
    for (Drafts& drafts : drafts_)
        result.push_back(std::move(drafts.tokens));
    return result;
}

Status DraftModel::step() {
    bool is_started = false;
    if (tickets_.size() < executor_->limits().in_flight_max) {
        const Batch& batch = scheduler_.schedule(updates_, Clock::now());
        is_started = !batch.rows.empty();
        if (is_started) {
            ETNA_TRY(const Ticket ticket, executor_->submit(batch));
            tickets_.push_back(ticket);
        }
    }
    if (!tickets_.empty() && (!is_started || tickets_.size() == executor_->limits().in_flight_max)) {
        const Ticket ticket = tickets_.front();
        tickets_.pop_front();
        ETNA_TRY(const Outputs outputs, executor_->wait(ticket));
        ETNA_CHECK(scheduler_.publish(outputs, updates_, Clock::now()));
    } else if (!is_started && updates_.empty()) {
        return Error{ErrorKind::internal, "drafts are waiting, and none can be made"};
    }
    const Updates updates = std::exchange(updates_, {});
    for (const Update& update : updates)
        take(update);
    return {};
}

void DraftModel::take(const Update& update) {
    Drafts& drafts = drafts_[update.request - first_id_];
    const auto* const token = std::get_if<TokenEvent>(&update.event);
    if (token == nullptr || drafts.is_done)
        return;
    drafts.tokens.push_back(token->token);
    if (drafts.confidence_min && std::exp(token->logit - token->log_sum_exp) < *drafts.confidence_min) {
        drafts.is_done = true;
        scheduler_.cancel(update.request, updates_, Clock::now());
        updates_.clear(); // nobody is to be told
    }
}

} // namespace etna::engine

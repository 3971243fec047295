#include "tests/engine/driver.hpp"

#include "core/engine/prompt_lookup.hpp"

#include <stdexcept>
#include <utility>

namespace etna::test {

std::vector<TokenId> Received::ids() const {
    std::vector<TokenId> result;
    result.reserve(tokens.size());
    for (const engine::TokenEvent& event : tokens)
        result.push_back(event.token);
    return result;
}

Driver::Driver(FakeOptions options, std::optional<FakeOptions> draft)
    : executor_(std::move(options)), scheduler_(executor_.limits(), {.hash_key = {1, 2}, .model_salt = 3}) {
    require(check(executor_.limits()));
    if (draft) {
        draft_model_.emplace(std::make_unique<FakeExecutor>(std::move(*draft)),
                             engine::SchedulerOptions{.hash_key = {4, 5}});
    }
}

void Driver::draft() {
    const std::vector<engine::DraftRequest> requests = scheduler_.draft();
    if (requests.empty() || !draft_model_)
        return;
    auto drafts = draft_model_->draft(requests);
    if (!drafts)
        throw std::runtime_error(drafts.error().message);
    for (const engine::ModelDrafts& one : *drafts)
        postponed_ += one.is_caught_up ? 0 : 1;
    scheduler_.set_drafts(requests, std::move(drafts).value());
}

void Driver::require(const Status& status) {
    if (!status)
        throw std::runtime_error(status.error().message);
}

engine::RequestId Driver::add(engine::Request request, std::optional<engine::RequestId> request_group) {
    require(check(request, executor_.limits()));
    engine::make_draft_texts({&request, 1}, executor_.limits().context_tokens);
    received_[next_id_].resize(request.beams ? request.beams->answers : 1);
    scheduler_.add(next_id_, std::move(request), engine::Clock::now(), request_group);
    return next_id_++;
}

void Driver::cancel(engine::RequestId id) {
    scheduler_.cancel(id, updates_, engine::Clock::now());
    take_updates();
}

bool Driver::start_step() {
    if (tickets_.size() >= executor_.limits().in_flight_max)
        return false;
    if (workers_ != nullptr)
        workers_->begin_step();
    draft();
    batch_ = scheduler_.schedule(updates_, engine::Clock::now());
    const bool has_updates = !updates_.empty();
    take_updates();
    if (batch_.rows.empty()) {
        if (tickets_.empty() && !has_updates && !scheduler_.is_idle() && !scheduler_.has_backpressure() &&
            !scheduler_.waits_for_constraints())
            throw std::runtime_error("requests are waiting, and none can run");
        return false;
    }
    auto ticket = executor_.submit(batch_);
    if (!ticket)
        throw std::runtime_error(ticket.error().message);
    tickets_.push_back(*ticket);
    if (workers_ != nullptr)
        scheduler_.prepare_constraints();
    rows_ += batch_.rows.size();
    ++steps_;
    return true;
}

bool Driver::finish_step() {
    if (tickets_.empty())
        return false;
    const engine::Ticket ticket = tickets_.front();
    tickets_.pop_front();
    const auto outputs = executor_.wait(ticket);
    if (!outputs)
        throw std::runtime_error(outputs.error().message);
    require(scheduler_.process_outputs(*outputs, updates_, engine::Clock::now()));
    take_updates();
    return true;
}

void Driver::run() {
    while (!is_idle()) {
        while (start_step()) {
        }
        finish_step();
    }
}

void Driver::take_updates() {
    for (engine::Update& update : updates_) {
        Received& received = received_.at(update.request).at(update.answer);
        if (received.finished)
            throw std::runtime_error("an event came after the end");
        if (const auto* token = std::get_if<engine::TokenEvent>(&update.event)) {
            const bool is_score = token->origin == engine::Origin::prompt;
            if (is_score && !received.tokens.empty())
                throw std::runtime_error("a token of the prompt was told after the first of the answer");
            (is_score ? received.scores : received.tokens).push_back(*token);
        } else {
            received.finished = std::get<engine::Finished>(std::move(update.event));
        }
    }
    updates_.clear();
    require(scheduler_.verify());
}

Answer read_all(engine::Stream& stream) {
    Answer answer;
    while (true) {
        engine::Event event = stream.next();
        if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
            answer.tokens.push_back(token->token);
            continue;
        }
        answer.finished = std::get<engine::Finished>(std::move(event));
        return answer;
    }
}

engine::Request long_request(uint32_t tokens, const engine::Speculation& speculation) {
    engine::Request request = {.prompt = {1, 2, 3}, .max_tokens = tokens, .speculation = speculation};
    request.sampling.temperature = 0;
    return request;
}

FakeOptions roomy() {
    FakeOptions options;
    options.limits.context_tokens = 600;
    options.limits.output_rows_max = options.limits.batch_rows_max;
    options.limits.slots = 32;
    for (engine::CacheGroup& group : options.limits.groups)
        group.page_count = 200;
    return options;
}

} // namespace etna::test

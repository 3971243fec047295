#include "server/api/running_answers.hpp"

#include <utility>

namespace etna::server::api {

RunningAnswers::Shared RunningAnswers::add(std::unique_ptr<RunningAnswer> answer) {
    Shared shared = std::move(answer);
    const std::scoped_lock lock(mutex_);
    answers_.remove_if([](const auto& one) { return one.expired(); });
    answers_.push_back(shared);
    return shared;
}

std::vector<std::shared_ptr<const RunningAnswer>> RunningAnswers::of_model(std::string_view model) {
    std::vector<std::shared_ptr<const RunningAnswer>> found;
    const std::scoped_lock lock(mutex_);
    for (const auto& one : answers_) {
        if (Shared answer = one.lock(); answer != nullptr && answer->model == model)
            found.push_back(std::move(answer));
    }
    return found;
}

} // namespace etna::server::api

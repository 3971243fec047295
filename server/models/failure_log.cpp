#include "server/models/failure_log.hpp"

#include "core/base/log.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

std::string without_digits(std::string text) {
    std::erase_if(text, [](char one) { return one >= '0' && one <= '9'; });
    return text;
}

} // namespace

void FailureLog::write(const std::string& name, const ListedSource& listed, const Error& error) {
    Failure failure = {.path = listed.source.path,
                       .identity = listed.identity,
                       .kind = error.kind,
                       .cause = without_digits(error.message)};
    const auto known = last_.find(name);
    if (known != last_.end() && known->second == failure)
        return;
    if (known == last_.end() && last_.size() >= models_max)
        last_.erase(last_.begin());
    last_.insert_or_assign(name, std::move(failure));
    log(LogLevel::warning, fmt::format("a model cannot be loaded: {}{}{}", error.message,
                                       error.hint.empty() ? "" : "; ", error.hint));
}

} // namespace etna::server

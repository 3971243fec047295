#include "core/engine/engine.hpp"

#include "core/engine/engine_loop.hpp"

#include <random>
#include <string>
#include <system_error>
#include <utility>

namespace etna::engine {
namespace {

HashKey random_key() {
    std::random_device source;
    HashKey key{};
    for (uint64_t& word : key)
        word = uint64_t{source()} << 32 | source();
    return key;
}

} // namespace

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<Executor> executor,
                                               const EngineOptions& options,
                                               std::unique_ptr<Executor> draft) {
    ETNA_CHECK(check(executor->limits()));
    if (draft != nullptr)
        ETNA_CHECK(check(draft->limits()));
    if (options.queue_max == 0)
        return Error{ErrorKind::invalid_argument, "queue_max is 0", "choose at least 1"};
    try {
        auto loop = std::make_unique<Loop>(std::move(executor), std::move(draft), options, random_key());
        return std::unique_ptr<Engine>(new Engine(std::move(loop)));
    } catch (const std::system_error& error) {
        return Error{ErrorKind::out_of_memory,
                     std::string("the system has no free thread for the engine: ") + error.what(),
                     "raise the limit on threads, or end other programs"};
    }
}

Engine::Engine(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Engine::~Engine() = default;

Result<Stream> Engine::submit(Request request) {
    std::vector<Request> one;
    one.push_back(std::move(request));
    ETNA_TRY(auto streams, loop_->submit_all(std::move(one)));
    return std::move(streams.front());
}

Result<std::vector<Stream>> Engine::submit_all(std::vector<Request> requests) {
    return loop_->submit_all(std::move(requests));
}

Result<Stream> Engine::resubmit(Request request, const Stream& ended) {
    std::vector<Request> one;
    one.push_back(std::move(request));
    ETNA_TRY(auto streams, loop_->submit_all(std::move(one), ended.reader()));
    return std::move(streams.front());
}

const Limits& Engine::limits() const {
    return loop_->limits();
}

bool Engine::has_failed() const {
    return loop_->has_failed();
}

void Engine::observe_cache(std::shared_ptr<CacheObserver> observer) {
    loop_->observe_cache(std::move(observer));
}

EngineStats Engine::load() const {
    return loop_->load();
}

} // namespace etna::engine

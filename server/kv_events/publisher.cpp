#include "server/kv_events/publisher.hpp"

#include "server/kv_events/socket.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace etna::server::kv_events {
namespace {

constexpr std::size_t number_bytes = 8;
constexpr uint64_t end_number = UINT64_MAX; ///< -1
/// Maximum changes in one batch; more are split into several batches.
constexpr std::size_t batch_changes_max = 4096;
/// Maximum bytes of a frame from a subscriber; a topic is the longest.
constexpr uint32_t received_bytes_max = 4096;

double unix_now_s() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

SharedBytes shared(std::string bytes) {
    return std::make_shared<const std::string>(std::move(bytes));
}

SharedBytes big_endian(uint64_t number) {
    std::string bytes;
    for (std::size_t i = number_bytes; i-- > 0;)
        bytes += static_cast<char>(number >> (8 * i));
    return shared(std::move(bytes));
}

uint64_t read_big_endian(std::string_view bytes) {
    uint64_t number = 0;
    for (const char byte : bytes)
        number = number << 8 | static_cast<uint8_t>(byte);
    return number;
}

/// A descriptor that one thread polls and others signal.
class Signal {
public:
    Signal() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;
    ~Signal() {
        if (descriptor_ >= 0)
            ::close(descriptor_);
    }
    [[nodiscard]] int descriptor() const { return descriptor_; }
    void set() const {
        const uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof(one));
    }
    void clear() const {
        uint64_t count = 0;
        [[maybe_unused]] const auto read = ::read(descriptor_, &count, sizeof(count));
    }

private:
    int descriptor_;
};

} // namespace

/// The queue that engines fill, and the thread that publishes from it. Members from `publish_` to `kept_`
/// belong to the thread; `mutex_` guards the members after it.
class Publisher::Loop : public std::enable_shared_from_this<Publisher::Loop> {
public:
    Loop(const PublisherOptions& options, Socket publish, std::optional<Socket> replay,
         std::function<void(std::string_view)> warn)
        : options_(options), warn_(std::move(warn)), endpoint_(publish.endpoint()),
          replay_endpoint_(replay ? replay->endpoint() : ""), publish_(std::move(publish)),
          replay_(std::move(replay)) {}

    void start(const std::string& pod) {
        topic_prefix_ = "kv@" + pod + "@";
        thread_ = std::thread([this] { run(); });
    }

    void stop() {
        {
            const std::scoped_lock lock(mutex_);
            is_stopping_ = true;
        }
        signal_.set();
        if (thread_.joinable())
            thread_.join();
        publish_.reset(); // observers may still own this object
        replay_.reset();
        kept_.clear();
    }

    std::shared_ptr<engine::CacheObserver> observe(const std::string& model, uint32_t page_tokens);

    bool take(const std::string& model, uint64_t generation, std::vector<engine::CacheChange> changes);
    void end(const std::string& model, uint64_t generation);
    bool has_room() {
        const std::scoped_lock lock(mutex_);
        return queued_changes_ <= options_.queued_changes_max / 2;
    }

    [[nodiscard]] bool has_descriptor() const { return signal_.descriptor() >= 0; }
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
    [[nodiscard]] const std::string& replay_endpoint() const { return replay_endpoint_; }
    std::vector<Counts> counts() {
        const std::scoped_lock lock(mutex_);
        std::vector<Counts> counts;
        counts.reserve(models_.size());
        for (const auto& [model, state] : models_)
            counts.push_back({.model = model, .published = state.published, .dropped = state.dropped});
        return counts;
    }

private:
    /// The state of a model on the engines' side.
    struct ModelState {
        uint64_t generation = 0; ///< generation of the current observer; older ones have no effect
        uint32_t page_tokens = 0;
        uint64_t published = 0;
        uint64_t dropped = 0;
        bool has_lost = false; ///< changes were lost because memory was exhausted
    };
    struct Queued {
        std::string model;
        double unix_s = 0;
        uint32_t page_tokens = 0;
        std::vector<engine::CacheChange> changes;
    };
    struct KeptBatch {
        uint64_t number = 0;
        SharedBytes payload;
    };
    /// The published batches of a model.
    struct Kept {
        std::string model;
        uint64_t next_number = 0;
        std::deque<KeptBatch> batches; ///< batches available for replay, oldest first
        std::size_t bytes = 0;
    };

    void run();
    void publish(const Queued& queued);
    void publish_part(const Queued& queued, std::span<const engine::CacheChange> changes, Kept& kept);
    void answer_replay();
    void warn_once(bool& has_warned, std::string_view line);
    Kept& kept_of(const std::string& model);
    void replace_queued(const std::string& model, uint32_t page_tokens);

    const PublisherOptions options_;
    const std::function<void(std::string_view)> warn_;
    const std::string endpoint_, replay_endpoint_;
    std::string topic_prefix_; ///< set before the thread starts
    const Signal signal_;
    std::optional<Socket> publish_; ///< empty once stopped
    std::optional<Socket> replay_;  ///< empty: none
    bool has_warned_of_request_ = false;
    bool has_warned_of_drop_ = false;
    std::deque<Kept> kept_; ///< ordered by first batch; references stay valid

    std::mutex mutex_;
    std::map<std::string, ModelState> models_;
    std::deque<Queued> queue_;
    std::size_t queued_changes_ = 0;
    bool is_dropped_ = false; ///< changes were dropped, and the thread has not reported it yet
    bool is_stopping_ = false;

    std::thread thread_;
};

/// The observer of one engine.
class ModelObserver : public engine::CacheObserver {
public:
    using Take = std::function<bool(std::vector<engine::CacheChange>)>;
    ModelObserver(Take take, std::function<bool()> has_room, std::function<void()> end)
        : take_(std::move(take)), has_room_(std::move(has_room)), end_(std::move(end)) {}

    bool take(std::vector<engine::CacheChange> changes) override { return take_(std::move(changes)); }
    bool has_room() override { return has_room_(); }
    void end() override { end_(); }

private:
    Take take_;
    std::function<bool()> has_room_;
    std::function<void()> end_;
};

std::shared_ptr<engine::CacheObserver> Publisher::Loop::observe(const std::string& model,
                                                                uint32_t page_tokens) {
    uint64_t generation = 0;
    {
        const std::scoped_lock lock(mutex_);
        ModelState& state = models_[model];
        generation = ++state.generation;
        state.page_tokens = page_tokens;
        if (generation > 1) // clears the pages of the previous engine, which may still run
            replace_queued(model, page_tokens);
    }
    signal_.set();
    const auto self = shared_from_this();
    return std::make_shared<ModelObserver>(
        [self, model, generation](std::vector<engine::CacheChange> changes) {
            return self->take(model, generation, std::move(changes));
        },
        [self] { return self->has_room(); }, [self, model, generation] { self->end(model, generation); });
}

/// Replaces the queued changes of a model by AllBlocksCleared. Precondition: the mutex is held.
void Publisher::Loop::replace_queued(const std::string& model, uint32_t page_tokens) {
    std::erase_if(queue_, [&](const Queued& queued) {
        if (queued.model == model)
            queued_changes_ -= queued.changes.size();
        return queued.model == model;
    });
    queue_.push_back({.model = model,
                      .unix_s = unix_now_s(),
                      .page_tokens = page_tokens,
                      .changes = {engine::ClearedPages{}}});
    ++queued_changes_;
}

bool Publisher::Loop::take(const std::string& model, uint64_t generation,
                           std::vector<engine::CacheChange> changes) {
    bool is_taken = true;
    {
        const std::scoped_lock lock(mutex_);
        ModelState& state = models_.at(model);
        if (is_stopping_ || state.generation != generation)
            return true;
        const bool is_full =
            !queue_.empty() && queued_changes_ + changes.size() > options_.queued_changes_max;
        if (is_full || state.has_lost) {
            ++state.dropped;
            state.has_lost = false;
            is_dropped_ = true;
            replace_queued(model, state.page_tokens);
            is_taken = false;
        } else {
            const std::size_t count = changes.size();
            queue_.push_back({.model = model,
                              .unix_s = unix_now_s(),
                              .page_tokens = state.page_tokens,
                              .changes = std::move(changes)});
            queued_changes_ += count;
        }
    }
    signal_.set();
    return is_taken;
}

void Publisher::Loop::end(const std::string& model, uint64_t generation) {
    {
        const std::scoped_lock lock(mutex_);
        const ModelState& state = models_.at(model);
        if (is_stopping_ || state.generation != generation)
            return;
        replace_queued(model, state.page_tokens);
    }
    signal_.set();
}

void Publisher::Loop::run() {
    for (bool is_stopping = false; !is_stopping;) {
        Socket::wait(replay_ ? &*replay_ : nullptr, signal_.descriptor());
        signal_.clear();
        std::deque<Queued> queue;
        bool is_dropped = false;
        {
            const std::scoped_lock lock(mutex_);
            queue.swap(queue_);
            queued_changes_ = 0;
            is_dropped = std::exchange(is_dropped_, false);
            is_stopping = is_stopping_;
        }
        if (is_dropped) {
            warn_once(has_warned_of_drop_,
                      "kv-events: events were dropped, and subscribers get all pages again; see "
                      "etna_kv_event_batches_dropped_total");
        }
        try {
            for (const Queued& queued : queue)
                publish(queued);
            if (replay_) // after the queue, so that a replay includes everything that engines have reported
                answer_replay();
        } catch (const std::bad_alloc&) { // the engines will report all pages again
            const std::scoped_lock lock(mutex_);
            for (auto& [model, state] : models_)
                state.has_lost = true;
        }
    }
}

void Publisher::Loop::warn_once(bool& has_warned, std::string_view line) {
    if (!std::exchange(has_warned, true))
        warn_(line);
}

Publisher::Loop::Kept& Publisher::Loop::kept_of(const std::string& model) {
    const auto known =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.model == model; });
    if (known != kept_.end())
        return *known;
    Kept& kept = kept_.emplace_back();
    kept.model = model;
    return kept;
}

void Publisher::Loop::publish(const Queued& queued) {
    Kept& kept = kept_of(queued.model);
    for (std::size_t begin = 0; begin < queued.changes.size(); begin += batch_changes_max) {
        const std::size_t count = std::min(batch_changes_max, queued.changes.size() - begin);
        publish_part(queued, std::span(queued.changes).subspan(begin, count), kept);
    }
    const std::scoped_lock lock(mutex_);
    models_.at(queued.model).published = kept.next_number;
}

void Publisher::Loop::publish_part(const Queued& queued, std::span<const engine::CacheChange> changes,
                                   Kept& kept) {
    std::string batch = encode_batch(
        queued.unix_s, changes,
        {.events = options_.format, .partial = options_.partial, .page_tokens = queued.page_tokens});
    if (batch.empty())
        return;
    const SharedBytes payload = shared(std::move(batch));
    const uint64_t number = kept.next_number++;
    publish_->send(std::array{shared(topic_prefix_ + queued.model), big_endian(number), payload});
    if (!replay_)
        return;
    kept.batches.push_back({number, payload});
    kept.bytes += payload->size();
    while (kept.batches.size() > options_.replay_batches_max || kept.bytes > options_.replay_bytes_max) {
        kept.bytes -= kept.batches.front().payload->size();
        kept.batches.pop_front();
    }
}

void Publisher::Loop::answer_replay() {
    constexpr std::size_t frames_max = 4; // identity, empty, number, topic
    const std::vector<std::string> request = replay_->receive(frames_max + 1);
    if (request.empty())
        return;
    const bool is_valid = (request.size() == 3 || request.size() == frames_max) && request[1].empty() &&
                          request[2].size() == number_bytes;
    if (!is_valid) {
        return warn_once(has_warned_of_request_,
                         "kv-events: a request for a replay is not an empty frame and 8 bytes; ignored");
    }
    const SharedBytes peer = shared(request[0]), empty = shared("");
    const uint64_t first = read_big_endian(request[2]);
    for (const Kept& kept : kept_) {
        if (request.size() == frames_max && topic_prefix_ + kept.model != request[3])
            continue;
        for (const KeptBatch& batch : kept.batches) {
            if (batch.number >= first)
                replay_->send(std::array{peer, empty, big_endian(batch.number), batch.payload});
        }
        break;
    }
    replay_->send(std::array{peer, empty, big_endian(end_number), empty});
}

Result<std::unique_ptr<Publisher>> Publisher::open(const PublisherOptions& options,
                                                   std::function<void(std::string_view)> warn) {
    ETNA_TRY(Socket publish,
             Socket::open(Socket::Kind::publisher, options.endpoint, options.high_water, received_bytes_max));
    std::optional<Socket> replay;
    if (!options.replay_endpoint.empty()) {
        const auto replay_max = static_cast<uint32_t>(options.replay_batches_max) + 1; // plus the end marker
        ETNA_TRY(replay,
                 Socket::open(Socket::Kind::router, options.replay_endpoint, replay_max, received_bytes_max));
    }
    auto loop = std::make_shared<Loop>(options, std::move(publish), std::move(replay), std::move(warn));
    if (!loop->has_descriptor())
        return Error{ErrorKind::out_of_memory, "the system has no free descriptor for kv-events"};
    return std::unique_ptr<Publisher>(new Publisher(std::move(loop)));
}

Publisher::Publisher(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}

Publisher::~Publisher() {
    loop_->stop();
}

void Publisher::start(const std::string& pod) {
    loop_->start(pod);
}

std::shared_ptr<engine::CacheObserver> Publisher::observe(const std::string& model, uint32_t page_tokens) {
    return loop_->observe(model, page_tokens);
}

const std::string& Publisher::endpoint() const {
    return loop_->endpoint();
}

const std::string& Publisher::replay_endpoint() const {
    return loop_->replay_endpoint();
}

std::vector<Publisher::Counts> Publisher::counts() const {
    return loop_->counts();
}

} // namespace etna::server::kv_events

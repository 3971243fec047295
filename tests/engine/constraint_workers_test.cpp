// Slow constraints: the engine continues with other requests, and the answers do not change.

#include "core/engine/constraint_workers.hpp"
#include "core/engine/engine.hpp"
#include "tests/engine/driver.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace etna::test {
namespace {

using namespace std::chrono_literals;
using engine::Clock;
using engine::Constraint;
using engine::ConstraintWorkers;
using engine::FinishReason;

constexpr TokenId slow_end_token = 63; ///< of 64

/// State that all copies of a constraint share with the test.
struct Watch {
    std::function<int(uint32_t)> pieces = [](uint32_t) { return 0; }; ///< time slices that a position takes
    std::atomic<bool> is_open{true};                                  ///< false: no result is ever computed
    std::atomic<int> begun{0};                                        ///< time slices
    std::atomic<int> waited{0};                                       ///< of these, on a worker
    std::atomic<int> too_long{0};         ///< of the others, those with a deadline beyond inline_slice
    std::atomic<int> not_prepared{0};     ///< getters called before prepare() had results
    std::atomic<int> unwanted{0};         ///< time slices that ended for that
    std::atomic<int> alive{0};            ///< constraints
    std::mutex mutex;                     ///< guards the members below
    std::set<std::thread::id> destroyers; ///< threads
};

/// Allows tokens congruent to i modulo 3 as token i, and sometimes forces three; ends after `max`.
class Slow final : public Constraint {
public:
    Slow(std::shared_ptr<Watch> watch, uint32_t max, bool forces)
        : watch_(std::move(watch)), max_(max), forces_(forces) {
        ++watch_->alive;
    }
    Slow(const Slow& other)
        : Constraint(other), watch_(other.watch_), max_(other.max_), forces_(other.forces_),
          count_(other.count_), known_(other.known_), pieces_(other.pieces_) {
        ++watch_->alive;
    }
    ~Slow() override {
        --watch_->alive;
        const std::scoped_lock lock(watch_->mutex);
        watch_->destroyers.insert(std::this_thread::get_id());
    }

    bool prepare(Part part, const TimeSlice& piece) override {
        ++watch_->begun;
        watch_->waited += piece.may_wait ? 1 : 0;
        if (!piece.may_wait && piece.until > Clock::now() + ConstraintWorkers::inline_slice)
            ++watch_->too_long;
        while (piece.may_wait && !watch_->is_open && Clock::now() < piece.until) {
            if (piece.is_cancelled != nullptr && *piece.is_cancelled) {
                ++watch_->unwanted;
                return false;
            }
            std::this_thread::yield();
        }
        if (!watch_->is_open || pieces_++ < watch_->pieces(count_ * 3 + static_cast<uint32_t>(part)))
            return false;
        pieces_ = 0;
        known_ = std::max(known_, static_cast<int>(part));
        return true;
    }
    Result<Allowed> allowed() override {
        note_question(Part::tokens);
        words_.assign(2, 0);
        for (TokenId token = count_ % 3; token < slow_end_token; token += 3)
            words_[token / 32] |= 1U << (token % 32);
        return Allowed{.tokens = words_, .may_end = count_ > max_ / 2};
    }
    void accept(TokenId /*token*/) override {
        ++count_;
        known_ = -1;
    }
    std::vector<TokenId> forced() override {
        note_question(Part::forced);
        std::vector<TokenId> tokens;
        for (uint32_t i = 0; forces_ && count_ % 5 == 4 && i < 3; ++i)
            tokens.push_back((count_ + i) % 3 + 30);
        return tokens;
    }
    Result<bool> is_over() override {
        note_question(Part::end);
        return count_ == max_;
    }
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override { return std::make_shared<Slow>(*this); }

private:
    void note_question(Part part) { watch_->not_prepared += known_ < static_cast<int>(part) ? 1 : 0; }

    std::shared_ptr<Watch> watch_;
    uint32_t max_;
    bool forces_;
    uint32_t count_ = 0;
    int known_ = -1;
    int pieces_ = 0;
    std::vector<uint32_t> words_;
};

engine::Request slow_request(std::shared_ptr<Constraint> constraint, uint32_t seed) {
    engine::Request one = {.prompt = {1, 2, 3, 4, 5 + seed % 40},
                           .sampling = {.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed},
                           .max_tokens = 30,
                           .end_tokens = {slow_end_token},
                           .constraint = std::move(constraint)};
    return one;
}

std::unique_ptr<engine::Engine> make_plain_engine() {
    return engine::Engine::create(std::make_unique<FakeExecutor>(FakeOptions())).value();
}

/// Requests of every kind; the same for the same seed.
std::vector<engine::Request> mix(const std::shared_ptr<Watch>& watch, uint32_t seed) {
    std::vector<engine::Request> all;
    for (uint32_t i = 0; i < 4; ++i) {
        all.push_back(slow_request(std::make_shared<Slow>(watch, 25 + i, i % 2 == 0), seed + i));
        if (i == 1)
            all.back().speculation = engine::Speculation{.tokens_max = 4, .lookup_ngram_max = 2};
        if (i == 2) {
            all.back().speculation = engine::Speculation{.tokens_max = 6};
            for (TokenId position = 0; position < 30; ++position)
                all.back().speculation->prediction.push_back(position % 3 + 30);
        }
    }
    all.push_back(slow_request(std::make_shared<Slow>(watch, 8, false), seed));
    all.back().beams = engine::BeamOptions{.width = 3, .answers = 2};
    all.back().max_tokens = 12;
    all.push_back(slow_request(nullptr, seed));
    return all;
}

std::vector<std::vector<TokenId>> answers_of(Driver& driver, const std::vector<engine::Request>& requests) {
    std::vector<std::vector<TokenId>> all;
    std::vector<engine::RequestId> ids;
    ids.reserve(requests.size());
    for (const engine::Request& one : requests)
        ids.push_back(driver.add(one));
    driver.run();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        for (std::size_t answer = 0; answer < (requests[i].beams ? requests[i].beams->answers : 1); ++answer)
            all.push_back(driver.received(ids[i], answer).ids());
    }
    return all;
}

} // namespace

TEST_CASE("a slow constraint does not block other requests") {
    const auto watch = std::make_shared<Watch>();
    watch->is_open = false;
    const auto engine = make_plain_engine();
    auto slow = engine->submit(slow_request(std::make_shared<Slow>(watch, 20, false), 1)).value();
    auto quick_watch = std::make_shared<Watch>();
    for (uint32_t i = 0; i < 3; ++i) {
        auto free = engine->submit(slow_request(nullptr, i)).value();
        CHECK(read_all(free).finished.reason != FinishReason::error);
        auto quick = engine->submit(slow_request(std::make_shared<Slow>(quick_watch, 20, true), i)).value();
        CHECK(read_all(quick).finished.reason == FinishReason::stop);
    }
    CHECK_FALSE(slow.try_next().has_value());
    CHECK(watch->waited > 0); // on a worker
    watch->is_open = true;
    const Answer late = read_all(slow);
    CHECK(late.finished.reason == FinishReason::stop);
    Driver alone({});
    const auto id = alone.add(slow_request(std::make_shared<Slow>(std::make_shared<Watch>(), 20, false), 1));
    alone.run();
    CHECK(late.tokens == alone.received(id).ids());
    CHECK(watch->too_long == 0);
    CHECK(watch->not_prepared == 0);
}

TEST_CASE("constraint work ends when its request is cancelled") {
    const auto watch = std::make_shared<Watch>();
    watch->is_open = false;
    {
        const auto engine = make_plain_engine();
        std::vector<engine::Stream> streams;
        streams.reserve(5);
        for (uint32_t i = 0; i < 5; ++i)
            streams.push_back(
                engine->submit(slow_request(std::make_shared<Slow>(watch, 20, false), i)).value());
        CHECK(eventually([&] { return watch->waited > 0; }));
        for (engine::Stream& stream : streams)
            stream.cancel();
        for (engine::Stream& stream : streams)
            CHECK(read_all(stream).finished.reason == FinishReason::cancelled);
        CHECK(eventually([&] { return watch->alive == 0; }));
        auto next = engine->submit(slow_request(std::make_shared<Slow>(watch, 20, false), 9)).value();
        CHECK(eventually([&] { return watch->alive > 0 && watch->begun > 0; }));
    } // while a job is running
    CHECK(watch->alive == 0);
}

TEST_CASE("constraints are destroyed off the engine's thread") {
    const auto watch = std::make_shared<Watch>();
    std::thread::id engine_thread;
    {
        FakeOptions options;
        options.on_submit = [&](const engine::Batch&) { engine_thread = std::this_thread::get_id(); };
        const auto engine = engine::Engine::create(std::make_unique<FakeExecutor>(options)).value();
        for (uint32_t i = 0; i < 4; ++i) {
            auto stream = engine->submit(slow_request(std::make_shared<Slow>(watch, 20, false), i)).value();
            CHECK(read_all(stream).finished.reason == FinishReason::stop);
        }
        CHECK(eventually([&] { return watch->alive == 0; }));
    }
    CHECK(watch->destroyers.count(engine_thread) == 0);
}

TEST_CASE("answers do not depend on the duration of constraint work") {
    for (uint32_t seed = 0; seed < 12; ++seed) {
        FakeOptions options;
        options.limits.output_rows_max = options.limits.batch_rows_max;
        options.limits.slots = 64;
        if (seed % 2 == 1)
            options.limits.groups = {{.page_count = 16}}; // some are preempted
        Driver plain(options);
        const auto expected = answers_of(plain, mix(std::make_shared<Watch>(), seed));
        std::atomic<int> rings{0};
        ConstraintWorkers workers([&] { ++rings; });
        const auto watch = std::make_shared<Watch>();
        watch->pieces = [seed](uint32_t position) { return static_cast<int>((position * 7 + seed) % 5 / 2); };
        Driver driver(options);
        driver.use(workers);
        CHECK(answers_of(driver, mix(watch, seed)) == expected);
        CHECK(rings > 0);
        CHECK(watch->waited > 0);
        CHECK(watch->waited < watch->begun); // some were done inline
        CHECK(watch->not_prepared == 0);
    }
}

TEST_CASE("a constraint that runs out of memory ends only its own request, inline or on a worker") {
    class Broken final : public Constraint {
    public:
        explicit Broken(bool fails_at_once) : fails_at_once_(fails_at_once) {}
        bool prepare(Part /*part*/, const TimeSlice& piece) override {
            if (piece.may_wait || fails_at_once_)
                throw std::bad_alloc();
            return false;
        }
        Result<Allowed> allowed() override { return Allowed{}; }
        void accept(TokenId /*token*/) override {}
        Result<bool> is_over() override { return false; }
        [[nodiscard]] std::shared_ptr<Constraint> fork() const override {
            return std::make_shared<Broken>(*this);
        }

    private:
        bool fails_at_once_;
    };
    const auto engine = make_plain_engine();
    for (const bool fails_at_once : {false, true}) {
        auto broken = engine->submit(slow_request(std::make_shared<Broken>(fails_at_once), 1)).value();
        auto free = engine->submit(slow_request(nullptr, 2)).value();
        const Answer received = read_all(broken);
        CHECK(received.finished.reason == FinishReason::error);
        REQUIRE(received.finished.error);
        CHECK(received.finished.error->kind == ErrorKind::out_of_memory);
        CHECK(read_all(free).finished.reason != FinishReason::error);
    }
}

TEST_CASE("workers run jobs round-robin, so that a short one does not wait for a long one") {
    const auto never = std::make_shared<Watch>();
    never->is_open = false;
    std::atomic<int> rings{0};
    ConstraintWorkers workers([&] { ++rings; });
    std::vector<std::shared_ptr<engine::ConstraintJob>> endless;
    endless.reserve(6);
    for (int i = 0; i < 6; ++i)
        endless.push_back(workers.begin(std::make_shared<Slow>(never, 20, false), Constraint::Part::tokens));
    const auto watch = std::make_shared<Watch>();
    watch->pieces = [](uint32_t) { return 3; };
    const auto job = workers.begin(std::make_shared<Slow>(watch, 20, false), Constraint::Part::tokens);
    CHECK(eventually([&] { return job->is_done(); }));
    CHECK(rings == 1);
    for (const auto& one : endless)
        CHECK_FALSE(one->is_done());
}

} // namespace etna::test

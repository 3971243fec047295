// Constraints that take long: the engine goes on with the others, and the answers are the same.

#include "core/engine/constraint_workers.hpp"
#include "core/engine/engine.hpp"
#include "tests/engine/driver.hpp"
#include "tests/support/catch.hpp"

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

constexpr TokenId end_token = 63; ///< of 64

/// What a test sees of all copies of a constraint, and decides about them.
struct Watch {
    std::function<int(uint32_t)> pieces = [](uint32_t) {
        return 0;
    }; ///< that a place takes before it is known
    std::atomic<bool> is_open{true};      ///< else nothing is ever known
    std::atomic<int> begun{0};            ///< pieces
    std::atomic<int> waited{0};           ///< of these, those that may wait
    std::atomic<int> too_long{0};         ///< of the others, those that may hold the engine too long
    std::atomic<int> not_prepared{0};     ///< questions that came too early
    std::atomic<int> unwanted{0};         ///< pieces that ended for that
    std::atomic<int> alive{0};            ///< constraints
    std::mutex mutex;                     ///< of all below
    std::set<std::thread::id> destroyers; ///< threads
};

/// Lets tokens come that leave the rest i % 3 at place i, and sometimes forces three; over after `most`.
class Slow final : public Constraint {
public:
    Slow(std::shared_ptr<Watch> watch, uint32_t most, bool forces)
        : watch_(std::move(watch)), most_(most), forces_(forces) {
        ++watch_->alive;
    }
    Slow(const Slow& other)
        : Constraint(other), watch_(other.watch_), most_(other.most_), forces_(other.forces_),
          count_(other.count_), known_(other.known_), pieces_(other.pieces_) {
        ++watch_->alive;
    }
    ~Slow() override {
        --watch_->alive;
        const std::scoped_lock lock(watch_->mutex);
        watch_->destroyers.insert(std::this_thread::get_id());
    }

    bool prepare(Part part, const Piece& piece) override {
        ++watch_->begun;
        watch_->waited += piece.may_wait ? 1 : 0;
        if (!piece.may_wait && piece.until > Clock::now() + ConstraintWorkers::piece_time)
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
        for (TokenId token = count_ % 3; token < end_token; token += 3)
            words_[token / 32] |= 1U << (token % 32);
        return Allowed{.tokens = words_, .may_end = count_ > most_ / 2};
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
        return count_ == most_;
    }
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override { return std::make_shared<Slow>(*this); }

private:
    void note_question(Part part) { watch_->not_prepared += known_ < static_cast<int>(part) ? 1 : 0; }

    std::shared_ptr<Watch> watch_;
    uint32_t most_;
    bool forces_;
    uint32_t count_ = 0;
    int known_ = -1;
    int pieces_ = 0;
    std::vector<uint32_t> words_;
};

engine::Request request(std::shared_ptr<Constraint> constraint, uint32_t seed) {
    engine::Request one = {.prompt = {1, 2, 3, 4, 5 + seed % 40},
                           .sampling = {.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed},
                           .max_tokens = 30,
                           .end_tokens = {end_token},
                           .constraint = std::move(constraint)};
    return one;
}

struct Answer {
    std::vector<TokenId> tokens;
    engine::Finished finished;
};

Answer read_all(engine::Stream& stream) {
    Answer answer;
    while (true) {
        engine::Event event = stream.next();
        if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
            answer.tokens.push_back(token->token);
        } else {
            answer.finished = std::get<engine::Finished>(std::move(event));
            return answer;
        }
    }
}

std::unique_ptr<engine::Engine> make_engine() {
    return engine::Engine::create(std::make_unique<FakeExecutor>(FakeOptions())).value();
}

/// Requests of every kind, as many as one may mix; the same for the same seed.
std::vector<engine::Request> mix(const std::shared_ptr<Watch>& watch, uint32_t seed) {
    std::vector<engine::Request> all;
    for (uint32_t i = 0; i < 4; ++i) {
        all.push_back(request(std::make_shared<Slow>(watch, 25 + i, i % 2 == 0), seed + i));
        if (i == 1)
            all.back().speculation = engine::Speculation{.tokens_max = 4, .lookup_ngram_max = 2};
        if (i == 2) {
            all.back().speculation = engine::Speculation{.tokens_max = 6};
            for (TokenId place = 0; place < 30; ++place)
                all.back().speculation->prediction.push_back(place % 3 + 30);
        }
    }
    all.push_back(request(std::make_shared<Slow>(watch, 8, false), seed));
    all.back().beams = engine::BeamOptions{.width = 3, .answers = 2};
    all.back().max_tokens = 12;
    all.push_back(request(nullptr, seed));
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
            all.push_back(driver.told(ids[i], answer).ids());
    }
    return all;
}

} // namespace

TEST_CASE("whoever needs no constraint goes on while another's takes for ever") {
    const auto watch = std::make_shared<Watch>();
    watch->is_open = false;
    const auto engine = make_engine();
    auto slow = engine->submit(request(std::make_shared<Slow>(watch, 20, false), 1)).value();
    auto quick_watch = std::make_shared<Watch>();
    for (uint32_t i = 0; i < 3; ++i) {
        auto free = engine->submit(request(nullptr, i)).value();
        CHECK(read_all(free).finished.reason != FinishReason::error);
        auto quick = engine->submit(request(std::make_shared<Slow>(quick_watch, 20, true), i)).value();
        CHECK(read_all(quick).finished.reason == FinishReason::stop);
    }
    CHECK_FALSE(slow.try_next().has_value());
    CHECK(watch->waited > 0); // it is worked on elsewhere
    watch->is_open = true;
    const Answer late = read_all(slow);
    CHECK(late.finished.reason == FinishReason::stop);
    Driver alone({});
    const auto id = alone.add(request(std::make_shared<Slow>(std::make_shared<Watch>(), 20, false), 1));
    alone.run();
    CHECK(late.tokens == alone.told(id).ids());
    CHECK(watch->too_long == 0);
    CHECK(watch->not_prepared == 0);
}

TEST_CASE("work on a constraint ends when its request does") {
    const auto watch = std::make_shared<Watch>();
    watch->is_open = false;
    {
        const auto engine = make_engine();
        std::vector<engine::Stream> streams;
        streams.reserve(5);
        for (uint32_t i = 0; i < 5; ++i)
            streams.push_back(engine->submit(request(std::make_shared<Slow>(watch, 20, false), i)).value());
        while (watch->waited == 0)
            std::this_thread::sleep_for(1ms);
        for (engine::Stream& stream : streams)
            stream.cancel();
        for (engine::Stream& stream : streams)
            CHECK(read_all(stream).finished.reason == FinishReason::cancelled);
        while (watch->alive > 0)
            std::this_thread::sleep_for(1ms);
        auto next = engine->submit(request(std::make_shared<Slow>(watch, 20, false), 9)).value();
        while (watch->alive == 0 || watch->begun == 0)
            std::this_thread::sleep_for(1ms);
    } // with one at work
    CHECK(watch->alive == 0);
}

TEST_CASE("what a constraint takes is given back off the engine's thread") {
    const auto watch = std::make_shared<Watch>();
    std::thread::id engine_thread;
    {
        FakeOptions options;
        options.on_submit = [&](const engine::Batch&) { engine_thread = std::this_thread::get_id(); };
        const auto engine = engine::Engine::create(std::make_unique<FakeExecutor>(options)).value();
        for (uint32_t i = 0; i < 4; ++i) {
            auto stream = engine->submit(request(std::make_shared<Slow>(watch, 20, false), i)).value();
            CHECK(read_all(stream).finished.reason == FinishReason::stop);
        }
        while (watch->alive > 0)
            std::this_thread::sleep_for(1ms);
    }
    CHECK(watch->destroyers.count(engine_thread) == 0);
}

TEST_CASE("answers do not depend on how long their constraints take") {
    for (uint32_t seed = 0; seed < 12; ++seed) {
        FakeOptions options;
        options.limits.output_rows_max = options.limits.batch_rows_max;
        options.limits.slots = 64;
        if (seed % 2 == 1)
            options.limits.groups = {{.page_count = 16}}; // some have to give theirs back
        Driver plain(options);
        const auto expected = answers_of(plain, mix(std::make_shared<Watch>(), seed));
        std::atomic<int> rings{0};
        ConstraintWorkers workers([&] { ++rings; });
        const auto watch = std::make_shared<Watch>();
        watch->pieces = [seed](uint32_t place) { return static_cast<int>((place * 7 + seed) % 5 / 2); };
        Driver driver(options);
        driver.use(workers);
        CHECK(answers_of(driver, mix(watch, seed)) == expected);
        CHECK(rings > 0);
        CHECK(watch->waited > 0);
        CHECK(watch->waited < watch->begun); // some were short enough at once
        CHECK(watch->not_prepared == 0);
    }
}

TEST_CASE("a constraint that runs out of memory, here or elsewhere, ends its own request alone") {
    class Broken final : public Constraint {
    public:
        explicit Broken(bool fails_at_once) : fails_at_once_(fails_at_once) {}
        bool prepare(Part /*part*/, const Piece& piece) override {
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
    const auto engine = make_engine();
    for (const bool fails_at_once : {false, true}) {
        auto broken = engine->submit(request(std::make_shared<Broken>(fails_at_once), 1)).value();
        auto free = engine->submit(request(nullptr, 2)).value();
        const Answer told = read_all(broken);
        CHECK(told.finished.reason == FinishReason::error);
        REQUIRE(told.finished.error);
        CHECK(told.finished.error->kind == ErrorKind::out_of_memory);
        CHECK(read_all(free).finished.reason != FinishReason::error);
    }
}

TEST_CASE("constraints take turns: a short one does not wait for the end of a long one") {
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
    while (!job->is_done())
        std::this_thread::sleep_for(1ms);
    CHECK(rings == 1);
    for (const auto& one : endless)
        CHECK_FALSE(one->is_done());
}

} // namespace etna::test

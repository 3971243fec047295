#include "core/grammar/turns.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace etna::grammar;

TEST_CASE("so many at a time have a turn, and no more") {
    Turns turns(3);
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    std::atomic<int> all = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                const Turns::Turn turn(turns);
                const int count = ++now;
                for (int seen = most; seen < count && !most.compare_exchange_weak(seen, count);) {
                }
                std::this_thread::yield();
                ++all;
                --now;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(most <= 3);
    CHECK(all == 8 * 200);
}

TEST_CASE("turns are had at the same time") {
    constexpr int at_a_time = 3;
    constexpr std::chrono::seconds patience(20); // of them all, so that a failure comes to an end
    const auto end = std::chrono::steady_clock::now() + patience;
    Turns turns(at_a_time);
    std::atomic<int> holding = 0;
    std::atomic<int> met = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < at_a_time; ++thread) {
        threads.emplace_back([&] {
            const Turns::Turn turn(turns);
            ++holding;
            while (holding < at_a_time && std::chrono::steady_clock::now() < end)
                std::this_thread::yield();
            met += holding == at_a_time ? 1 : 0;
            while (met < at_a_time && std::chrono::steady_clock::now() < end)
                std::this_thread::yield(); // nobody leaves before all have seen it
            --holding;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(met == at_a_time);
}

TEST_CASE("a client that waits for many turns lets another one in between") {
    Turns turns(1);
    std::atomic<int> waiting = 0;
    std::mutex mutex;
    std::vector<uint64_t> order;
    std::vector<std::thread> threads;
    {
        const Turns::Turn first(turns, 1);
        for (const uint64_t client : {1, 1, 1, 1, 2, 2}) {
            const int before = waiting;
            threads.emplace_back([&, client] {
                const auto look = [&, is_counted = false]() mutable { // asked once it stands in line
                    waiting += std::exchange(is_counted, true) ? 0 : 1;
                    return false;
                };
                const Turns::Turn turn(turns, client, look);
                const std::scoped_lock lock(mutex);
                order.push_back(client);
            });
            while (waiting == before)
                std::this_thread::yield();
        }
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(order == std::vector<uint64_t>{2, 1, 2, 1, 1, 1});
}

TEST_CASE("who stops waiting lets the next one go") {
    Turns turns(1);
    std::atomic<bool> leaves = false;
    std::thread leaving;
    {
        const Turns::Turn first(turns);
        leaving = std::thread([&] {
            const Turns::Turn none(turns, 0, [&] { return leaves.load(); });
            CHECK_FALSE(none.is_given());
        });
        leaves = true;
        leaving.join();
    }
    CHECK(Turns::Turn(turns).is_given());
}

#include "core/base/json.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using etna::Json;

namespace {

/// Sanitizers take the memory that they like.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_be_limited = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool can_be_limited = false;
#else
constexpr bool can_be_limited = true;
#endif
#else
constexpr bool can_be_limited = true;
#endif

/// Leaves the process no memory, not even for a few bytes.
void use_up_memory() {
    constexpr std::size_t large = 1 << 20;
    constexpr std::size_t small = 16;
    const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_AS, &none);
    for (std::size_t bytes = large; bytes >= small; bytes /= 2) {
        while (std::malloc(bytes) != nullptr) {
        }
    }
}

/// How a child process ends that destroys what `make` makes when there is no memory.
template <class Make>
int end_of_child(Make make) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        auto* const json = new Json(make());
        use_up_memory();
        delete json;
        ::_exit(7);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

} // namespace

TEST_CASE("JSON is destroyed where there is no memory left") {
    if (!can_be_limited) {
        WARN("not run: a sanitizer's memory cannot be limited");
        return;
    }
    const auto is_destroyed = [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 7; };
    CHECK(is_destroyed(end_of_child([] { return Json({{"role", "user"}}); })));
    CHECK(is_destroyed(end_of_child([] { return Json(std::vector<int>(2'000'000, 1)); })));
    const auto many = [] {
        const Json part = {{"type", "text"}, {"text", "a text that is no short one, at all"}};
        Json messages = Json::array();
        for (int i = 0; i < 100'000; ++i)
            messages.push_back({{"content", Json::array({part})}});
        return messages;
    };
    CHECK(is_destroyed(end_of_child(many)));
}

TEST_CASE("JSON with memory of its own keeps what JSON does") {
    const Json json = Json::parse(R"({"b": [1, -2, 3.5, true, null, "x"], "a": {"c": {}}})");
    CHECK(json.dump() == R"({"b":[1,-2,3.5,true,null,"x"],"a":{"c":{}}})"); // in its order
    Json copy = json;
    copy["b"].push_back(json);
    CHECK(copy["b"].back() == json);
    CHECK(copy != json);
}

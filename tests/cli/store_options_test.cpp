// Options of the response store, their variables, and those of llama.cpp forks.
#include "cli/options/command_line.hpp"
#include "cli/options/store_options.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <limits>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::cli;
using namespace std::chrono_literals;

namespace {

Result<server::PersistenceOptions> read_store_arguments(const std::vector<std::string>& arguments,
                                                        const Variables& variables = {}) {
    const Command& command = *find_command("serve");
    TypedArguments typed = parse(command, arguments).value();
    add_environment(command, variables, typed);
    return read_store(OptionValues(command, typed));
}

constexpr auto thirty_days = std::chrono::hours(24 * 30);

} // namespace

TEST_CASE("a file stores thirty days and one gibibyte by default") {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"--store", "a.db"}}) {
        const auto options = read_store_arguments(arguments).value();
        CHECK(options.is_enabled);
        CHECK(options.store.file == (arguments.empty() ? "" : "a.db"));
        CHECK(options.in_memory.has_value() == arguments.empty()); // if another server has the default file
        CHECK(options.store.bytes_max == uint64_t{1} << 30U);
        CHECK(options.store.responses.age_max == thirty_days);
        CHECK(options.store.conversations.age_max == thirty_days);
        CHECK(options.store.completions.age_max == thirty_days);
        CHECK(options.store.responses.entries_max >= std::numeric_limits<uint32_t>::max());
    }
}

TEST_CASE("a store in memory has its own default bounds") {
    const auto options = read_store_arguments({"--store", "memory"}).value();
    CHECK((options.is_enabled && options.store.file.empty() && !options.in_memory));
    CHECK(options.store.responses.entries_max == 1024);
    CHECK(options.store.responses.age_max == 3600s);
    CHECK(options.store.conversations.entries_max == 256);
    CHECK(options.store.conversations.age_max == 3600s);
    CHECK(options.store.bytes_max == 256 << 20);
    CHECK(read_store_arguments({"--store", "memory", "--store-max-bytes", "0"})->store.bytes_max == 0);
    CHECK_FALSE(read_store_arguments({"--store", "none"})->is_enabled);
}

TEST_CASE("memory as a fallback for the default file has the bounds of memory") {
    const auto options = read_store_arguments({"--conversation-store-max-entries", "7"}).value();
    REQUIRE(options.in_memory);
    CHECK(options.in_memory->file.empty());
    CHECK(options.in_memory->responses.entries_max == 1024);
    CHECK(options.in_memory->responses.age_max == 3600s);
    CHECK(options.in_memory->conversations.entries_max == 7);
    CHECK(options.in_memory->bytes_max == 256 << 20);
}

TEST_CASE("each bound is set by its option, etna's variable or the other program's variable") {
    struct Bound {
        std::string option;
        std::string variable;
        uint64_t (*value)(const server::storage::StoreOptions&);
    };
    const std::vector<Bound> bounds = {
        {"responses-store-max-entries", "RESPONSES_STORE_MAX_ENTRIES",
         [](const server::storage::StoreOptions& store) { return store.responses.entries_max; }},
        {"responses-store-ttl-secs", "RESPONSES_STORE_TTL_SECS",
         [](const server::storage::StoreOptions& store) {
             return static_cast<uint64_t>(store.responses.age_max.count());
         }},
        {"conversation-store-max-entries", "CONVERSATION_STORE_MAX_ENTRIES",
         [](const server::storage::StoreOptions& store) { return store.conversations.entries_max; }},
        {"conversation-store-ttl-secs", "CONVERSATION_STORE_TTL_SECS",
         [](const server::storage::StoreOptions& store) {
             return static_cast<uint64_t>(store.conversations.age_max.count());
         }}};
    for (const Bound& bound : bounds) {
        CAPTURE(bound.option);
        const auto value = [&](const std::vector<std::string>& arguments, const Variables& variables) {
            return bound.value(read_store_arguments(arguments, variables)->store);
        };
        const std::string own = "ETNA_" + bound.variable;
        const std::string other = "LLAMA_ARG_" + bound.variable;
        CHECK(value({}, {{other, "5"}}) == 5);
        CHECK(value({}, {{other, "5"}, {own, "6"}}) == 6);
        CHECK(value({"--" + bound.option, "7"}, {{other, "5"}, {own, "6"}}) == 7);
        CHECK(value({"--" + bound.option, "0"}, {}) == 0); // store nothing, or no age limit
        CHECK_FALSE(read_store_arguments({"--" + bound.option, "-1"}));
    }
    CHECK(read_store_arguments({"--store-max-bytes", "3MiB"})->store.bytes_max == 3U << 20U);
    CHECK(read_store_arguments({"--store", ""}).error().message == "--store is empty");
}

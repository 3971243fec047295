// What `etna serve` is told to keep: by options, by etna's variables and by those of llama.cpp's kin.
#include "cli/command_line.hpp"
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

Result<server::PersistenceOptions> read(const std::vector<std::string>& arguments,
                                        const Variables& variables = {}) {
    const Command& command = *find_command("serve");
    TypedArguments typed = parse(command, arguments).value();
    add_environment(command, variables, typed);
    return read_store(OptionValues(command, typed));
}

constexpr auto month = std::chrono::hours(24 * 30);

} // namespace

TEST_CASE("a file keeps thirty days and a gibibyte unless told otherwise") {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"--store", "a.db"}}) {
        const auto options = read(arguments).value();
        CHECK(options.is_enabled);
        CHECK(options.store.file == (arguments.empty() ? "" : "a.db"));
        CHECK(options.in_memory.has_value() == arguments.empty()); // where another server has the usual file
        CHECK(options.store.bytes_max == uint64_t{1} << 30U);
        CHECK(options.store.responses.age_max == month);
        CHECK(options.store.conversations.age_max == month);
        CHECK(options.store.completions.age_max == month);
        CHECK(options.store.responses.entries_max >= std::numeric_limits<uint32_t>::max());
    }
}

TEST_CASE("what is kept in memory has the bounds of servers that keep all in memory") {
    const auto options = read({"--store", "memory"}).value();
    CHECK((options.is_enabled && options.store.file.empty() && !options.in_memory));
    CHECK(options.store.responses.entries_max == 1024);
    CHECK(options.store.responses.age_max == 3600s);
    CHECK(options.store.conversations.entries_max == 256);
    CHECK(options.store.conversations.age_max == 3600s);
    CHECK(options.store.bytes_max == 256 << 20);
    CHECK(read({"--store", "memory", "--store-max-bytes", "0"})->store.bytes_max == 0);
    CHECK_FALSE(read({"--store", "none"})->is_enabled);
}

TEST_CASE("where memory stands in for the usual file, it has the bounds of memory") {
    const auto options = read({"--conversation-store-max-entries", "7"}).value();
    REQUIRE(options.in_memory);
    CHECK(options.in_memory->file.empty());
    CHECK(options.in_memory->responses.entries_max == 1024);
    CHECK(options.in_memory->responses.age_max == 3600s);
    CHECK(options.in_memory->conversations.entries_max == 7);
    CHECK(options.in_memory->bytes_max == 256 << 20);
}

TEST_CASE("each bound is set by its option, by etna's variable, and by the other programs' one") {
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
            return bound.value(read(arguments, variables)->store);
        };
        const std::string own = "ETNA_" + bound.variable;
        const std::string other = "LLAMA_ARG_" + bound.variable;
        CHECK(value({}, {{other, "5"}}) == 5);
        CHECK(value({}, {{other, "5"}, {own, "6"}}) == 6);
        CHECK(value({"--" + bound.option, "7"}, {{other, "5"}, {own, "6"}}) == 7);
        CHECK(value({"--" + bound.option, "0"}, {}) == 0); // nothing is kept, or nothing grows too old
        CHECK_FALSE(read({"--" + bound.option, "-1"}));
    }
    CHECK(read({"--store-max-bytes", "3MiB"})->store.bytes_max == 3U << 20U);
    CHECK(read({"--store", ""}).error().message == "--store is empty");
}

// Damaged files, and files that are not a store.
#include "tests/storage/test_store.hpp"

#include <random>

using namespace etna;
using namespace etna::test;
using namespace server::storage;
namespace fs = std::filesystem;

namespace {

constexpr int entries = 60;

std::string entry_id(const char* kind, int number) {
    return kind + std::to_string(number);
}

/// Creates and closes a store of some dozen pages. Returns the file's content.
std::string valid_file(const fs::path& file) {
    {
        Store store = open_store(wide_options(file));
        for (int i = 0; i < entries; ++i) {
            const auto previous = taken(store.history("ann", entry_id("r", i - 1)));
            Response response = response_of(entry_id("r", i));
            response.input = std::string(i % 10 == 0 ? 10'000 : 100, 'x');
            done(store.put(response, i % 6 != 0 ? &*previous : nullptr));
            Completion completion = completion_of(entry_id("m", i));
            completion.metadata = {{"key", std::to_string(i % 3)}};
            done(store.put(completion));
        }
        done(store.create({.id = "c", .owner = "ann"}, {{"i", "body"}, {"j", "body"}}));
    }
    return content_of(file);
}

/// The number of results that are errors; they must all be corrupt.
template <class... Results>
int errors_in(const Results&... results) {
    const auto is_error = [](const auto& result) {
        if (!result)
            CHECK(result.error().kind == ErrorKind::corrupt);
        return result ? 0 : 1;
    };
    return (is_error(results) + ...);
}

int use_all(Store& store) {
    int errors = errors_in(store.pending(), store.size(), store.items("ann", "c"),
                           store.completions("ann", {.metadata = {{"key", "1"}}}, {.limit = 1000}));
    for (int i = 0; i < entries; ++i) {
        errors += errors_in(store.response("ann", entry_id("r", i)), store.history("ann", entry_id("r", i)),
                            store.completion("ann", entry_id("m", i)));
    }
    for (int i = 0; i < entries; i += 25) {
        errors += errors_in(store.delete_response("ann", entry_id("r", i)),
                            store.delete_completion("ann", entry_id("m", i)), store.put(response_of("new")));
    }
    return errors;
}

/// Checks that the file is moved aside unchanged, and that the new store works.
void check_moved_aside(const fs::path& file, int times = 1) {
    const std::string content = content_of(file);
    const std::string moved = file.string() + ".damaged-" + std::to_string(times);
    {
        auto [store, warnings] = open_with_warnings(wide_options(file));
        REQUIRE(warnings.size() == 1);
        CHECK(warnings[0].find(file.string() + ":") == 0);
        CHECK(warnings[0].find(moved) != std::string::npos);
        CHECK(warnings[0].find('\n') == std::string::npos);
        CHECK(content_of(moved) == content);
        CHECK(taken(store.size()).responses == 0);
        done(store.put(response_of("r")));
    }
    Store again = open_store(wide_options(file));
    CHECK(has_response(again, "r"));
}

} // namespace

TEST_CASE("a file that is not a database is moved aside, repeatedly") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    std::mt19937_64 random(3);
    int times = 0;
    for (const std::size_t bytes : {2, 15, 16, 99, 100, 511, 512, 4096, 100'000}) {
        INFO(bytes << " bytes");
        std::string garbage(bytes, ' ');
        for (char& letter : garbage)
            letter = static_cast<char>(random());
        overwrite(file, garbage);
        check_moved_aside(file, ++times);
    }
    overwrite(file, "Dear diary,\n");
    check_moved_aside(file, ++times);
}

TEST_CASE("an empty file becomes a store") {
    const TemporaryFolder folder;
    overwrite(folder.path() / "store", "");
    Store store = open_store(wide_options(folder.path() / "store"));
    done(store.put(response_of("r")));
}

TEST_CASE("another program's database is moved aside, unchanged") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    SECTION("without an application id") {
        run_sql(file, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
    }
    SECTION("with an application id") {
        run_sql(file, "PRAGMA application_id = 7; CREATE TABLE entries (number INTEGER)");
    }
    SECTION("with an application id, and empty") {
        run_sql(file, "PRAGMA application_id = 7; PRAGMA user_version = 9");
    }
    check_moved_aside(file);
}

TEST_CASE("a store with changed tables is moved aside; additional indexes are accepted") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    valid_file(file);
    run_sql(file, "CREATE INDEX mine ON items (body); ANALYZE");
    {
        Store store = open_store(wide_options(file));
        CHECK(has_response(store, "r3"));
    }
    SECTION("a missing trigger") {
        run_sql(file, "DROP TRIGGER node_added");
    }
    SECTION("a missing table") {
        run_sql(file, "DROP TABLE totals");
    }
    SECTION("a different table") {
        run_sql(file, "ALTER TABLE items RENAME COLUMN body TO text");
    }
    check_moved_aside(file);
}

TEST_CASE("wrong totals are corrected on opening") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    valid_file(file);
    uint64_t bytes = 0;
    {
        Store store = open_store(wide_options(file));
        bytes = taken(store.size()).bytes;
    }
    run_sql(file, "UPDATE totals SET bytes = -5, count = 1000000; DELETE FROM totals WHERE kind = 2");
    Store store = open_store(wide_options(file));
    const auto size = taken(store.size());
    CHECK((size.bytes == bytes && size.responses == entries && size.completions == entries));
}

TEST_CASE("a history with a missing turn is corrupt, and everything else works") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    valid_file(file);
    run_sql(file, "DELETE FROM nodes WHERE turn = CAST('r2' AS BLOB)"); // foreign keys are off by default
    Store store = open_store(wide_options(file));
    const auto history = store.history("ann", "r4");
    REQUIRE_FALSE(history);
    CHECK(history.error().kind == ErrorKind::corrupt);
    CHECK(history.error().message.find(file.string()) == 0);
    CHECK(history_of(store, "r8") == "r6 r7 r8");
    CHECK_FALSE(store.response("ann", "r2"));
    for (const char* id : {"r2", "r4", "r5", "r3"})
        CHECK(taken(store.delete_response("ann", id)));
    done(store.put(response_of("r2")));
    CHECK(history_of(store, "r2") == "r2");
}

TEST_CASE("a history with a cycle is moved aside") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    valid_file(file);
    run_sql(file, "PRAGMA ignore_check_constraints = ON; UPDATE nodes SET parent = 3 WHERE number = 1");
    check_moved_aside(file);
}

TEST_CASE("a truncated file is moved aside") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    const std::string valid = valid_file(file);
    int times = 0;
    for (const std::size_t bytes : {std::size_t{50}, std::size_t{4096}, std::size_t{6000}, valid.size() / 2,
                                    valid.size() - 4096, valid.size() - 1}) {
        INFO(bytes << " of " << valid.size() << " bytes");
        overwrite(file, valid.substr(0, bytes));
        check_moved_aside(file, ++times);
    }
}

TEST_CASE("random damage is detected, or harmless") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    const std::string valid = valid_file(file);
    std::mt19937_64 random(5);
    int found = 0;
    int late = 0;
    constexpr int rounds = 150;
    for (int round = 0; round < rounds; ++round) {
        INFO("round " << round);
        std::string content = valid;
        const std::size_t bytes = round % 3 == 0 ? 1 : round % 3 == 1 ? 64 : 4096;
        const std::size_t offset = random() % (content.size() - bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            content[offset + i] = static_cast<char>(random());
        const fs::path damaged = folder.path() / ("store" + std::to_string(round));
        overwrite(damaged, content);
        std::vector<std::string> warnings;
        auto store = Store::open(wide_options(damaged), warnings);
        if (!store) {
            CHECK((store.error().kind == ErrorKind::unsupported && offset <= 63)); // the version was hit
            continue;
        }
        found += static_cast<int>(warnings.size());
        const int errors = use_all(*store);
        CHECK((warnings.empty() || errors == 0));
        late += errors > 0 ? 1 : 0;
    }
    INFO(found << " of " << rounds << " detected, " << late << " later");
    CHECK(found > rounds / 3); // the rest hit texts and free space
    CHECK(late == 0);
}

TEST_CASE("of changes in a damaged WAL, those before the damage are retained") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    std::string content;
    std::string changes;
    {
        Store store = open_store(wide_options(file));
        for (int i = 0; i < 40; ++i)
            done(store.put(response_of(entry_id("r", i))));
        content = content_of(file);
        changes = content_of(file.string() + "-wal");
    }
    REQUIRE(changes.size() > 100'000);
    std::mt19937_64 random(9);
    for (int round = 0; round < 30; ++round) {
        const fs::path damaged = folder.path() / ("store" + std::to_string(round));
        overwrite(damaged, content);
        const std::size_t offset = random() % changes.size();
        std::string cut = changes;
        cut[offset] = static_cast<char>(cut[offset] + 1);
        cut.resize(round % 2 == 0 ? offset : cut.size());
        overwrite(damaged.string() + "-wal", cut);
        Store store = open_store(wide_options(damaged));
        bool was_there = true;
        for (int i = 0; i < 40; ++i) {
            const bool is_there = has_response(store, entry_id("r", i));
            CHECK((was_there || !is_there));
            was_there = is_there;
        }
        done(store.put(response_of("new")));
    }
}

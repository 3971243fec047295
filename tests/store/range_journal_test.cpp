#include "core/store/range_journal.hpp"
#include "core/store/sha256.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

using namespace etna;
using store::ByteRange;
using store::RangeJournal;

namespace {

/// A path in the temporary folder, whose file goes with the object.
struct JournalPath {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-ranges-" + std::to_string(::getpid()));
    JournalPath() = default;
    JournalPath(const JournalPath&) = delete;
    JournalPath& operator=(const JournalPath&) = delete;
    ~JournalPath() { std::filesystem::remove(path); }

    [[nodiscard]] RangeJournal open(std::string_view version, uint64_t bytes) const {
        auto journal = RangeJournal::open(path, version, bytes);
        REQUIRE(journal.has_value());
        return std::move(journal).value();
    }
};

} // namespace

TEST_CASE("a reopened journal returns the missing ranges in pieces") {
    const JournalPath file;
    {
        RangeJournal journal = file.open("v1", 100);
        CHECK(journal.missing(40) == std::vector<ByteRange>{{0, 40}, {40, 80}, {80, 100}});
        REQUIRE(journal.add({40, 50}));
        REQUIRE(journal.add({60, 70}));
        REQUIRE(journal.add({50, 60}));
    }
    std::ofstream(file.path, std::ios::app) << "80 9"; // torn
    const RangeJournal journal = file.open("v1", 100);
    CHECK(journal.done_bytes() == 30);
    CHECK(journal.missing(100) == std::vector<ByteRange>{{0, 40}, {70, 100}});
}

TEST_CASE("a journal of another version or size, or a damaged one, counts for nothing") {
    const JournalPath file;
    REQUIRE(file.open("v1", 100).add({0, 50}));
    CHECK(file.open("v2", 100).done_bytes() == 0);
    REQUIRE(file.open("v1", 100).add({0, 50}));
    CHECK(file.open("v1", 101).done_bytes() == 0);
    const std::string head = "etna-ranges-1 100 v\n";
    CHECK(store::parse_ranges(head + "0 10\n", "v", 100) == std::vector<ByteRange>{{0, 10}});
    for (const char* line : {"0 101\n", "5 5\n", "9 3\n", "x\n", "1  2\n", "-1 2\n", "1 2 3\n", "\n",
                             "0 99999999999999999999999\n"}) {
        CAPTURE(line);
        CHECK(store::parse_ranges(head + line, "v", 100).empty());
    }
}

TEST_CASE("SHA-256 gives its published values") {
    // FIPS 180-4's examples: "abc", and the empty message.
    store::Sha256 empty;
    CHECK(empty.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    store::Sha256 abc;
    for (const std::string_view piece : {"a", "bc"})
        abc.add(std::as_bytes(std::span(piece)));
    CHECK(abc.hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(store::is_sha256_hex(std::string(64, 'f')));
    CHECK_FALSE(store::is_sha256_hex(std::string(64, 'F')));
    CHECK_FALSE(store::is_sha256_hex("abc"));
}

#include "core/store/cache_file.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

using namespace etna;

namespace {

/// An empty folder that goes with the object.
struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-cache-" + std::to_string(::getpid()));
    Folder() { std::filesystem::create_directories(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path); }
};

ByteView bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

bool holds(const std::filesystem::path& path, std::string_view key, std::string_view content) {
    const auto found = store::read_cache_file(path, key);
    return found &&
           std::equal(found->begin(), found->end(), bytes_of(content).begin(), bytes_of(content).end());
}

} // namespace

TEST_CASE("FNV-1a gives its published values") {
    // The test vectors of the authors' page (isthe.com/chongo/tech/comp/fnv).
    CHECK(store::fnv1a(bytes_of("")) == 0xcbf29ce484222325U);
    CHECK(store::fnv1a(bytes_of("a")) == 0xaf63dc4c8601ec8cU);
    CHECK(store::fnv1a(bytes_of("foobar")) == 0x85944171f73967e8U);
}

TEST_CASE("a cache file returns the content written under its key, and nothing for another key") {
    const Folder folder;
    const auto path = folder.path / "a" / "b.bin";
    CHECK_FALSE(store::read_cache_file(path, "key"));
    REQUIRE(store::write_cache_file(path, "key", bytes_of("content")));
    CHECK(holds(path, "key", "content"));
    CHECK_FALSE(store::read_cache_file(path, "kex"));
    CHECK_FALSE(store::read_cache_file(path, "ke"));
    CHECK_FALSE(store::read_cache_file(path, "keyc"));
    REQUIRE(store::write_cache_file(path, "key", {}));
    CHECK(holds(path, "key", ""));
    CHECK(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}) ==
          1); // nothing unfinished
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 077) == 0);
}

TEST_CASE("a truncated, extended or changed cache file is ignored") {
    const Folder folder;
    const auto path = folder.path / "b.bin";
    REQUIRE(store::write_cache_file(path, "key", bytes_of("the content")));
    const std::string whole = read(path);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write(path, whole.substr(0, size));
        CHECK_FALSE(store::read_cache_file(path, "key"));
        std::string changed = whole;
        changed[size] = static_cast<char>(changed[size] ^ 0x10);
        write(path, changed);
        CHECK_FALSE(store::read_cache_file(path, "key"));
    }
    write(path, whole + "x");
    CHECK_FALSE(store::read_cache_file(path, "key"));
    write(path, whole);
    CHECK(store::read_cache_file(path, "key"));
}

TEST_CASE("an unusable path is an error when written and empty when read") {
    const Folder folder;
    write(folder.path / "file", "x");
    CHECK(store::write_cache_file(folder.path / "file" / "b.bin", "key", {}).error().kind == ErrorKind::io);
    CHECK_FALSE(store::read_cache_file(folder.path / "file" / "b.bin", "key"));
    std::filesystem::create_directories(folder.path / "folder" / "inside");
    CHECK(store::write_cache_file(folder.path / "folder", "key", {}).error().kind == ErrorKind::io);
    CHECK_FALSE(store::read_cache_file(folder.path, "key"));
    REQUIRE(::mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
    CHECK_FALSE(store::read_cache_file(folder.path / "pipe", "key"));
}

#include "core/base/mapped_file.hpp"
#include "tests/support/catch.hpp"

#include <cstdio>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace etna;

namespace {

/// A file in the temporary directory that goes with the scope.
struct TemporaryFile {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-mapped-" + std::to_string(::getpid()));
    explicit TemporaryFile(const std::string& content) { std::ofstream(path, std::ios::binary) << content; }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::filesystem::remove(path); }
};

} // namespace

TEST_CASE("a mapped file shows the bytes, also after a move and after they were dropped") {
    const std::string content(10000, 'x');
    const TemporaryFile file(content);
    auto mapped = MappedFile::open(file.path);
    REQUIRE(mapped.has_value());
    const MappedFile moved = std::move(mapped).value();
    REQUIRE(moved.bytes().size() == content.size());
    moved.drop(0, content.size());
    moved.drop(9999, 100000);
    REQUIRE(static_cast<char>(moved.bytes()[9999]) == 'x');
}

TEST_CASE("an empty file maps to an empty view") {
    const TemporaryFile file("");
    REQUIRE(MappedFile::open(file.path).value().bytes().empty());
}

TEST_CASE("a missing file and a directory are named errors") {
    const auto missing = MappedFile::open("/nonexistent/model.gguf");
    REQUIRE(missing.error().kind == ErrorKind::not_found);
    REQUIRE(missing.error().message.find("/nonexistent/model.gguf") != std::string::npos);
    REQUIRE(MappedFile::open("/tmp").error().kind == ErrorKind::io);
}

TEST_CASE("a FIFO is refused at once instead of waiting for a writer") {
    const auto path = std::filesystem::temp_directory_path() / ("etna-fifo-" + std::to_string(::getpid()));
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const auto opened = MappedFile::open(path);
    std::filesystem::remove(path);
    REQUIRE(opened.error().kind == ErrorKind::io);
    REQUIRE(opened.error().message.find("not a regular file") != std::string::npos);
}

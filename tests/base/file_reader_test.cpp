#include "core/base/file_reader.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <fstream>
#include <span>
#include <string>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

using namespace etna;

namespace {

/// A file in the temporary directory that goes with the scope.
struct TemporaryFile {
    std::filesystem::path path;
    explicit TemporaryFile(const std::string& content, const std::string& suffix = {})
        : path(std::filesystem::temp_directory_path() /
               ("etna-reader-" + std::to_string(::getpid()) + suffix)) {
        std::ofstream(path, std::ios::binary) << content;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::filesystem::remove(path); }
};

std::string read(const FileReader& file, uint64_t offset, std::size_t bytes) {
    std::string text(bytes, '\0');
    const Status status = file.read(offset, std::as_writable_bytes(std::span(text)));
    return status ? text : status.error().message;
}

} // namespace

TEST_CASE("a file is read at any offset, also after the reader was moved") {
    const TemporaryFile file("0123456789");
    auto opened = FileReader::open(file.path);
    REQUIRE(opened.has_value());
    const FileReader moved = std::move(opened).value();
    CHECK(moved.bytes() == 10);
    CHECK(read(moved, 0, 10) == "0123456789");
    CHECK(read(moved, 7, 3) == "789");
    CHECK(read(moved, 10, 0).empty());
    CHECK(moved.check_unchanged());
    const TemporaryFile empty("", "-empty");
    CHECK(FileReader::open(empty.path).value().bytes() == 0);
}

TEST_CASE("a read fails with an error that names the cause if the file was truncated or changed") {
    const TemporaryFile file(std::string(10'000, 'x'));
    const auto opened = FileReader::open(file.path);
    REQUIRE(opened.has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // file systems' clocks are coarse
    std::filesystem::resize_file(file.path, 5'000);
    CHECK(read(*opened, 4'999, 1) == "x");
    CHECK(read(*opened, 4'999, 2).find("was changed while it was read") != std::string::npos);
    CHECK(opened->check_unchanged().error().kind == ErrorKind::io);
    std::filesystem::resize_file(file.path, 10'000); // as long as before, and another
    CHECK(opened->check_unchanged().error().message.find(file.path.string()) != std::string::npos);
}

TEST_CASE("a missing file and a directory are named errors") {
    const auto missing = FileReader::open("/nonexistent/model.gguf");
    REQUIRE(missing.error().kind == ErrorKind::not_found);
    REQUIRE(missing.error().message.find("/nonexistent/model.gguf") != std::string::npos);
    REQUIRE(FileReader::open("/tmp").error().kind == ErrorKind::io);
}

TEST_CASE("a FIFO is refused at once instead of waiting for a writer") {
    const auto path = std::filesystem::temp_directory_path() / ("etna-fifo-" + std::to_string(::getpid()));
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const auto opened = FileReader::open(path);
    std::filesystem::remove(path);
    REQUIRE(opened.error().kind == ErrorKind::io);
    REQUIRE(opened.error().message.find("not a regular file") != std::string::npos);
}

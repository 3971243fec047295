// Programs that outlive the command that starts them.
#include "cli/child_process.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

using namespace etna;
using cli::ChildProcess;

TEST_CASE("a detached program runs in its own session; one that cannot run is an error") {
    std::string folder = (std::filesystem::temp_directory_path() / "etna-detached-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    const std::filesystem::path done = folder + "/done";
    const Status started = ChildProcess::start_detached(
        {.executable = "/bin/sh", .arguments = {"-c", "cat; mkdir \"$0\"", done.string()}, .variables = {}});
    CHECK(started.has_value());
    CHECK(etna::test::eventually([&] { return std::filesystem::exists(done); }));
    std::filesystem::remove_all(folder);

    const Status missing =
        ChildProcess::start_detached({.executable = folder + "/none", .arguments = {}, .variables = {}});
    REQUIRE(!missing.has_value());
    CHECK(missing.error().message.find("cannot start") != std::string::npos);
}

// Sealed items: only the server that sealed them can open them.
#include "server/base/seal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

using namespace etna;
using server::Seal;
namespace fs = std::filesystem;

namespace {

std::string sealed(const Seal& seal, std::string_view text, std::string_view purpose = "test") {
    auto result = seal.seal(text, purpose);
    REQUIRE(result);
    return *result;
}

} // namespace

TEST_CASE("unseal() returns the sealed text, for any bytes and length") {
    const Seal seal = Seal::temporary().value();
    for (const std::size_t size : {0U, 1U, 2U, 3U, 15U, 16U, 17U, 100'000U}) {
        std::string text(size, '\0');
        for (std::size_t i = 0; i < size; ++i)
            text[i] = static_cast<char>(i * 37);
        CHECK(seal.unseal(sealed(seal, text), "test").value() == text);
    }
}

TEST_CASE("sealing the same text twice gives different results") {
    const Seal seal = Seal::temporary().value();
    std::set<std::string> all;
    for (int i = 0; i < 100; ++i)
        all.insert(sealed(seal, "the same"));
    CHECK(all.size() == 100);
}

TEST_CASE("modified items, other purposes and other keys are refused") {
    const Seal seal = Seal::temporary().value();
    const Seal other = Seal::temporary().value();
    const std::string good = sealed(seal, "a secret of some length");
    CHECK_FALSE(seal.unseal(good, "another purpose"));
    CHECK_FALSE(other.unseal(good, "test"));
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        CHECK_FALSE(seal.unseal(bad, "test"));
        CHECK_FALSE(seal.unseal(good.substr(0, i), "test"));
    }
    for (const std::string nonsense : {"", "=", "====", "AAAA", "not base64!", "\xFF\xFE"})
        CHECK_FALSE(seal.unseal(nonsense, "test"));
}

TEST_CASE("a key file is created once with mode 0600, and is used when reopened") {
    const test::TemporaryFolder folder;
    const fs::path file = folder.path() / "store.key";
    const std::string item = sealed(Seal::open(file).value(), "text");
    CHECK(Seal::open(file).value().unseal(item, "test").value() == "text");
    struct stat status = {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    CHECK(status.st_size == 32);
}

TEST_CASE("an invalid key file is an error that names it") {
    const test::TemporaryFolder folder;
    const fs::path file = folder.path() / "store.key";
    std::ofstream(file) << "too short";
    const auto result = Seal::open(file);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::corrupt);
    CHECK(result.error().message.find(file.string()) != std::string::npos);
    CHECK_FALSE(result.error().hint.empty());
    CHECK(Seal::open(folder.path() / "nowhere" / "key").error().kind == ErrorKind::io);
}

TEST_CASE("a read-only key file works") {
    const test::TemporaryFolder folder;
    const fs::path file = folder.path() / "store.key";
    const std::string item = sealed(Seal::open(file).value(), "text");
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    fs::permissions(folder.path(), fs::perms(0755));
    constexpr uid_t nobody = 65534;
    const bool is_root = ::geteuid() == 0; // can write any file
    if (is_root)
        REQUIRE(::seteuid(nobody) == 0);
    const auto seal = Seal::open(file);
    if (is_root)
        REQUIRE(::seteuid(0) == 0);
    REQUIRE(seal);
    CHECK(seal->unseal(item, "test").value() == "text");
}

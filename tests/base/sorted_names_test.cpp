// Names searched byte by byte, and the hash of names that a file chooses.
#include "core/base/keyed_hash.hpp"
#include "core/base/sorted_names.hpp"
#include "tests/support/catch.hpp"

#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace etna {
namespace {

SortedNames::Prefix prefix_of(const SortedNames& names, std::string_view text) {
    SortedNames::Prefix prefix = names.all();
    for (const char byte : text)
        prefix = names.extended(prefix, byte);
    return prefix;
}

/// Returns a name of 16 bytes for which MurmurHash64A with libstdc++'s seed reaches the same state as for any
/// other: the second half cancels the first.
std::string colliding_name(uint64_t first) {
    constexpr uint64_t factor = 0xC6A4A7935BD1E995;
    uint64_t inverse = 1; // of the factor, modulo 2^64
    for (int i = 0; i < 6; ++i)
        inverse *= 2 - factor * inverse;
    const auto shifted = [](uint64_t value) { return value ^ value >> 47; };
    const uint64_t state = (uint64_t{0xC70F6907} ^ 16 * factor ^ shifted(first * factor) * factor) * factor;
    const uint64_t second = shifted(state * inverse) * inverse; // its block equals the state
    std::string name(16, '\0');
    std::memcpy(name.data(), &first, sizeof first);
    std::memcpy(name.data() + sizeof first, &second, sizeof second);
    return name;
}

} // namespace

TEST_CASE("a prefix has the value of the name that equals it, and knows longer ones") {
    SortedNames names;
    for (const auto& [name, value] : {std::pair("the", 1U), {"th", 2U}, {"a", 3U}, {"the", 4U}, {"\xFF", 5U}})
        names.add(name, value);
    names.finish();
    CHECK(names.size() == 4);
    CHECK(names.value_at(prefix_of(names, "the")) == 1U); // the first of equal names
    CHECK(names.value_at(prefix_of(names, "th")) == 2U);
    CHECK(names.value_at(prefix_of(names, "\xFF")) == 5U);
    CHECK_FALSE(names.value_at(prefix_of(names, "t")));
    CHECK_FALSE(names.value_at(prefix_of(names, "")));
    CHECK(names.has_longer(prefix_of(names, "th")));
    CHECK_FALSE(names.has_longer(prefix_of(names, "the")));
    CHECK(prefix_of(names, "thx").is_empty());
    CHECK_FALSE(names.has_longer(prefix_of(names, "b")));
    CHECK(SortedNames().all().is_empty());
}

TEST_CASE("names that collide under the standard library's hash do not collide under a keyed one") {
    std::set<std::size_t> standard;
    std::set<std::size_t> keyed;
    constexpr uint64_t count = 1000;
    for (uint64_t i = 0; i < count; ++i) {
        const std::string name = colliding_name(i);
        standard.insert(std::hash<std::string_view>()(name));
        keyed.insert(KeyedHash()(name));
    }
#ifdef __GLIBCXX__
    CHECK(standard.size() == 1);
#endif
    CHECK(keyed.size() == count);
    CHECK(KeyedHash()(uint64_t{7}) == KeyedHash()(uint64_t{7}));
    CHECK(KeyedHash()("a") != KeyedHash()("b"));
    CHECK(KeyedHash()("a") != KeyedHash()(std::string_view("a\0", 2)));
}

} // namespace etna

// The work that a template's probes may take together.
#include "core/chat/chat_template.hpp"
#include "tests/support/catch.hpp"

#include <string>

#include <fmt/format.h>

using namespace etna;
using namespace etna::chat;

namespace {

/// A template that counts to `outer` times 1,000 before it writes all that a request has.
std::string counting_template(int outer) {
    return fmt::format(
        "{{% for i in range({}) %}}{{% for j in range(1000) %}}{{% set x = j %}}{{% endfor %}}"
        "{{% endfor %}}{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}{{% endfor %}}"
        "{{{{ tools }}}}",
        outer);
}

jinja::Value greeting() {
    using jinja::Value;
    const Value message = Value::dict({{"role", "user"}, {"content", "Hello"}});
    return Value::dict({{"messages", Value::list({message})}});
}

} // namespace

TEST_CASE("the probes of a costly template share one bound, and the template still renders") {
    const auto cheap = ChatTemplate::create(counting_template(1), {});
    REQUIRE(cheap);
    CHECK(cheap->capabilities().renders_system);
    CHECK(cheap->capabilities().renders_tools);
    // Every rendering takes less than the bound, and all together more.
    const auto costly = ChatTemplate::create(counting_template(900), {});
    REQUIRE(costly);
    CHECK(costly->capabilities().content == ContentForm::text);
    CHECK_FALSE(costly->capabilities().renders_tools);
    const auto prompt = costly->render(greeting(), 0);
    REQUIRE(prompt);
    CHECK(prompt->text.starts_with("<|user|>Hello"));
    CHECK(ChatTemplate::create(counting_template(100'000), {})); // no rendering is within the bound
}

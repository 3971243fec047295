#include "core/base/json.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using etna::Json;

namespace {

/// Notes the events of a text, and stops at an event of a given name.
class EventNotes final : public Json::json_sax_t {
public:
    explicit EventNotes(std::string last = {}) : last_(std::move(last)) {}

    [[nodiscard]] const std::string& events() const { return events_; }

    bool null() override { return note("null"); }
    bool boolean(bool /*value*/) override { return note("boolean"); }
    bool number_integer(number_integer_t /*value*/) override { return note("integer"); }
    bool number_unsigned(number_unsigned_t /*value*/) override { return note("unsigned"); }
    bool number_float(number_float_t /*value*/, const string_t& text) override { return note(text); }
    bool string(string_t& value) override { return note(value); }
    bool binary(binary_t& /*value*/) override { return note("binary"); }
    bool start_object(std::size_t /*members*/) override { return note("{"); }
    bool key(string_t& name) override { return note(name + ":"); }
    bool end_object() override { return note("}"); }
    bool start_array(std::size_t /*items*/) override { return note("["); }
    bool end_array() override { return note("]"); }
    bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& error) override {
        note("error " + std::to_string(error.id) + " at " + std::to_string(byte));
        return false;
    }

private:
    bool note(const std::string& event) {
        events_ += (events_.empty() ? "" : " ") + event;
        return event != last_;
    }

    std::string last_;
    std::string events_;
};

} // namespace

TEST_CASE("parsing, copying and dumping JSON preserve the order of members") {
    const std::string text = R"({"b":[1,-2,3.5,true,null,"x"],"a":{"c":{}}})";
    const Json json = etna::parse_json(text);
    CHECK(etna::dump_json(json) == text);
    Json copy = json;
    copy["b"].push_back(json);
    CHECK(copy["b"].back() == json);
    CHECK(copy != json);
}

TEST_CASE("parse_json returns a discarded value if the text is not JSON") {
    for (const char* text : {"", " ", "{", "[1,]", "nul", "{\"a\":1} x", "'a'", "1e999", "[\"\xff\"]"}) {
        CAPTURE(text);
        CHECK(etna::parse_json(text).is_discarded());
    }
    CHECK(etna::parse_json(" null ").is_null());
}

TEST_CASE("parse_json with a depth limit discards deeper text") {
    const auto nested = [](int depth) {
        return std::string(static_cast<std::size_t>(depth), '[') + "1" +
               std::string(static_cast<std::size_t>(depth), ']');
    };
    CHECK(etna::parse_json(nested(20), 20) == etna::parse_json(nested(20)));
    CHECK(etna::parse_json(nested(21), 20).is_discarded());
    CHECK(etna::parse_json(R"({"a": {"b": 1}})", 1).is_discarded());
    CHECK(etna::parse_json(R"({"a": {"b": 1}})", 2).is_object());
    CHECK(etna::parse_json("[1", 20).is_discarded());
    CHECK(etna::parse_json(nested(100'000), 20).is_discarded());
}

TEST_CASE("dump_json replaces invalid UTF-8 by U+FFFD") {
    CHECK(etna::dump_json("a\xff\xc3") == "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK(etna::dump_json_indented({{"a", "\xff"}}) == "{\n  \"a\": \"\xef\xbf\xbd\"\n}");
}

TEST_CASE("scan_json sends the events of a text until the handler stops it") {
    EventNotes all;
    CHECK(etna::scan_json(R"({"a": [1, -2, 3.50, true, null, "x"]})", all));
    CHECK(all.events() == "{ a: [ unsigned integer 3.50 boolean null x ] }");
    EventNotes some("[");
    CHECK_FALSE(etna::scan_json("[1, 2]", some));
    CHECK(some.events() == "[");
    EventNotes wrong;
    CHECK_FALSE(etna::scan_json("[1, x]", wrong));
    CHECK(wrong.events() == "[ unsigned error 101 at 5");
    EventNotes large;
    CHECK_FALSE(etna::scan_json("[1e999]", large));
    CHECK(large.events() == "[ error 406 at 6");
}

TEST_CASE("a large and deep JSON value is destroyed without recursion") {
    const std::size_t depth = 1'000'000;
    CHECK(etna::parse_json(std::string(depth, '[') + std::string(depth, ']')).is_array());
    CHECK(Json(std::vector<int>(2'000'000, 1)).size() == 2'000'000);
}

// The values of a schema in notations other than JSON.

#include "core/grammar/schema/json_schema.hpp"
#include "tests/support/catch.hpp"

#include <string_view>

using namespace etna;
using namespace etna::grammar;

namespace {

class Written {
public:
    Written(std::string_view schema, const Writing& writing)
        : root_(json_schema(language_, schema, {.writing = writing})) {}

    bool allows(std::string_view text) {
        REQUIRE(root_.has_value());
        return language_.is_nullable(language_.next(*root_, text));
    }
    [[nodiscard]] bool is_error() const { return !root_.has_value(); }

private:
    Language language_;
    Result<Expression> root_;
};

Writing tags() {
    return {.form = Form::tagged,
            .not_in_strings = {"</p>"},
            .member = {{"<p=", TaggedSlot::name}, {">", TaggedSlot::value}, {"</p>\n"}},
            .read_as = {{"s", json_string}, {"n", json_integer}, {"e", json_string}, {"c", json_string}}};
}

constexpr std::string_view all_types = R"({"type": "object", "properties": {"s": {"type": "string"},
    "n": {"type": "integer", "minimum": 5}, "e": {"enum": ["on", "off </p>"]},
    "c": {"type": "string", "pattern": "^[a-c]+$", "maxLength": 3}},
    "required": ["s"], "additionalProperties": false})";

} // namespace

TEST_CASE("tagged members: texts unescaped, other values as JSON") {
    Written written(all_types, tags());
    CHECK(written.allows("<p=s>any \"text\"\n <b></p>\n"));
    CHECK(written.allows("<p=s></p><p=n>7</p>"));
    CHECK(written.allows("<p=s>5</p>\n<p=n>50</p>\n<p=e>on</p>\n<p=c>abc</p>\n"));
    CHECK_FALSE(written.allows("<p=n>7</p>"));           // s is missing
    CHECK_FALSE(written.allows("<p=s>a</p><p=n>4</p>")); // too small
    CHECK_FALSE(written.allows("<p=s>a</p><p=n>\"7\"</p>"));
    CHECK_FALSE(written.allows("<p=s>a</p><p=s>b</p>"));        // twice
    CHECK_FALSE(written.allows("<p=s>a</p><p=e>off </p></p>")); // cannot be read back
    CHECK_FALSE(written.allows("<p=s>a</p><p=c>abcd</p>"));
    CHECK_FALSE(written.allows("<p=s>a</p><p=other>1</p>"));
}

TEST_CASE("a tagged text that a parser would read as another value is not a string") {
    Written written(
        R"({"properties": {"x": {"type": ["string", "integer", "object"]}}, "additionalProperties": false})",
        tags());
    CHECK(written.allows("<p=x>five</p>"));
    CHECK(written.allows("<p=x>5</p>"));
    CHECK(written.allows("<p=x>{\"a\": True, \"b\": [\"</b>\"]}</p>"));
    for (const char* const text : {"5.5", "true", "True ", "\"a\"", "[1]", "-", " x", "{\"a\": \"</p>\"}"}) {
        CAPTURE(text);
        CHECK_FALSE(written.allows("<p=x>" + std::string(text) + "</p>"));
    }
}

TEST_CASE("a kind distinguishes texts from other values") {
    Writing writing = tags();
    writing.member = {
        {"<p=", TaggedSlot::name}, {" is=", TaggedSlot::kind}, {">", TaggedSlot::value}, {"</p>"}};
    writing.text_kinds = {"text"};
    writing.other_kinds = {"json"};
    Written written(
        R"({"properties": {"x": {"type": ["string", "integer"]}}, "additionalProperties": false})", writing);
    CHECK(written.allows("<p=x is=text>5.5</p>"));
    CHECK(written.allows("<p=x is=json>5</p>"));
    CHECK_FALSE(written.allows("<p=x is=json>five</p>"));
}

TEST_CASE("a name that is repeated after the value has to be in the schema") {
    Writing writing = tags();
    writing.member = {{"<", TaggedSlot::name}, {">", TaggedSlot::value}, {"</", TaggedSlot::name}, {">"}};
    writing.not_in_strings = {"</"};
    Written written(R"({"properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}})", writing);
    CHECK(written.allows("<x>1</x><y>2</y>"));
    CHECK_FALSE(written.allows("<x>1</y>"));
    CHECK_FALSE(written.allows("<z>1</z>"));
}

TEST_CASE("keyword arguments accept the words of Python and JSON") {
    Written written(
        R"({"properties": {"s": {"type": "string"}, "b": {"type": ["boolean", "null"]}, "no-word": {}},
        "required": ["b"], "additionalProperties": false})",
        {.form = Form::keywords});
    CHECK(written.allows(R"x(s="a)", b=None)x"));
    CHECK(written.allows("b=True"));
    CHECK(written.allows("b=false"));
    CHECK_FALSE(written.allows("s='a'"));
    CHECK_FALSE(written.allows(R"(b=True, no-word=1)"));
    CHECK(Written(R"({"required": ["a b"]})", {.form = Form::keywords}).is_error());
}

TEST_CASE("dictionaries have bare keys, and strings between marks") {
    Written written(
        R"({"properties": {"s": {"type": "string"}, "o": {"type": "object", "properties": {"l": {"type": "array",
        "items": {"type": "string", "maxLength": 2}}}, "additionalProperties": false}}, "additionalProperties": false})",
        {.form = Form::dictionary, .string_mark = "<|>"});
    CHECK(written.allows(R"({s:<|>a "b" \ <<|>})"));
    CHECK(written.allows("{o:{l:[<|>x<|>,<|>yz<|>]}}"));
    CHECK(written.allows("{}"));
    CHECK_FALSE(written.allows(R"({"s":<|>a<|>})"));
    CHECK_FALSE(written.allows(R"({s:"a"})"));
    CHECK_FALSE(written.allows("{o:{l:[<|>xyz<|>]}}"));
}

TEST_CASE("no string contains a mark") {
    Written written(
        R"({"type": "array", "items": {"anyOf": [{"type": "string"}, {"enum": ["<call>", "b<"]}, {"type": "string", "maxLength": 6}]}})",
        {.not_in_strings = {"<call>"}});
    CHECK(written.allows(R"(["<cal", "b<"])"));
    CHECK_FALSE(written.allows(R"(["<call>"])"));
}

// Schemas and grammars that were made to take for ever: an error within a second of processor time and 200
// MB.
#include "core/grammar/gbnf.hpp"
#include "core/grammar/grammars.hpp"
#include "core/grammar/lark.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace etna;
using namespace etna::grammar;

namespace {

constexpr double seconds_max = 1;
constexpr int64_t kib_max = 200'000'000 / 1024;

/// Sanitizers keep what is freed and shadow what is not, and take several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_measured = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool is_measured = false;
#else
constexpr bool is_measured = true;
#endif
#else
constexpr bool is_measured = true;
#endif

struct Cost {
    int exit_status = -1; ///< what the work returned; -1: a signal ended it
    double seconds = 0;   ///< of processor time
    int64_t kib = 0;      ///< resident at most, beyond what there was before
};

int64_t resident_kib() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/// Does the work in a process of its own, so that its memory is its alone.
Cost cost_of(const std::function<int()>& work) {
    ::malloc_trim(0);
    const pid_t child = ::fork();
    if (child == 0) {
        const int64_t before = resident_kib(); // of this process, which has touched little yet
        const int status = work();
        ::_exit(resident_kib() - before > kib_max && is_measured ? 100 : status);
    }
    int status = 0;
    rusage usage = {};
    ::wait4(child, &status, 0, &usage);
    return {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
            .kib = usage.ru_maxrss};
}

using Reader = Result<Expression> (*)(Language& language, std::string_view text);

constexpr int is_language = 50; ///< instead of an ErrorKind

/// Reads the text, and follows `walked` in what it describes.
void check_bounds(Reader reader, const std::string& text, int expected, const std::string& walked = "") {
    INFO(text.substr(0, 120));
    const Cost cost = cost_of([&] {
        Language language;
        const auto read = reader(language, text);
        if (read)
            static_cast<void>(language.next(*read, walked));
        return read ? is_language : static_cast<int>(read.error().kind);
    });
    INFO(cost.seconds << " s, " << cost.kib << " KiB in all");
    CHECK(cost.exit_status == expected);
    if (is_measured)
        CHECK(cost.seconds < seconds_max);
}

Result<Expression> schema(Language& language, std::string_view text) {
    return json_schema(language, text, {});
}

std::string quoted(std::string_view text) {
    std::string all = "\"";
    for (const char byte : text)
        all += byte == '"' ? "\\\"" : byte == '\n' ? "\\n" : std::string(1, byte);
    return all + "\"";
}

/// A member that is kept to a grammar, as JSON or between marks.
Result<Expression> member_of_grammar(Language& language, std::string_view grammar, const Writing& writing) {
    return json_schema(language,
                       R"({"properties": {"a": {"type": "string", "x-etna-lark": )" + quoted(grammar) +
                           R"(}}, "required": ["a"], "additionalProperties": false})",
                       {.writing = writing});
}

Result<Expression> lark_in_json(Language& language, std::string_view grammar) {
    return member_of_grammar(language, grammar, {});
}

Result<Expression> lark_between_marks(Language& language, std::string_view grammar) {
    return member_of_grammar(
        language, grammar,
        {.form = Form::tagged,
         .not_in_strings = {"</parameter>", "</function>", "<parameter="},
         .member = {{"<parameter=", TaggedSlot::name}, {">", TaggedSlot::value}, {"</parameter>"}},
         .read_as = {{"a", json_string}}});
}

std::string many(int count, const std::function<std::string(int)>& one) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += (i == 0 ? "" : ",") + one(i);
    return all;
}

std::string nested(std::string_view open, std::string_view core, std::string_view close, int depth) {
    std::string all;
    for (int i = 0; i < depth; ++i)
        all += open;
    all += core;
    for (int i = 0; i < depth; ++i)
        all += close;
    return all;
}

constexpr int unsupported = static_cast<int>(ErrorKind::unsupported);
constexpr int invalid = static_cast<int>(ErrorKind::invalid_argument);

} // namespace

TEST_CASE("schemas made to take for ever end in an error soon") {
    check_bounds(schema,
                 R"({"allOf": [)" +
                     many(30,
                          [](int i) {
                              return fmt::format(
                                  R"({{"anyOf": [{{"required": ["a{}"]}}, {{"required": ["b{}"]}}]}})", i, i);
                          }) +
                     "]}",
                 unsupported);
    check_bounds(schema, R"({"pattern": "^(a|b)*a(a|b){30}$", "maxLength": 50})", unsupported);
    check_bounds(schema, R"({"pattern": "(((a{1,900}){1,900}){1,900}){1,900}", "maxLength": 5})",
                 unsupported);
    check_bounds(
        schema,
        R"({"type": "array", "contains": {"type": "null"}, "minContains": 100000, "maxContains": 900000})",
        unsupported);
    check_bounds(schema, std::string(100'000, '['), unsupported);
    check_bounds(schema, nested(R"({"not":)", "true", "}", 99), invalid);
    check_bounds(schema,
                 R"({"allOf": [)" +
                     many(40,
                          [](int i) {
                              return fmt::format(R"({{"pattern": "^.*{}.*$"}})",
                                                 static_cast<char>('a' + i % 26));
                          }) +
                     "]}",
                 unsupported);
    check_bounds(
        schema,
        R"({"oneOf": [)" +
            many(200,
                 [](int i) {
                     return fmt::format(
                         R"({{"required": ["a{}"], "properties": {{"a{}": {{"type": "integer"}}}}}})", i, i);
                 }) +
            "]}",
        unsupported);
    check_bounds(
        schema,
        R"({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}})",
        is_language); // a circle says nothing
}

TEST_CASE("large schemas that mean something are languages within the same bounds") {
    check_bounds(schema,
                 R"({"type": "object", "properties": {)" +
                     many(1000,
                          [](int i) {
                              return fmt::format(R"("name{}": {{"type": "string", "maxLength": {}}})", i,
                                                 i + 1);
                          }) +
                     "}}",
                 is_language);
    check_bounds(schema,
                 R"({"enum": [)" + many(20'000, [](int i) { return fmt::format("\"value number {}\"", i); }) +
                     "]}",
                 is_language);
    check_bounds(schema, R"({"type": "string", "minLength": 5000, "maxLength": 100000})", is_language);
    check_bounds(schema,
                 R"({"$defs": {"a": )" +
                     nested(R"({"properties": {"x": )", R"({"$ref": "#/$defs/a"})", "}}", 30) +
                     R"(}, "$ref": "#/$defs/a"})",
                 is_language);
}

TEST_CASE("grammars made to take for ever are followed or refused within the same bounds") {
    const std::string long_text(500, 'a');
    check_bounds(gbnf, "root ::= (((\"a\"{1,900}){1,900}){1,900}){1,900}", is_language);
    check_bounds(gbnf, "root ::= (\"a\"* \"a\"*){900} | (\"a\"? \"a\"?){900} \"b\"", is_language, long_text);
    check_bounds(lark, "start: A~900\nA: B~900\nB: C~900\nC: \"a\"~900", is_language, long_text);
    check_bounds(gbnf, "root ::= " + nested("(", "\"a\"", ")", 100'000), invalid);
    check_bounds(gbnf, "root ::= root \"a\" | \"a\"", unsupported);
}

TEST_CASE("grammars in strings keep within the same bounds") {
    const std::string long_text(500, 'a');
    const std::string counted = "start: A~900\nA: B~900\nB: C~900\nC: \"a\"~900";
    const std::string ambiguous = "start: x*\nx: \"a\"* | \"a\" x? \"a\"*\n%ignore /a+/";
    std::string rules = "start: r0\n";
    for (int i = 0; i < 2000; ++i)
        rules += fmt::format("r{}: \"a\" r{} | \"<\" r{}? \">\"\n", i, (i + 1) % 2000, (i * 7 + 1) % 2000);
    const std::string raw = "<parameter=a>";
    for (const std::string& grammar : {counted, ambiguous, rules}) {
        check_bounds(lark_in_json, grammar, is_language, "{\"a\": \"" + long_text);
        check_bounds(lark_between_marks, grammar, is_language, raw + long_text);
    }
    check_bounds(lark_between_marks, "start: " + nested("(", "/.+/", ")~0..3000", 100), is_language,
                 raw + nested("</p", "arameter", "", 100));
    check_bounds(lark_in_json, "start: start \"a\" | \"a\"", unsupported);
    check_bounds(lark_in_json, "start: " + nested("(", "\"a\"", ")", 100'000), invalid);
    check_bounds(schema,
                 R"({"type": "string", "minLength": 100, "maxLength": 200, "x-etna-lark": "start: /.*/"})",
                 unsupported);
    check_bounds(schema,
                 R"({"properties": {)" +
                     many(1000,
                          [](int i) {
                              return fmt::format(
                                  R"("name{}": {{"x-etna-lark": "start: \"(\" start? \")\" | \"{}\""}})", i,
                                  i);
                          }) +
                     "}}",
                 is_language);
}

// Fuzzes the JSON Schema compiler: any text becomes a language that can be walked, or an error, within its
// bounds. The first byte selects lenient mode and the notation of values.
#include "core/grammar/schema/json_schema.hpp"
#include "tests/fuzz/grammar_walk.hpp"

using namespace etna;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string schema(reinterpret_cast<const char*>(data) + 1, size - 1);
    grammar::Language language(std::size_t{32} << 20);
    grammar::Writing writing = {.form = static_cast<grammar::Form>((data[0] >> 1) & 3),
                                .string_mark = "<|\"|>"};
    writing.member = {{"<p=", grammar::TaggedSlot::name}, {">", grammar::TaggedSlot::value}, {"</p>"}};
    if (writing.form == grammar::Form::tagged)
        writing.not_in_strings = {"</p>"};
    const auto root =
        grammar::json_schema(language, schema, {.is_lenient = (data[0] & 1) != 0, .writing = writing});
    if (root)
        test::walk(language, *root, schema);
    return 0;
}

// Fuzzes the bytes that clients send for batches. The first byte selects the parser, the rest is its text:
// forms, and lines of an input.

#include "server/batch/line.hpp"
#include "server/batch/multipart.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace etna::server;

namespace {

void require_form(bool holds) {
    if (!holds)
        std::abort();
}

/// The first line is the content type. Parts are in the body, in order, and have names.
void check_form(std::string_view text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view body = text.substr(std::min(end + 1, text.size()));
    const auto parts = batch::parse_form(text.substr(0, end), body);
    if (!parts)
        return require_form(parts.error().status == 400 || parts.error().status == 415);
    require_form(parts->size() <= batch::form_parts_max);
    std::size_t bytes = 0;
    for (const batch::FormPart& part : *parts) {
        require_form(!part.name.empty());
        bytes += part.content.size();
    }
    require_form(bytes <= body.size());
}

/// A line is a request whose record can be read, or has an error whose record can be.
void check_line(std::string_view text) {
    const batch::InputLine line = {.number = 7, .text = std::string(text)};
    const auto id = batch::custom_id_of(line.text);
    const auto request = batch::read_line(line, "");
    if (!request) {
        require_form(!request.error().code.empty());
        const std::string record = batch::error_record(line.number, id, request.error(), nullptr);
        require_form(record.find('\n') == record.size() - 1);
        require_form(batch::read_record(record.substr(0, record.size() - 1))->line == 7U);
        return;
    }
    require_form(id == request->custom_id);
    const std::string record =
        batch::result_record(request->custom_id, {.body = etna::dump_json(request->body)});
    require_form(record.find('\n') == record.size() - 1);
    require_form(batch::read_record(record.substr(0, record.size() - 1)).has_value());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t bytes) {
    if (bytes == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
    if (data[0] % 2 == 0)
        check_form(text);
    else
        check_line(text);
    return 0;
}

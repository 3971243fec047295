// The table of sampling parameters, through everything that offers them: each accepts a value just inside its
// range, and refuses one just outside.

#include "core/generate/sampling_options.hpp"
#include "core/gguf/file.hpp"
#include "core/sampling/parameter_table.hpp"
#include "core/store/generation_config.hpp"
#include "tests/cli/harness.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::test;
using sampling::Parameter;

namespace {

struct Value {
    double number;
    bool is_inside;
};

/// Returns the values on both sides of both bounds.
std::vector<Value> values_around(const Parameter& parameter, const sampling::Range& range) {
    const bool is_whole = parameter.unit != sampling::Unit::number;
    std::vector<Value> values;
    const auto add = [&](double bound, sampling::Edge edge, double outwards) {
        const double step = is_whole ? 1 : 1e-6 * std::max(1.0, std::abs(bound));
        const bool is_included = edge == sampling::Edge::included;
        values.push_back({is_included ? bound : bound - outwards * step, true});
        values.push_back({is_included ? bound + outwards * step : bound, false});
    };
    add(range.min, range.at_min, -1);
    add(range.max, range.at_max, 1);
    return values;
}

/// Calls `check` with each value around the range of each parameter that the interface offers.
void for_each_value(sampling::Interface interface,
                    const std::function<void(const Parameter& parameter, const Value& value)>& check) {
    int offered = 0;
    for (const Parameter& parameter : sampling::parameter_table()) {
        const sampling::Offer& offer = parameter.*interface;
        if (offer.name.empty())
            continue;
        ++offered;
        for (const Value& value : values_around(parameter, offer.range)) {
            CAPTURE(offer.name, value.number, value.is_inside);
            check(parameter, value);
        }
    }
    CHECK(offered > 0);
}

std::string json_number(const Parameter& parameter, double value) {
    return parameter.unit == sampling::Unit::number ? fmt::format("{:.17g}", value)
                                                    : fmt::format("{:.0f}", value);
}

/// An API under test: the endpoint, and a body in which {} stands for a member.
struct Endpoint {
    sampling::Interface interface;
    const char* path;
    const char* body;
};

const std::vector<Endpoint> endpoints = {
    {&Parameter::openai, chats_path,
     R"({{"model": "stories", "max_tokens": 1, "messages": [{{"role": "user", "content": "x"}}], {}}})"},
    {&Parameter::openai, completions_path, R"({{"model": "stories", "max_tokens": 1, "prompt": "x", {}}})"},
    {&Parameter::openai, responses_path,
     R"({{"model": "stories", "max_output_tokens": 1, "input": "x", {}}})"},
    {&Parameter::ovms, "/v3/completions", R"({{"model": "stories", "max_tokens": 1, "prompt": "x", {}}})"},
    {&Parameter::ovms, "/v3/chat/completions",
     R"({{"model": "stories", "max_tokens": 1, "messages": [{{"role": "user", "content": "x"}}], {}}})"},
    {&Parameter::nvext, completions_path,
     R"({{"model": "stories", "max_tokens": 1, "prompt": "x", "nvext": {{{}}}}})"},
    {&Parameter::llamacpp, "/completion", R"({{"prompt": "x", "n_predict": 1, {}}})"},
    {&Parameter::ollama, "/api/generate",
     R"({{"model": "stories", "prompt": "x", "stream": false, "options": {{"num_predict": 1, {}}}}})"},
    {&Parameter::ollama, "/api/chat",
     R"({{"model": "stories", "messages": [{{"role": "user", "content": "x"}}], "stream": false,
          "options": {{"num_predict": 1, {}}}}})"},
    {&Parameter::anthropic, "/v1/messages",
     R"({{"model": "stories", "max_tokens": 1, "messages": [{{"role": "user", "content": "x"}}], {}}})"},
};

/// Whether a model's recommendations set the parameter.
bool is_set(const sampling::Overrides& overrides, const Parameter& parameter) {
    return std::visit([&](auto member) { return (overrides.*member.given).has_value(); }, parameter.member);
}

} // namespace

TEST_CASE("every API accepts a sampling parameter up to its bounds, and names it in the error beyond") {
    FakeService service({.chat_template = plain_template, .says = "Hello there."});
    for (const Endpoint& endpoint : endpoints) {
        for_each_value(endpoint.interface, [&](const Parameter& parameter, const Value& value) {
            const std::string name((parameter.*endpoint.interface).name);
            const std::string member = fmt::format(R"("{}": {})", name, json_number(parameter, value.number));
            const FakeAnswer answer =
                service.post(endpoint.path, fmt::format(fmt::runtime(endpoint.body), member));
            CAPTURE(endpoint.path, answer.body);
            CHECK(answer.status == (value.is_inside ? 200 : 400));
            CHECK((value.is_inside || contains(answer, name + "` must be ")));
        });
    }
}

TEST_CASE("the command line accepts a sampling parameter up to its bounds") {
    Harness etna;
    for_each_value(&Parameter::command_line, [&](const Parameter& parameter, const Value& value) {
        const std::string text = json_number(parameter, value.number);
        if (!value.is_inside && value.number == parameter.command_line.absence)
            return;
        const Outcome outcome = etna.run(
            {"run", "stories", "x", "-n", "1", fmt::format("--{}={}", parameter.command_line.name, text)});
        CAPTURE(outcome.error);
        CHECK(outcome.code == (value.is_inside ? 0 : 2));
        CHECK((value.is_inside || contains(outcome.error, fmt::format("`{}` is out of range: ", text))));
    });
}

TEST_CASE("a Modelfile's parameter has the bounds of the command line's") {
    Harness etna;
    int created = 0;
    for (const Parameter& parameter : sampling::parameter_table()) {
        if (parameter.modelfile.empty())
            continue;
        for (const Value& value : values_around(parameter, parameter.command_line.range)) {
            CAPTURE(parameter.modelfile, value.number);
            const std::string text = json_number(parameter, value.number);
            const auto file = etna.write(
                "Modelfile", fmt::format("FROM demo\nPARAMETER {} {}\n", parameter.modelfile, text));
            const Outcome outcome =
                etna.run({"create", fmt::format("model-{}", ++created), "-f", file.string()});
            CAPTURE(outcome.error);
            CHECK((outcome.code == 0) == value.is_inside);
            CHECK((value.is_inside || contains(outcome.error, fmt::format("`{}` is out of range: ", text))));
        }
    }
    CHECK(created > 0);
}

TEST_CASE("a recommendation of generation_config.json counts up to the bounds of its parameter") {
    for_each_value(&Parameter::generation_config, [](const Parameter& parameter, const Value& value) {
        const auto config = store::parse_generation_config(fmt::format(
            R"({{"{}": {}}})", parameter.generation_config.name, json_number(parameter, value.number)));
        REQUIRE(config.has_value());
        sampling::Overrides overrides;
        generate::apply(*config, overrides);
        CHECK(is_set(overrides, parameter) == value.is_inside);
    });
}

TEST_CASE("a recommendation of a GGUF file counts up to the bounds of its parameter") {
    for_each_value(&Parameter::gguf, [](const Parameter& parameter, const Value& value) {
        GgufWriter writer;
        writer.add("general.architecture", "llama");
        writer.add(std::string(parameter.gguf.name), value.number);
        const Bytes bytes = writer.bytes();
        const auto file = gguf::File::parse(bytes, "test");
        REQUIRE(file.has_value());
        CHECK(is_set(generate::recommended_sampling(*file), parameter) == value.is_inside);
    });
}

TEST_CASE("the sampler accepts a parameter up to its bounds, and names it in the error beyond") {
    using Counts = std::numeric_limits<uint32_t>;
    for (const Parameter& parameter : sampling::parameter_table()) {
        const bool is_float = std::holds_alternative<sampling::Member<float>>(parameter.member);
        const double max = is_float ? double{std::numeric_limits<float>::max()} : double{Counts::max()};
        for (const Value& value : values_around(parameter, parameter.range)) {
            if (value.number > max || (!is_float && !value.is_inside && value.number < 0))
                continue; // the member cannot have this value
            sampling::Overrides overrides;
            sampling::set(overrides, parameter, value.number);
            const Status checked = sampling::check(sampling::with_overrides({}, overrides));
            CAPTURE(parameter.name, value.number);
            CHECK(checked.has_value() == value.is_inside);
            CHECK((value.is_inside || checked.error().message.starts_with(parameter.name)));
        }
    }
}

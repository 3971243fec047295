#pragma once

#include "core/sampling/overrides.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

// The sampling parameters: what each is, and its name and range in every interface that offers it. The
// readers of options, requests and files, the help and the man pages derive from the table.
namespace etna::sampling {

constexpr int64_t tokens_max = std::numeric_limits<int32_t>::max(); ///< of a user's number of tokens
constexpr double penalty_max = 100; ///< of every penalty, and of DRY's strength and growth

enum class Edge : uint8_t { included, excluded };

struct Range {
    double min = 0;
    double max = 0;
    Edge at_min = Edge::included;
    Edge at_max = Edge::included;

    /// NaN is in no range.
    [[nodiscard]] constexpr bool contains(double value) const {
        return (at_min == Edge::included ? value >= min : value > min) &&
               (at_max == Edge::included ? value <= max : value < max);
    }
};

/// A parameter in one interface.
struct Offer {
    std::string_view name = {};         ///< empty: the interface lacks the parameter
    Range range = {};                   ///< other values are errors; in a model's files, they are ignored
    std::optional<double> absence = {}; ///< a value equivalent to none
};

/// A parameter where the sampler reads it, and where users set it.
template <class Number>
struct Member {
    Number Parameters::* value;
    std::optional<Number> Overrides::* given;
};

enum class Unit : uint8_t {
    number,
    tokens,
    candidates, ///< tokens of the vocabulary; 0: all
    window,     ///< tokens at the end of the history; users write -1 for full_history
};

/// What APIs do with values that they accept and the sampler does not.
enum class Below : uint8_t { raised, ignored };

struct Parameter {
    std::string_view name; ///< the member's
    std::variant<Member<float>, Member<uint32_t>> member;
    Unit unit = Unit::number;
    Range range = {};                   ///< that the sampler accepts
    std::optional<double> neutral = {}; ///< the value without effect; empty: another parameter has it
    std::optional<double> least = {};   ///< APIs raise smaller values, 0 among them, to it; empty: range.min
    Below below = Below::raised;        ///< values less than that
    std::string_view placeholder = {};  ///< of the value, in the help
    std::string_view description = {};  ///< a clause without a period, with the names of the command line
    std::string_view brief = {};        ///< the clause of the short help; empty: it omits the parameter

    // Several parameters may have one name in an API, which sets them all.
    Offer command_line = {};
    std::string_view modelfile = {};
    Offer ollama = {};
    Offer llamacpp = {};
    Offer openai = {}; ///< chats, completions and responses; with vLLM's extensions
    Offer ovms = {};   ///< the same of OpenVINO Model Server
    Offer nvext = {};  ///< NVIDIA's extensions of OpenAI's APIs
    Offer anthropic = {};
    Offer gguf = {};              ///< keys of the model's file
    Offer generation_config = {}; ///< members of generation_config.json
};

/// &Parameter::openai.
using Interface = Offer Parameter::*;

/// All parameters, in the order of the help.
std::span<const Parameter> parameter_table();

/// Returns the first parameter with this name in an interface; null if there is none.
const Parameter* find_parameter(Interface interface, std::string_view name);

/// Returns the parameter as users write it: -1 for a window of full_history.
double value_of(const Parameters& parameters, const Parameter& parameter);

/// Sets a parameter as users write it. Precondition: its type has the value.
void set(Overrides& overrides, const Parameter& parameter, double value);

} // namespace etna::sampling

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace etna::model {

class Mixer;
class Weights;
struct Config;

/// A mixer is made where its class is incomplete.
struct DeleteMixer {
    void operator()(Mixer* mixer) const;
};
using OwnedMixer = std::unique_ptr<Mixer, DeleteMixer>;

/// A buffer of a recurrent layer's states.
struct StatePart {
    std::string_view name; ///< static
    uint64_t slot_bytes = 0;
    bool is_copied = true; ///< with a slot; false: only the next step reads it
};

/// The kind of a layer's mixer and its numbers: a value of a type M, beside which these functions are
/// declared. Empty: the layer has no mixer.
///     std::vector<StatePart> state_parts(const M&);  // none: it has keys and values, or no state
///     OwnedMixer make_mixer(const M&, const Weights&, const Config&, uint32_t layer);
class MixerConfig {
public:
    MixerConfig() = default;
    template <class M>
        requires(!std::is_same_v<M, MixerConfig>)
    MixerConfig(M value) // NOLINT(google-explicit-constructor): a mixer is a configuration
        : held_(std::make_unique<Holder<M>>(std::move(value))) {}
    MixerConfig(const MixerConfig& other) : held_(other.held_ ? other.held_->clone() : nullptr) {}
    MixerConfig(MixerConfig&&) noexcept = default;
    MixerConfig& operator=(const MixerConfig& other) {
        held_ = other.held_ ? other.held_->clone() : nullptr;
        return *this;
    }
    MixerConfig& operator=(MixerConfig&&) noexcept = default;
    ~MixerConfig() = default;

    [[nodiscard]] bool empty() const { return held_ == nullptr; }

    /// Null if the mixer is of another type.
    template <class M>
    [[nodiscard]] const M* get_if() const {
        const auto* const held = dynamic_cast<const Holder<M>*>(held_.get());
        return held == nullptr ? nullptr : &held->value;
    }
    template <class M>
    [[nodiscard]] M* get_if() {
        auto* const held = dynamic_cast<Holder<M>*>(held_.get());
        return held == nullptr ? nullptr : &held->value;
    }

    [[nodiscard]] std::vector<StatePart> parts() const {
        return held_ ? held_->parts() : std::vector<StatePart>{};
    }
    /// Null if this is empty.
    [[nodiscard]] OwnedMixer make(const Weights& weights, const Config& config, uint32_t layer) const;

private:
    struct Held {
        Held() = default;
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        virtual ~Held() = default;
        [[nodiscard]] virtual std::unique_ptr<Held> clone() const = 0;
        [[nodiscard]] virtual std::vector<StatePart> parts() const = 0;
        [[nodiscard]] virtual OwnedMixer make(const Weights& weights, const Config& config,
                                              uint32_t layer) const = 0;
    };

    template <class M>
    struct Holder final : Held {
        explicit Holder(M held) : value(std::move(held)) {}
        [[nodiscard]] std::unique_ptr<Held> clone() const override { return std::make_unique<Holder>(value); }
        [[nodiscard]] std::vector<StatePart> parts() const override { return state_parts(value); }
        [[nodiscard]] OwnedMixer make(const Weights& weights, const Config& config,
                                      uint32_t layer) const override {
            return make_mixer(value, weights, config, layer);
        }

        M value;
    };

    std::unique_ptr<Held> held_;
};

} // namespace etna::model

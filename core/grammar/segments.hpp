#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

// Private to core/grammar.
namespace etna::grammar {

/// An array that grows without moving its elements: moving tens of thousands of expressions would stall the
/// call that adds one.
template <class T>
class Segments {
public:
    [[nodiscard]] std::size_t size() const { return size_; }

    T& operator[](std::size_t place) { return segments_[place / segment][place % segment]; }
    const T& operator[](std::size_t place) const { return segments_[place / segment][place % segment]; }

    void push_back(T one) {
        if (size_ == segments_.size() * segment)
            segments_.push_back(std::make_unique<T[]>(segment)); // NOLINT(*-avoid-c-arrays): of one size
        (*this)[size_] = std::move(one);
        ++size_;
    }

private:
    static constexpr std::size_t segment = 256;

    std::vector<std::unique_ptr<T[]>> segments_; // NOLINT(*-avoid-c-arrays)
    std::size_t size_ = 0;
};

} // namespace etna::grammar

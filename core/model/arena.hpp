#pragma once

#include "core/kernels/layout.hpp"
#include "core/kernels/library.hpp"
#include "core/vk/range.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etna::model {

/// The memory that an Arena needs: its three kinds of scratch never share addresses.
struct ArenaSizes {
    /// Rows whose columns are padded.
    struct PaddedRows {
        uint32_t columns = 0; ///< no multiple of kernels::column_padding
        uint32_t rows = 0;

        bool operator==(const PaddedRows&) const = default;
    };

    uint64_t bytes = 0;             ///< that may hold anything
    uint64_t zero_bytes = 0;        ///< that are zero between dispatches
    std::vector<PaddedRows> padded; ///< by columns, ascending; their padding is zero

    /// Raises each size to that of `other`.
    void include(const ArenaSizes& other);
    [[nodiscard]] uint64_t total_bytes() const;
    /// The first bytes of an arena's memory, which must be zero when it is created.
    [[nodiscard]] uint64_t zeroed_bytes() const { return total_bytes() - bytes; }

    bool operator==(const ArenaSizes&) const = default;
};

/// Scratch memory of a step that is being recorded: a stack, from which blocks take and which a Scope
/// releases. Scopes that do not overlap may get the same addresses; barriers follow from the
/// ranges. Equal calls get equal addresses. Not thread-safe.
class Arena {
public:
    /// For dry recordings: unbounded, at made-up addresses.
    Arena();
    /// Over `memory` of sizes.total_bytes(), borrowed.
    Arena(vk::Range memory, const ArenaSizes& sizes);

    /// f32 [count][columns]; padding is zero, other elements may have any value. Also room for these packed
    /// forms, for columns that are a multiple of kernels::tile_columns.
    kernels::Activations rows(uint32_t count, uint32_t columns, kernels::ReadForms forms = {});
    /// Bytes with any content.
    vk::Range bytes(uint64_t bytes);
    /// Zeros, which are zero again after each dispatch.
    vk::Range zeros(uint64_t bytes);

    /// The most that was taken at a time.
    [[nodiscard]] ArenaSizes peak() const;
    /// Whether more was taken than there is; ranges taken then overlap others.
    [[nodiscard]] bool is_exceeded() const { return is_exceeded_; }

    /// Releases at its end what was taken since its start. Scopes nest.
    class Scope {
    public:
        explicit Scope(Arena& arena) : arena_(arena), taken_(arena.taken_.size()) {}
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope() { arena_.release(taken_); }

    private:
        Arena& arena_;
        std::size_t taken_;
    };

private:
    /// Consecutive units of memory: bytes, or rows of one width.
    struct Part {
        uint32_t columns = 0; ///< of padded rows; 0: bytes
        uint64_t address = 0;
        uint64_t capacity = 0;
        uint64_t used = 0;
        uint64_t peak = 0;
    };
    struct Taken {
        std::size_t part = 0;
        uint64_t used = 0; ///< before
    };

    uint64_t take(std::size_t part, uint64_t units);
    std::size_t padded_part(uint32_t columns);
    void release(std::size_t taken);

    std::vector<Part> parts_; ///< any content, zeros, then padded rows by columns
    std::vector<Taken> taken_;
    bool is_dry_ = false;
    bool is_exceeded_ = false;
};

} // namespace etna::model

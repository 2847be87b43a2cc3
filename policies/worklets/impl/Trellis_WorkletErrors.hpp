// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WORKLETERRORS_HPP
#define TRELLIS_IMPL_WORKLETERRORS_HPP

#include <Trellis_Label.hpp>
#include <worklets/Trellis_WorkItem.hpp>

#include <string>

/// This header has the errors for arguments that do not fit together.
namespace trellis::worklets::Impl {

[[nodiscard]] std::string text_of(Extents const& extents);
[[noreturn]] void refuse_extents(Label const& task, char const* domain, std::string const& first,
                                 Extents const& of_first, std::string const& other,
                                 Extents const& of_other);
[[noreturn]] void refuse_uncounted(Label const& task, char const* domain);
[[noreturn]] void refuse_allocation(Label const& task, char const* domain,
                                    std::string const& output, Extents const& extents);
/// `is_gathered`: the memory is read, or added to, at the points of other cells.
[[noreturn]] void refuse_memory(Label const& task, std::string const& read,
                                std::string const& written, bool is_gathered);

}  // namespace trellis::worklets::Impl

#endif

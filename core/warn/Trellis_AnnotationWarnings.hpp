// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ANNOTATIONWARNINGS_HPP
#define TRELLIS_IMPL_ANNOTATIONWARNINGS_HPP

#include <Trellis_TaskGraphOptions.hpp>
#include <trace/Trellis_Warnings.hpp>

#include <memory>

namespace trellis::Impl {

/// Makes the warnings of `TaskGraphOptions::warn`, which follow from annotations alone.
[[nodiscard]] std::unique_ptr<Warnings> make_annotation_warnings(TaskGraphOptions const& options);

}  // namespace trellis::Impl

#endif

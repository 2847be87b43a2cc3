// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tools/Trellis_SetGraphTools.hpp>
#include <tools/Trellis_StatisticsFile.hpp>
#include <trace/Trellis_GraphTools.hpp>
#include <warn/Trellis_AnnotationWarnings.hpp>

namespace trellis::Impl {

namespace {

constexpr GraphTools of_this_library{.check_end = check_end,
                                     .write_end = write_end,
                                     .make_log = make_graph_log,
                                     .make_statistics_file = make_statistics_file,
                                     .make_warnings = make_annotation_warnings};

}  // namespace

}  // namespace trellis::Impl

/// A program that links this library asks its linker for this function (see TrellisLibrary.cmake).
/// So it is in the program, though nothing there names it. The variables of the program are
/// initialized later, and one of them may be a graph.
extern "C" [[gnu::constructor(101)]] void trellis_set_graph_tools() {
  trellis::Impl::set_graph_tools(trellis::Impl::of_this_library);
}

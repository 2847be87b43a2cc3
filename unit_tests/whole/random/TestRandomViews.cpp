// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Sanitized.hpp"
#include "Seeds.hpp"
#include "Watchdog.hpp"

#include <Trellis.hpp>
#include <Trellis_Observation.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Random programs of annotated patterns over Views and subviews, run by a task graph, under
/// TRELLIS_SERIAL=1 and as plain loops.
#define TRELLIS_CONCAT(a, b) a##b
#define TRELLIS_TEST_SUITE(name, space) TRELLIS_CONCAT(name, space)
#define RandomViews TRELLIS_TEST_SUITE(RandomViews, TRELLIS_TEST_SPACE_NAME)

namespace {

using Space = TRELLIS_TEST_SPACE;
using Value = std::uint64_t;
template <class Data>
using Strided = Kokkos::View<Data, Kokkos::LayoutStride, Space>;
using View0 = Kokkos::View<Value, Space>;
using View1 = Strided<Value*>;
using View2 = Strided<Value**>;
using View3 = Strided<Value***>;
using Left2 = Kokkos::View<Value**, Kokkos::LayoutLeft, Space>;
using Right2 = Kokkos::View<Value**, Kokkos::LayoutRight, Space>;
using Left3 = Kokkos::View<Value***, Kokkos::LayoutLeft, Space>;
using Right3 = Kokkos::View<Value***, Kokkos::LayoutRight, Space>;
using Unmanaged1 =
    Kokkos::View<Value*, Kokkos::LayoutStride, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using Range = Kokkos::pair<int, int>;
using Team = Kokkos::TeamPolicy<Space>;

KOKKOS_INLINE_FUNCTION constexpr Value mix(Value a, Value b) {
  Value h = (a ^ (b + 0x9E3779B97F4A7C15u + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 29);
}

// --- programs as plain data ----------------------------------------------------------------------

/// A part of a base View: along each of its directions one index, or the range `[begin, begin +
/// extent)`.
struct Slice {
  int base = 0;
  std::array<int, 3> begin{};
  std::array<int, 3> extent{};  ///< 0: one index (a range has at least 1)
  [[nodiscard]] std::vector<int> extents() const {
    std::vector<int> ranges;
    for (int const e : extent)
      if (e > 0) ranges.push_back(e);
    return ranges;
  }
  [[nodiscard]] int rank() const { return static_cast<int>(extents().size()); }
};

enum class Kind {
  for_count,         // d(i) from a(i), captured
  for_range_args,    // the same, Views as arguments
  for_md_args,       // rank 2
  for_md3,           // rank 3
  for_team,          // rank 2
  for_native_left,   // a whole LayoutLeft View
  for_native_right,  // a subview of a LayoutRight View
  for_unmanaged,     // every other element, through an unmanaged View
  for_scalar,        // d(i) from a View of rank 0
  add,               // atomic_add, Views as arguments
  multiply,          // atomic_mul, captured
  exclusive,         // host_task
  reduce_future,
  reduce_max_md,  // two results, one into a Future, one into a View
  reduce_view,    // into a View of rank 0
  reduce_team,
  scan,
  copy,  // deep_copy, rank by the slices
  fill,
  host,  // host_task with a result
  host_main,
  host_after,          // after(...) an earlier task
  host_synchronizing,  // reads everything there is
  space,               // space_task
  nested,              // a host_task that submits tasks on a View of its own and gets their result
  token,
  count_
};
constexpr std::array<char const*, static_cast<std::size_t>(Kind::count_)> kind_names = {
    "for_count",
    "for_range_args",
    "for_md_args",
    "for_md3",
    "for_team",
    "for_native_left",
    "for_native_right",
    "unmanaged",
    "for_scalar",
    "add",
    "multiply",
    "exclusive",
    "reduce_future",
    "reduce_max_md",
    "reduce_view",
    "reduce_team",
    "scan",
    "copy",
    "fill",
    "host",
    "host_main",
    "host_after",
    "host_synchronizing",
    "space",
    "nested",
    "token"};

/// Reads `a`, which is another slice than `d`.
bool reads_another(Kind kind) {
  return kind == Kind::for_count || kind == Kind::for_range_args || kind == Kind::for_md_args ||
         kind == Kind::for_md3 || kind == Kind::for_team || kind == Kind::scan ||
         kind == Kind::copy || kind == Kind::host || kind == Kind::nested;
}

struct Operation {
  Kind kind{};
  Slice d;  ///< what it writes
  Slice a;  ///< what it reads: the same extents, no element of d
  int scalar = 0;
  int earlier = -1;  ///< another operation
  Value salt = 0;
  int priority = 0;
  bool get_at_once = false;
};

constexpr int base_count = 6;
constexpr int scalar_count = 3;

struct Program {
  std::uint64_t seed = 0;
  int workers = 1;
  int threads_per_worker = 1;
  std::size_t in_flight = 16384;
  std::string policy;
  /// 0: rank 1; 1: left, 2: right, of rank 2; 3: left, 4: right, of rank 3; 5: rank 1
  std::array<std::array<int, 3>, base_count> sizes{};
  std::vector<Operation> operations;
};

constexpr std::array<int, base_count> base_ranks = {1, 2, 2, 3, 3, 1};

struct Shape {  // of a base, row by row
  std::array<int, 3> size;
  [[nodiscard]] int index(int i, int j, int k) const { return (i * size[1] + j) * size[2] + k; }
};
Shape shape_of(Program const& program, int base) {
  Shape shape{program.sizes[static_cast<std::size_t>(base)]};
  for (int& n : shape.size) n = std::max(n, 1);
  return shape;
}

/// Positions in the base of the slice's elements, the last index fastest.
std::vector<int> positions(Program const& program, Slice const& slice) {
  Shape const shape = shape_of(program, slice.base);
  auto const past = [&](int k) {
    auto const d = static_cast<std::size_t>(k);
    return slice.begin[d] + std::max(slice.extent[d], 1);
  };
  std::vector<int> found;
  for (int i = slice.begin[0]; i < past(0); ++i)
    for (int j = slice.begin[1]; j < past(1); ++j)
      for (int k = slice.begin[2]; k < past(2); ++k) found.push_back(shape.index(i, j, k));
  return found;
}

bool overlap(Program const& program, Slice const& x, Slice const& y) {
  if (x.base != y.base) return false;
  auto const a = positions(program, x);
  auto const b = positions(program, y);  // both ascend
  std::vector<int> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return !common.empty();
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : m_random(seed) { m_program.seed = seed; }

  Program make() {
    m_program.workers = 1 + below(3);
    m_nests = below(2) == 0;
    m_program.threads_per_worker = below(3) == 0 ? 2 : 1;
    constexpr std::array<std::size_t, 4> caps = {2, 7, 64, 16384};
    m_program.in_flight = caps[static_cast<std::size_t>(below(4))];
    constexpr std::array<char const*, 3> policies = {"work_stealing", "fifo", "shake:"};
    m_program.policy = policies[static_cast<std::size_t>(below(3))];
    if (m_program.policy == "shake:") m_program.policy += std::to_string(m_random() % 1000);
    for (std::size_t b = 0; b < base_count; ++b)
      for (std::size_t k = 0; k < static_cast<std::size_t>(base_ranks[b]); ++k)
        m_program.sizes[b][k] = base_ranks[b] == 1 ? 1 + below(30) : 1 + below(7);
    int const operations = 5 + below(60);
    while (static_cast<int>(m_program.operations.size()) < operations) add_operation();
    return std::move(m_program);
  }

 private:
  int below(int n) {
    return n <= 1 ? 0 : static_cast<int>(m_random() % static_cast<std::uint64_t>(n));
  }

  Slice slice(int rank) {
    Slice slice;
    do slice.base = below(base_count);
    while (base_ranks[static_cast<std::size_t>(slice.base)] < rank);
    std::vector<std::size_t> directions;
    for (int k = 0; k < base_ranks[static_cast<std::size_t>(slice.base)]; ++k)
      directions.push_back(static_cast<std::size_t>(k));
    std::shuffle(directions.begin(), directions.end(), m_random);
    for (std::size_t n = 0; n < directions.size(); ++n) {
      std::size_t const k = directions[n];
      int const size = m_program.sizes[static_cast<std::size_t>(slice.base)][k];
      slice.begin[k] = below(3) == 0 ? 0 : below(size);
      if (static_cast<int>(n) < rank)
        slice.extent[k] = below(3) == 0 ? size - slice.begin[k] : 1 + below(size - slice.begin[k]);
    }
    return slice;
  }

  /// A slice with the same extents that has no element of it; false when none is found.
  bool partner(Slice const& of, Slice& found) {
    auto const wanted = of.extents();
    for (int attempt = 0; attempt < 30; ++attempt) {
      Slice candidate = slice(of.rank());
      std::size_t n = 0;
      bool fits = true;
      for (std::size_t k = 0; k < 3; ++k)
        if (candidate.extent[k] > 0) {
          candidate.extent[k] = wanted[n++];
          int const size = m_program.sizes[static_cast<std::size_t>(candidate.base)][k];
          fits = fits && candidate.extent[k] <= size;
          candidate.begin[k] = std::clamp(size - candidate.extent[k], 0, candidate.begin[k]);
        }
      if (!fits || overlap(m_program, of, candidate)) continue;
      found = candidate;
      return true;
    }
    return false;
  }

  void add_operation() {
    Operation operation;
    operation.kind = static_cast<Kind>(below(static_cast<int>(Kind::count_)));
    // A synchronizing task may be submitted while another one's body is on its way to submit and
    // await tasks: these come after it, and it comes after that body.
    if (operation.kind == (m_nests ? Kind::host_synchronizing : Kind::nested)) return;
    if (operation.kind == Kind::host_synchronizing && below(3) > 0) return;
    int rank = 1;
    if (operation.kind == Kind::for_md_args || operation.kind == Kind::for_team ||
        operation.kind == Kind::reduce_max_md || operation.kind == Kind::reduce_team)
      rank = 2;
    if (operation.kind == Kind::for_md3) rank = 3;
    if (operation.kind == Kind::copy || operation.kind == Kind::fill) rank = 1 + below(3);
    operation.d = slice(rank);
    operation.a = operation.d;
    if (reads_another(operation.kind) && !partner(operation.d, operation.a)) return;
    operation.scalar = below(scalar_count);
    operation.salt = m_random();
    operation.priority = below(4) == 0 ? below(3) - 1 : 0;
    operation.get_at_once = below(10) == 0;
    if (operation.kind == Kind::host_after) {
      if (m_program.operations.empty()) return;
      operation.earlier = below(static_cast<int>(m_program.operations.size()));
    }
    m_program.operations.push_back(operation);
  }

  std::mt19937_64 m_random;
  Program m_program;
  bool m_nests = false;
};

std::string to_string(Program const& program) {
  std::ostringstream out;
  out << "seed " << program.seed << ": " << program.workers << " workers of "
      << program.threads_per_worker << " threads, policy " << program.policy << ", in flight "
      << program.in_flight << '\n';
  auto const write = [&](char const* name, Slice const& slice) {
    out << ' ' << name << '=' << slice.base << '(';
    for (std::size_t k = 0;
         k < static_cast<std::size_t>(base_ranks[static_cast<std::size_t>(slice.base)]); ++k) {
      out << (k > 0 ? ", " : "") << slice.begin[k];
      if (slice.extent[k] > 0) out << ':' << slice.begin[k] + slice.extent[k];
    }
    out << ')';
  };
  for (std::size_t n = 0; n < program.operations.size(); ++n) {
    Operation const& operation = program.operations[n];
    out << "  " << n << ' ' << kind_names[static_cast<std::size_t>(operation.kind)];
    write("d", operation.d);
    write("a", operation.a);
    out << " scalar " << operation.scalar;
    if (operation.earlier >= 0) out << " after " << operation.earlier;
    if (operation.get_at_once) out << " get";
    out << '\n';
  }
  return out.str();
}

/// All that can be compared after a run.
struct Outcome {
  std::vector<std::vector<Value>> bases;
  std::vector<Value> scalars;
  std::vector<Value> results;  ///< by operation
  std::vector<int> token_order;
};

Value initial(int base, int position) {
  return mix(static_cast<Value>(base) + 1, static_cast<Value>(position) + 1);
}
KOKKOS_INLINE_FUNCTION Value odd(Value salt, int i) {
  return mix(salt, static_cast<Value>(i)) | 1u;
}

// --- as plain loops ------------------------------------------------------------------------------

Outcome run_plainly(Program const& program) {
  Outcome outcome;
  for (int b = 0; b < base_count; ++b) {
    auto const [n0, n1, n2] = shape_of(program, b).size;
    auto& base = outcome.bases.emplace_back(static_cast<std::size_t>(n0 * n1 * n2));
    for (std::size_t p = 0; p < base.size(); ++p) base[p] = initial(b, static_cast<int>(p));
  }
  outcome.scalars.assign(scalar_count, 7);
  for (std::size_t n = 0; n < program.operations.size(); ++n) {
    Operation const& operation = program.operations[n];
    std::vector<Value*> d;
    std::vector<Value const*> a;
    for (int const p : positions(program, operation.d))
      d.push_back(
          &outcome.bases[static_cast<std::size_t>(operation.d.base)][static_cast<std::size_t>(p)]);
    for (int const p : positions(program, operation.a))
      a.push_back(
          &outcome.bases[static_cast<std::size_t>(operation.a.base)][static_cast<std::size_t>(p)]);
    Value& scalar = outcome.scalars[static_cast<std::size_t>(operation.scalar)];
    Value const salt = operation.salt;
    Value result = 0;
    auto const count = static_cast<int>(d.size());
    auto const at = [](int i) { return static_cast<std::size_t>(i); };
    Value sum = 0;
    for (int i = 0; i < count; ++i) sum += mix(*d[at(i)], static_cast<Value>(i));
    switch (operation.kind) {
      case Kind::for_count:
      case Kind::for_range_args:
      case Kind::for_md_args:
      case Kind::for_md3:
      case Kind::for_team:
        for (int i = 0; i < count; ++i) *d[at(i)] = mix(*d[at(i)], *a[at(i)] + salt);
        break;
      case Kind::for_native_left:
        for (Value& value : outcome.bases[1]) value = mix(value, salt);
        break;
      case Kind::for_native_right: {
        Shape const shape = shape_of(program, 4);
        for (int i = 0; i < shape.size[0]; ++i)
          for (int k = 0; k < shape.size[2]; ++k) {
            Value& value =
                outcome.bases[4][at(shape.index(i, operation.scalar % shape.size[1], k))];
            value = mix(value, salt);
          }
        break;
      }
      case Kind::for_unmanaged:
        for (std::size_t p = 0; p < outcome.bases[5].size(); p += 2)
          outcome.bases[5][p] = mix(outcome.bases[5][p], salt);
        break;
      case Kind::for_scalar:
        for (int i = 0; i < count; ++i) *d[at(i)] = mix(*d[at(i)], scalar);
        break;
      case Kind::add:
        for (int i = 0; i < 3 * count; ++i) *d[at(i % count)] += odd(salt, i);
        break;
      case Kind::multiply:
        for (int i = 0; i < 3 * count; ++i) *d[at(i % count)] *= odd(salt, i);
        break;
      case Kind::exclusive:
        for (int i = 0; i < count; ++i) *d[at(i)] += odd(salt, i);
        break;
      case Kind::reduce_future:
      case Kind::reduce_team:
        result = sum;
        break;
      case Kind::reduce_max_md:
        for (int i = 0; i < count; ++i) result = std::max(result, mix(*d[at(i)], salt));
        scalar = sum;
        break;
      case Kind::reduce_view:
        scalar = sum;
        break;
      case Kind::scan:
        for (int i = 0; i < count; ++i) {
          *d[at(i)] = result;
          result += *a[at(i)];
        }
        break;
      case Kind::copy:
        for (int i = 0; i < count; ++i) *d[at(i)] = *a[at(i)];
        break;
      case Kind::fill:
        for (int i = 0; i < count; ++i) *d[at(i)] = salt;
        break;
      case Kind::host:
        for (int i = 0; i < count; ++i) result = mix(result, *a[at(i)]);
        *d[0] = mix(*d[0], result);
        break;
      case Kind::host_main:
      case Kind::host_after:
      case Kind::space:
        for (int i = 0; i < count; ++i) *d[at(i)] = mix(*d[at(i)], salt + static_cast<Value>(i));
        break;
      case Kind::host_synchronizing:
        for (auto const& base : outcome.bases)
          for (Value const value : base) result = mix(result, value);
        break;
      case Kind::nested:
        for (int i = 0; i < count; ++i) result += mix(*a[at(i)], salt);
        *d[0] = mix(*d[0], result);
        break;
      case Kind::token:
        outcome.token_order.push_back(static_cast<int>(n));
        break;
      case Kind::count_:
        break;
    }
    outcome.results.push_back(result);
  }
  return outcome;
}

/// For each operation: has it written something, all of which is written over before a task that
/// declares to read it, or the host, may have looked at any of it?
std::vector<bool> lost_of(Program const& program) {
  struct Element {
    int by = -1;
    bool read = false;
  };
  std::vector<std::vector<Element>> elements;  // of the bases and of the scalars
  for (int b = 0; b < base_count; ++b) {
    auto const [n0, n1, n2] = shape_of(program, b).size;
    elements.emplace_back(static_cast<std::size_t>(n0 * n1 * n2));
  }
  for (int k = 0; k < scalar_count; ++k) elements.emplace_back(1);
  auto const at = [&](int base, int position) -> Element& {
    return elements[static_cast<std::size_t>(base)][static_cast<std::size_t>(position)];
  };
  std::size_t const count = program.operations.size();
  std::vector<int> left(count, 0);  // elements of an operation that are there, or were read
  std::vector<bool> writes(count, false);
  auto const read_all = [&] {
    for (auto& of_base : elements)
      for (Element& element : of_base) element.read = true;
  };
  for (std::size_t n = 0; n < count; ++n) {
    Operation const& operation = program.operations[n];
    auto const write = [&](Element& element) {
      if (element.by >= 0 && !element.read) --left[static_cast<std::size_t>(element.by)];
      element = {static_cast<int>(n), false};
      ++left[n];
      writes[n] = true;
    };
    auto const update = [&](Element& element) {
      element.read = true;
      write(element);
    };
    Element& scalar = at(base_count + operation.scalar, 0);
    if (reads_another(operation.kind))
      for (int const p : positions(program, operation.a)) at(operation.a.base, p).read = true;
    switch (operation.kind) {
      case Kind::for_native_left:
        for (Element& element : elements[1]) update(element);
        break;
      case Kind::for_native_right: {
        Shape const shape = shape_of(program, 4);
        for (int i = 0; i < shape.size[0]; ++i)
          for (int k = 0; k < shape.size[2]; ++k)
            update(at(4, shape.index(i, operation.scalar % shape.size[1], k)));
        break;
      }
      case Kind::for_unmanaged:
        for (std::size_t p = 0; p < elements[5].size(); p += 2) update(elements[5][p]);
        break;
      case Kind::host_synchronizing:
        read_all();
        break;
      case Kind::token:
        break;
      case Kind::reduce_future:
      case Kind::reduce_max_md:
      case Kind::reduce_view:
      case Kind::reduce_team:
        for (int const p : positions(program, operation.d)) at(operation.d.base, p).read = true;
        if (operation.kind == Kind::reduce_max_md || operation.kind == Kind::reduce_view)
          write(scalar);
        break;
      case Kind::copy:
      case Kind::fill:
        for (int const p : positions(program, operation.d)) write(at(operation.d.base, p));
        break;
      default:
        if (operation.kind == Kind::for_scalar) scalar.read = true;
        for (int const p : positions(program, operation.d)) update(at(operation.d.base, p));
    }
    if (operation.get_at_once) read_all();
  }
  std::vector<bool> lost(count);
  for (std::size_t n = 0; n < count; ++n) lost[n] = writes[n] && left[n] == 0;
  return lost;
}

// --- as tasks ------------------------------------------------------------------------------------

class Tasks {
 public:
  explicit Tasks(Program const& program)
      : m_program(program),
        m_left2("left2", size(1, 0), size(1, 1)),
        m_right2("right2", size(2, 0), size(2, 1)),
        m_left3("left3", size(3, 0), size(3, 1), size(3, 2)),
        m_right3("right3", size(4, 0), size(4, 1), size(4, 2)),
        m_ends{View1(Kokkos::View<Value*, Kokkos::LayoutRight, Space>("first", size(0, 0))),
               View1(Kokkos::View<Value*, Kokkos::LayoutLeft, Space>("last", size(5, 0)))} {
    m_flat = {View2(m_left2), View2(m_right2)};
    m_deep = {View3(m_left3), View3(m_right3)};
    for (int b = 0; b < base_count; ++b)
      for_each(b, [b](Value& value, int p) { value = initial(b, p); });
    for (auto& scalar : m_scalars) {
      scalar = View0("scalar");
      scalar() = 7;
    }
  }

  Outcome run(std::string const& policy) {
    if (policy == "serial") setenv("TRELLIS_SERIAL", "1", 1);
    setenv("TRELLIS_POLICY", policy == "serial" ? "fifo" : policy.c_str(), 1);
    trellis::TaskGraphOptions options;
    options.workers = m_program.workers;
    options.threads_per_worker = m_program.threads_per_worker;
    options.in_flight = m_program.in_flight;
    // Programs of this kind do write over what nobody has read, so what is told of that is compared
    // with what they do; otherwise they are clean.
    options.warn = m_program.seed % 4 == 0;
    std::vector<bool> const lost = *options.warn ? lost_of(m_program) : std::vector<bool>();
    options.on_warning = [&](trellis::Warning const& warning) {
      std::lock_guard const lock(m_mutex);
      std::size_t const n = std::strtoul(warning.task.c_str(), nullptr, 10);
      bool const is_nested = warning.task.starts_with("nested");
      if (warning.kind == trellis::WarningKind::overwritten && !is_nested && lost[n])
        ++told_overwritten;
      else
        m_warnings += warning.text + '\n';
    };
    trellis::TaskGraph graph(options);
    unsetenv("TRELLIS_SERIAL");
    unsetenv("TRELLIS_POLICY");
    m_graph = &graph;

    Outcome outcome;
    for (std::size_t n = 0; n < m_program.operations.size(); ++n) {
      submit(static_cast<int>(n));
      if (m_program.operations[n].get_at_once) static_cast<void>(result(n));
    }
    graph.wait();
    for (int b = 0; b < base_count; ++b) {
      auto& base = outcome.bases.emplace_back();
      for_each(b, [&](Value& value, int) { base.push_back(value); });
    }
    for (auto const& scalar : m_scalars) outcome.scalars.push_back(scalar());
    for (std::size_t n = 0; n < m_program.operations.size(); ++n)
      outcome.results.push_back(result(n));
    outcome.token_order = m_token_order;
    std::lock_guard const lock(m_mutex);
    if (!m_warnings.empty()) throw std::runtime_error("a warning: " + m_warnings);
    return outcome;
  }

  inline static std::size_t told_overwritten = 0;  ///< by all of them

 private:
  using AnyFuture = std::variant<trellis::Future<void>, trellis::Future<Value>>;

  [[nodiscard]] std::size_t size(std::size_t base, std::size_t k) const {
    return static_cast<std::size_t>(m_program.sizes[base][k]);
  }
  [[nodiscard]] Value result(std::size_t n) const {
    if (auto const* const future = std::get_if<trellis::Future<Value>>(&m_futures[n]))
      return future->get();
    std::get<trellis::Future<void>>(m_futures[n]).get();
    return 0;
  }

  template <class F>
  void for_each(int b, F&& f) const {
    Shape const shape = shape_of(m_program, b);
    for (int i = 0; i < shape.size[0]; ++i)
      for (int j = 0; j < shape.size[1]; ++j)
        for (int k = 0; k < shape.size[2]; ++k) {
          int const p = shape.index(i, j, k);
          if (b == 0 || b == 5) f(m_ends[b == 0 ? 0 : 1](i), p);
          if (b == 1 || b == 2) f(m_flat[static_cast<std::size_t>(b - 1)](i, j), p);
          if (b == 3 || b == 4) f(m_deep[static_cast<std::size_t>(b - 3)](i, j, k), p);
        }
  }

  // Subviews of the slice's rank. A direction with one index goes first, then the ranges are taken.
  static Range range(Slice const& slice, std::size_t k) {
    return {slice.begin[k], slice.begin[k] + slice.extent[k]};
  }
  [[nodiscard]] View1 slice1(Slice const& s) const {
    if (s.base == 0 || s.base == 5)
      return Kokkos::subview(m_ends[s.base == 0 ? 0 : 1], range(s, 0));
    if (s.base < 3) {
      View2 const& base = m_flat[static_cast<std::size_t>(s.base - 1)];
      if (s.extent[0] > 0) return Kokkos::subview(base, range(s, 0), s.begin[1]);
      return Kokkos::subview(base, s.begin[0], range(s, 1));
    }
    View3 const& base = m_deep[static_cast<std::size_t>(s.base - 3)];
    if (s.extent[0] > 0) return Kokkos::subview(base, range(s, 0), s.begin[1], s.begin[2]);
    if (s.extent[1] > 0) return Kokkos::subview(base, s.begin[0], range(s, 1), s.begin[2]);
    return Kokkos::subview(base, s.begin[0], s.begin[1], range(s, 2));
  }
  [[nodiscard]] View2 slice2(Slice const& s) const {
    if (s.base < 3)
      return Kokkos::subview(m_flat[static_cast<std::size_t>(s.base - 1)], range(s, 0),
                             range(s, 1));
    View3 const& base = m_deep[static_cast<std::size_t>(s.base - 3)];
    if (s.extent[0] == 0) return Kokkos::subview(base, s.begin[0], range(s, 1), range(s, 2));
    if (s.extent[1] == 0) return Kokkos::subview(base, range(s, 0), s.begin[1], range(s, 2));
    return Kokkos::subview(base, range(s, 0), range(s, 1), s.begin[2]);
  }
  [[nodiscard]] View3 slice3(Slice const& s) const {
    return Kokkos::subview(m_deep[static_cast<std::size_t>(s.base - 3)], range(s, 0), range(s, 1),
                           range(s, 2));
  }

  template <class... Annotations>
  auto policy(Annotations&&... annotations) {
    return trellis::ResourcePolicy(*m_graph, std::forward<Annotations>(annotations)...);
  }

  void submit(int n) {
    Operation const& operation = m_program.operations[static_cast<std::size_t>(n)];
    trellis::Label label(std::to_string(n) + " " +
                         kind_names[static_cast<std::size_t>(operation.kind)]);
    m_futures.push_back(submit(n, operation, std::move(label)));
  }

  AnyFuture submit(int n, Operation const& operation, trellis::Label label) {
    using namespace trellis;
    Value const salt = operation.salt;
    trellis::priority const priority(operation.priority);
    View0 const& scalar = m_scalars[static_cast<std::size_t>(operation.scalar)];
    switch (operation.kind) {
      case Kind::for_count: {
        View1 const d = slice1(operation.d);
        View1 const a = slice1(operation.a);
        return parallel_for(
            std::move(label), policy(d.extent_int(0), read_write(d), on<Space>, read(a), priority),
            KOKKOS_LAMBDA(int i) { d(i) = mix(d(i), a(i) + salt); });
      }
      case Kind::for_range_args: {
        Kokkos::RangePolicy<Space> const range(0, slice1(operation.d).extent_int(0));
        return parallel_for(
            std::move(label),
            policy(range, read(slice1(operation.a)), priority, read_write(slice1(operation.d))),
            KOKKOS_LAMBDA(int i, read_view<View1> a, View1 d) { d(i) = mix(d(i), a(i) + salt); });
      }
      case Kind::for_md_args: {
        View2 const d = slice2(operation.d);
        Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>> const range(
            {0, 0}, {d.extent_int(0), d.extent_int(1)});
        return parallel_for(
            std::move(label), policy(range, read(slice2(operation.a)), read_write(d)),
            KOKKOS_LAMBDA(int i, int j, read_view<View2> a, View2 out) {
              out(i, j) = mix(out(i, j), a(i, j) + salt);
            });
      }
      case Kind::for_md3: {
        View3 const d = slice3(operation.d);
        View3 const a = slice3(operation.a);
        Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>> const range(
            {0, 0, 0}, {d.extent_int(0), d.extent_int(1), d.extent_int(2)});
        return parallel_for(
            std::move(label), policy(range, read(a), read_write(d), priority),
            KOKKOS_LAMBDA(int i, int j, int k) {
              d(i, j, k) = mix(d(i, j, k), a(i, j, k) + salt);
            });
      }
      case Kind::for_team: {
        View2 const d = slice2(operation.d);
        View2 const a = slice2(operation.a);
        return parallel_for(
            std::move(label), policy(Team(d.extent_int(0), Kokkos::AUTO), read(a), read_write(d)),
            KOKKOS_LAMBDA(Team::member_type const& team) {
              int const i = team.league_rank();
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, d.extent_int(1)),
                                   [&](int j) { d(i, j) = mix(d(i, j), a(i, j) + salt); });
            });
      }
      case Kind::for_native_left: {
        Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>> const range(
            {0, 0}, {m_left2.extent_int(0), m_left2.extent_int(1)});
        return parallel_for(
            std::move(label), policy(range, read_write(m_left2)),
            KOKKOS_LAMBDA(int i, int j, Left2 d) { d(i, j) = mix(d(i, j), salt); });
      }
      case Kind::for_native_right: {
        auto const d = Kokkos::subview(m_right3, Kokkos::ALL,
                                       operation.scalar % m_right3.extent_int(1), Kokkos::ALL);
        Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>> const range(
            {0, 0}, {d.extent_int(0), d.extent_int(1)});
        return parallel_for(
            std::move(label), policy(range, read_write(d)),
            KOKKOS_LAMBDA(int i, int j) { d(i, j) = mix(d(i, j), salt); });
      }
      case Kind::for_unmanaged: {
        View1 const& base = m_ends[1];
        std::size_t const count = (base.extent(0) + 1) / 2;
        Unmanaged1 const d(base.data(), Kokkos::LayoutStride(count, 2));
        return parallel_for(
            std::move(label), policy(count, read_write(d), on<Space>),
            KOKKOS_LAMBDA(int i) { d(i) = mix(d(i), salt); });
      }
      case Kind::for_scalar: {
        View1 const d = slice1(operation.d);
        return parallel_for(
            std::move(label),
            policy(Kokkos::RangePolicy<Space>(0, d.extent_int(0)), read(scalar), read_write(d)),
            KOKKOS_LAMBDA(int i, read_view<View0> a, View1 out) { out(i) = mix(out(i), a()); });
      }
      case Kind::add: {
        View1 const d = slice1(operation.d);
        int const count = d.extent_int(0);
        return parallel_for(
            std::move(label),
            policy(Kokkos::RangePolicy<Space>(0, 3 * count), atomic_add(d), priority),
            KOKKOS_LAMBDA(int i, atomic_view<View1> out) { out(i % count) += odd(salt, i); });
      }
      case Kind::multiply: {
        View1 const d = slice1(operation.d);
        int const count = d.extent_int(0);
        return parallel_for(
            std::move(label),
            policy(Kokkos::RangePolicy<Space>(0, 3 * count), atomic_mul(atomic_view<View1>(d))),
            KOKKOS_LAMBDA(int i) { Kokkos::atomic_mul(&d(i % count), odd(salt, i)); });
      }
      case Kind::exclusive:
        return host_task(std::move(label),
                         policy(trellis::exclusive(slice1(operation.d)), priority),
                         [salt](View1 d) {
                           for (int i = 0; i < d.extent_int(0); ++i) d(i) += odd(salt, i);
                         });
      case Kind::reduce_future: {
        Kokkos::RangePolicy<Space> const range(0, slice1(operation.d).extent_int(0));
        return parallel_reduce(
            std::move(label), policy(range, read(slice1(operation.d)), priority),
            KOKKOS_LAMBDA(int i, read_view<View1> a, Value& sum) {
              sum += mix(a(i), static_cast<Value>(i));
            });
      }
      case Kind::reduce_max_md: {
        View2 const a = slice2(operation.d);
        int const columns = a.extent_int(1);
        Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>> const range({0, 0},
                                                                  {a.extent_int(0), columns});
        return parallel_reduce(
            std::move(label), policy(range, read(a)),
            KOKKOS_LAMBDA(int i, int j, Value& most, Value& sum) {
              most = Kokkos::max(most, mix(a(i, j), salt));
              sum += mix(a(i, j), static_cast<Value>(i * columns + j));
            },
            reduced<Kokkos::Max<Value>>, scalar);
      }
      case Kind::reduce_view: {
        View1 const a = slice1(operation.d);
        return parallel_reduce(
            std::move(label), policy(a.extent_int(0), read(a), on<Space>),
            KOKKOS_LAMBDA(int i, Value& sum) { sum += mix(a(i), static_cast<Value>(i)); }, scalar);
      }
      case Kind::reduce_team: {
        View2 const a = slice2(operation.d);
        int const columns = a.extent_int(1);
        return parallel_reduce(
            std::move(label), policy(Team(a.extent_int(0), Kokkos::AUTO), read(a)),
            KOKKOS_LAMBDA(Team::member_type const& team, Value& sum) {
              int const i = team.league_rank();
              Value row = 0;
              Kokkos::parallel_reduce(
                  Kokkos::TeamThreadRange(team, columns),
                  [&](int j, Value& part) {
                    part += mix(a(i, j), static_cast<Value>(i * columns + j));
                  },
                  row);
              if (team.team_rank() == 0) sum += row;
            });
      }
      case Kind::scan: {
        Kokkos::RangePolicy<Space> const range(0, slice1(operation.d).extent_int(0));
        return parallel_scan(
            std::move(label),
            policy(range, read(slice1(operation.a)), read_write(slice1(operation.d))),
            KOKKOS_LAMBDA(int i, read_view<View1> a, View1 d, Value& sum, bool is_final) {
              if (is_final) d(i) = sum;
              sum += a(i);
            });
      }
      case Kind::copy:
        if (operation.d.rank() == 1)
          return trellis::deep_copy(std::move(label), *m_graph, slice1(operation.d),
                                    slice1(operation.a));
        if (operation.d.rank() == 2)
          return trellis::deep_copy(std::move(label), *m_graph, slice2(operation.d),
                                    slice2(operation.a));
        return trellis::deep_copy(std::move(label), *m_graph, slice3(operation.d),
                                  slice3(operation.a));
      case Kind::fill:
        if (operation.d.rank() == 1)
          return trellis::deep_copy(std::move(label), *m_graph, slice1(operation.d), salt);
        if (operation.d.rank() == 2)
          return trellis::deep_copy(std::move(label), *m_graph, slice2(operation.d), salt);
        return trellis::deep_copy(std::move(label), *m_graph, slice3(operation.d), salt);
      case Kind::host:
        return host_task(
            std::move(label),
            policy(read(slice1(operation.a)), read_write(slice1(operation.d)), priority),
            [](read_view<View1> a, View1 d) {
              Value digest = 0;
              for (int i = 0; i < a.extent_int(0); ++i) digest = mix(digest, a(i));
              d(0) = mix(d(0), digest);
              return digest;
            });
      case Kind::host_main:
        return host_task(std::move(label),
                         policy(trellis::main_thread, read_write(slice1(operation.d))),
                         StepBody{salt});
      case Kind::host_after:
        return std::visit(
            [&](auto const& before) -> AnyFuture {
              return host_task(std::move(label),
                               policy(after(before), read_write(slice1(operation.d))),
                               [salt, before](View1 d) {
                                 if (!before.is_done())
                                   throw std::runtime_error("after(...) was not kept");
                                 StepBody{salt}(d);
                               });
            },
            m_futures[static_cast<std::size_t>(operation.earlier)]);
      case Kind::host_synchronizing:
        return host_task(std::move(label), policy(synchronizing), [this] {
          Value digest = 0;
          for (int b = 0; b < base_count; ++b)
            for_each(b, [&](Value& value, int) { digest = mix(digest, value); });
          return digest;
        });
      case Kind::space:
        return space_task(
            std::move(label), policy(on<Space>, read_write(slice1(operation.d))),
            [salt](Space const& instance, View1 d) {
              Kokkos::parallel_for(
                  "space", Kokkos::RangePolicy<Space>(instance, 0, d.extent_int(0)),
                  KOKKOS_LAMBDA(int i) { d(i) = mix(d(i), salt + static_cast<Value>(i)); });
              instance.fence("space");
            });
      case Kind::nested:
        return host_task(std::move(label),
                         policy(read(slice1(operation.a)), read_write(slice1(operation.d))),
                         NestedBody{m_graph, salt});
      case Kind::token:
        return host_task(std::move(label), policy(write(m_token)),
                         [this, n] { m_token_order.push_back(n); });
      case Kind::count_:
        break;
    }
    return {};
  }

  struct StepBody {
    Value salt;
    void operator()(View1 d) const {
      for (int i = 0; i < d.extent_int(0); ++i) d(i) = mix(d(i), salt + static_cast<Value>(i));
    }
  };

  /// The tasks below may read what this one reads: it is not over before they are.
  struct NestedBody {
    trellis::TaskGraph* graph;
    Value salt;
    Value operator()(trellis::read_view<View1> a, View1 d) const {
      int const count = a.extent_int(0);
      View1 const own(Kokkos::View<Value*, Kokkos::LayoutRight, Space>(
          Kokkos::view_alloc("own", Kokkos::WithoutInitializing), static_cast<std::size_t>(count)));
      Value const more = salt;
      Kokkos::RangePolicy<Space> const range(0, count);
      trellis::parallel_for(
          "nested for", trellis::ResourcePolicy(*graph, range, trellis::write(own)),
          KOKKOS_LAMBDA(int i) { own(i) = mix(a(i), more); });
      auto const sum = trellis::parallel_reduce(
          "nested reduce", trellis::ResourcePolicy(*graph, range, trellis::read(own)),
          KOKKOS_LAMBDA(int i, Value& part) { part += own(i); });
      Value const result = sum.get();
      d(0) = mix(d(0), result);
      return result;
    }
  };

  Program const& m_program;
  Left2 m_left2;
  Right2 m_right2;
  Left3 m_left3;
  Right3 m_right3;
  std::array<View1, 2> m_ends;  ///< bases 0 and 5
  std::array<View2, 2> m_flat;
  std::array<View3, 2> m_deep;
  std::array<View0, scalar_count> m_scalars;
  trellis::Token m_token{"token"};
  std::vector<int> m_token_order;
  std::mutex m_mutex;
  std::string m_warnings;  ///< guarded by m_mutex
  trellis::TaskGraph* m_graph = nullptr;
  std::vector<AnyFuture> m_futures;
};

// --- comparison ----------------------------------------------------------------------------------

std::string difference(Outcome const& is, Outcome const& should_be) {
  std::ostringstream out;
  for (std::size_t b = 0; b < should_be.bases.size(); ++b)
    for (std::size_t p = 0; p < should_be.bases[b].size(); ++p)
      if (is.bases[b][p] != should_be.bases[b][p]) {
        out << "base " << b << " is wrong at " << p << '\n';
        break;
      }
  for (std::size_t k = 0; k < should_be.scalars.size(); ++k)
    if (is.scalars[k] != should_be.scalars[k]) out << "scalar " << k << " is wrong\n";
  for (std::size_t n = 0; n < should_be.results.size(); ++n)
    if (is.results[n] != should_be.results[n]) out << "the result of " << n << " is wrong\n";
  if (is.token_order != should_be.token_order) out << "the token's tasks are out of order\n";
  return out.str();
}

std::string problems_of(Program const& program) {
  Outcome const plain = run_plainly(program);
  std::string text;
  for (std::string const& policy : {program.policy, std::string("serial")}) try {
      std::string const wrong = difference(Tasks(program).run(policy), plain);
      if (!wrong.empty()) text += policy + ":\n" + wrong;
    } catch (std::exception const& error) {
      text += policy + " throws " + error.what() + '\n';
    }
  return text;
}

/// Drops operations as long as the rest still fails now and then.
Program shrink(Program program) {
  auto const fails = [](Program const& candidate) {
    for (int k = 0; k < 20; ++k)
      if (!problems_of(candidate).empty()) return true;
    return false;
  };
  for (std::size_t n = program.operations.size(); n-- > 0;) {
    Program candidate = program;
    candidate.operations.erase(candidate.operations.begin() + static_cast<std::ptrdiff_t>(n));
    auto const here = static_cast<int>(n);
    bool needed = false;
    for (Operation& other : candidate.operations) {
      needed = needed || other.earlier == here;
      if (other.earlier > here) --other.earlier;
    }
    if (!needed && fails(candidate)) program = std::move(candidate);
  }
  return program;
}

TEST(RandomViews, give_what_plain_loops_give) {
  // A parallel space has pools of threads to make for each program.
  std::uint64_t const programs = Space().concurrency() > 1  ? 400
                                 : trellis::Test::sanitized ? 1000
                                                            : 5000;
  auto const seeds = random_program::seeds(1, programs);
  for (std::uint64_t const seed : seeds) {
    Program const program = Generator(seed).make();
    trellis::Test::Watchdog const watchdog(std::chrono::seconds(60), to_string(program));
    std::string const problems = problems_of(program);
    if (problems.empty()) continue;
    Program const small = shrink(program);
    FAIL() << problems << to_string(program) << "shrunk:\n"
           << to_string(small) << problems_of(small);
  }
  if (seeds.size() >= 100) {
    EXPECT_GT(Tasks::told_overwritten, seeds.size() / 10);
  }
}

}  // namespace

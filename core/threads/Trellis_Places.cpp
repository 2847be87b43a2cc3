// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Processors.hpp>
#include <threads/Trellis_Places.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif
#ifdef TRELLIS_HAS_HWLOC
#include <hwloc.h>
#ifdef __linux__
#include <hwloc/glibc-sched.h>
#endif
#endif

namespace trellis::Impl {

namespace {

#ifdef __linux__
/// Returns the mask that the process was started with.
cpu_set_t const& mask_of_process() {
  static cpu_set_t const mask = [] {
    cpu_set_t now;
    CPU_ZERO(&now);
    if (sched_getaffinity(0, sizeof now, &now) != 0) CPU_ZERO(&now);  // more cores than it can hold
    return now;
  }();
  return mask;
}
#endif

std::atomic<int> pretended_cores{0};

int count_cores() {
#ifdef __linux__
  if (int const count = CPU_COUNT(&mask_of_process()); count > 0) return count;
#endif
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

[[noreturn]] void refuse(std::string const& graph, std::string_view request,
                         std::string const& why) {
  throw Error(Error::Kind::bad_input, "Trellis: " + graph + " is to bind its threads with \"" +
                                          std::string(request) + "\" (TRELLIS_BIND), " + why);
}

}  // namespace

int cores_of_process() {
  static int const count = count_cores();
  int const pretended = pretended_cores.load(std::memory_order_relaxed);
  return pretended > 0 ? pretended : count;
}

void pretend_cores(int cores) {
  pretended_cores.store(cores, std::memory_order_relaxed);
}
[[maybe_unused]] int const cores_at_start = cores_of_process();

#ifdef TRELLIS_HAS_HWLOC

struct FreeBitmap {
  void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using Cpus = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

namespace {

/// The topology is read once, which takes some milliseconds.
hwloc_topology_t topology() {
  static hwloc_topology_t const read = [] {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0) return hwloc_topology_t{};
    if (hwloc_topology_load(made) == 0) return made;
    hwloc_topology_destroy(made);
    return hwloc_topology_t{};
  }();
  return read;
}

/// Returns the processors that the process may use.
Cpus allowed() {
  Cpus cpus(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology())));
#ifdef __linux__
  Cpus const mask(hwloc_bitmap_alloc());
  if (CPU_COUNT(&mask_of_process()) > 0 &&
      hwloc_cpuset_from_glibc_sched_affinity(topology(), mask.get(), &mask_of_process(),
                                             sizeof(cpu_set_t)) == 0)
    hwloc_bitmap_and(cpus.get(), cpus.get(), mask.get());
#endif
  return cpus;
}

/// Returns a place for each group of `cores_each` cores, with those of their processors that the
/// process may use.
std::vector<Cpus> places_of_cores(int cores_each) {
  Cpus const usable = allowed();
  std::vector<Cpus> places;
  bool const knows_cores = hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_CORE) > 0;
  hwloc_obj_type_t const kind = knows_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  int taken = 0;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology(), kind, core)) != nullptr;) {
    Cpus own(hwloc_bitmap_dup(core->cpuset));
    hwloc_bitmap_and(own.get(), own.get(), usable.get());
    if (hwloc_bitmap_iszero(own.get()) != 0) continue;
    if (taken++ % cores_each == 0)
      places.push_back(std::move(own));
    else
      hwloc_bitmap_or(places.back().get(), places.back().get(), own.get());
  }
  // Cores that are left over at the end are fewer than a worker needs.
  if (taken % cores_each != 0 && places.size() > 1) places.pop_back();
  return places;
}

/// Parses a list such as "0,2-5" and keeps its order. Returns no numbers if the text is no such
/// list.
std::vector<unsigned> numbers_of(std::string_view list) {
  constexpr unsigned too_many = 1U << 16;
  std::vector<unsigned> numbers;
  char const* at = list.data();
  char const* const end = at + list.size();
  for (bool is_more = true; is_more;) {
    unsigned first = 0;
    auto read = std::from_chars(at, end, first);
    unsigned last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || last < first || last >= too_many) return {};
    for (unsigned number = first; number <= last; ++number) numbers.push_back(number);
    is_more = read.ptr != end;
    if (is_more && *read.ptr != ',') return {};
    at = read.ptr + 1;
  }
  return numbers;
}

std::vector<Cpus> places_of_list(std::string_view list, std::string const& graph) {
  std::vector<unsigned> const numbers = numbers_of(list);
  if (numbers.empty())
    refuse(graph, list, R"(but can do so with none, core, or a list such as "0,2-5")");
  Cpus const usable = allowed();
  std::vector<Cpus> places;
  for (unsigned const number : numbers) {
    if (!hwloc_bitmap_isset(usable.get(), number)) {
      char text[256];
      hwloc_bitmap_list_snprintf(text, sizeof text, usable.get());
      refuse(graph, list, "but the process may only use the processors " + std::string(text));
    }
    Cpus one(hwloc_bitmap_alloc());
    hwloc_bitmap_only(one.get(), number);
    places.push_back(std::move(one));
  }
  return places;
}

/// Counts the graphs that have bound the calling thread as their main thread, and keeps where it
/// ran before the first did. The thread is bound until the last of them ends.
struct Bound {
  int graphs;
  hwloc_bitmap_t before;
};
constinit thread_local Bound t_bound{};
/// True once a thread was bound. A thread inherits the mask of the thread that makes it, whatever
/// graph it is for.
std::atomic<bool> s_any_bound{false};

void run_on(Cpus const& cpus) noexcept {
  hwloc_set_cpubind(topology(), cpus.get(), HWLOC_CPUBIND_THREAD);
}

/// Returns where the calling thread may run. Null: that is unknown.
Cpus runs_on() noexcept {
  Cpus cpus(hwloc_bitmap_alloc());
  if (cpus != nullptr && hwloc_get_cpubind(topology(), cpus.get(), HWLOC_CPUBIND_THREAD) != 0)
    cpus.reset();
  return cpus;
}

}  // namespace

struct Places::Sets {
  std::string request;
  std::string graph;
  std::vector<Cpus> places;
  Cpus all;
  std::thread::id main;

  /// Finds the places. Throws before it changes anything.
  void find(int threads_per_worker) {
    std::vector<Cpus> found =
        request == "core" ? places_of_cores(threads_per_worker) : places_of_list(request, graph);
    if (found.empty()) refuse(graph, request, "but hwloc finds no processor that it may use");
    Cpus together(hwloc_bitmap_alloc());
    for (Cpus const& each : found) hwloc_bitmap_or(together.get(), together.get(), each.get());
    places = std::move(found);
    all = std::move(together);
  }
};

bool Places::can_bind() {
  return topology() != nullptr;
}

Places::Places(std::string_view request, int threads_per_worker, std::string const& graph) {
  if (request == "none") return;
  if (!can_bind()) refuse(graph, request, "but hwloc cannot tell which processors there are");
  auto sets = std::make_unique<Sets>();
  sets->request = request;
  sets->graph = graph;
  sets->find(threads_per_worker);
  m_sets = std::move(sets);
}

void Places::set_threads_per_worker(int threads_per_worker) {
  if (m_sets == nullptr) return;
  m_sets->find(threads_per_worker);
  if (m_sets->main == std::this_thread::get_id()) run_on(m_sets->places.front());
}

Places::~Places() = default;

void Places::bind_main() {
  if (m_sets == nullptr) return;
  s_any_bound.store(true, std::memory_order_relaxed);
  m_sets->main = std::this_thread::get_id();
  if (t_bound.graphs++ == 0) {
    t_bound.before = runs_on().release();
    if (t_bound.before == nullptr) t_bound.before = allowed().release();
  }
  run_on(m_sets->places.front());
}

void Places::release_main() noexcept {
  if (m_sets == nullptr || m_sets->main != std::this_thread::get_id()) return;
  m_sets->main = {};
  if (--t_bound.graphs == 0) run_on(Cpus(std::exchange(t_bound.before, nullptr)));
}

void Places::bind_worker(int number) const noexcept {
  if (m_sets != nullptr) {
    std::size_t const place = (static_cast<std::size_t>(number) + 1) % m_sets->places.size();
    run_on(place != 0 ? m_sets->places[place] : m_sets->all);
  } else if (s_any_bound.load(std::memory_order_relaxed)) {
    run_on(allowed());
  }
}

Places::Spread::Spread(Places const& places, bool is_on) noexcept {
  if (!is_on || !s_any_bound.load(std::memory_order_relaxed)) return;
  m_before = runs_on().release();
  if (m_before == nullptr) return;
  if (places.m_sets != nullptr)
    run_on(places.m_sets->all);
  else
    run_on(allowed());
}

Places::Spread::~Spread() {
  if (m_before != nullptr) run_on(Cpus(static_cast<hwloc_bitmap_t>(m_before)));
}

#else

struct Places::Sets {};

bool Places::can_bind() {
  return false;
}
Places::Places(std::string_view request, int /*threads_per_worker*/, std::string const& graph) {
  if (request != "none")
    refuse(graph, request, "but this Trellis was built without hwloc, and can only do with none");
}
Places::~Places() = default;
void Places::bind_main() {}
void Places::set_threads_per_worker(int /*threads_per_worker*/) {}
void Places::release_main() noexcept {}
void Places::bind_worker(int /*number*/) const noexcept {}
Places::Spread::Spread(Places const& /*places*/, bool /*is_on*/) noexcept {}
Places::Spread::~Spread() = default;

#endif

}  // namespace trellis::Impl

namespace trellis::experimental {

int processors_of_process() {
  return Impl::cores_of_process();
}
/// Maps the processors by the mask of the process if it is known, else assumes that all may be
/// used.
std::string map_of_processors() {
#ifdef __linux__
  cpu_set_t const& mask = Impl::mask_of_process();
  if (CPU_COUNT(&mask) > 0) {
    int last = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_CONF))) - 1;
    for (int k = last + 1; k < CPU_SETSIZE; ++k)
      if (CPU_ISSET(k, &mask)) last = k;
    std::string map;
    for (int k = 0; k <= last; ++k) map += CPU_ISSET(k, &mask) ? 'x' : '0';
    return map;
  }
#endif
  return std::string(static_cast<std::size_t>(processors_of_process()), 'x');
}

}  // namespace trellis::experimental

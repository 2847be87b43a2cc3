// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program's own types in worklets, without a change to Trellis: a word of a control signature, an
// execution argument, a word of an execution signature, a domain, and a kind with its own schedule.
// They live in the program's namespace. Specialisations make Trellis use them.
//
// A rod is stored as one value for each of its joints, packed two in one number. A worklet over the
// rod's bars needs the joints unpacked, and the length of its bar. It should run over every other
// bar only.
#include <Trellis.hpp>
#include <Trellis_Worklets.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rods {

namespace worklets = trellis::worklets;

/// An argument: places of joints in hundredths, two of 16 bits in each number.
struct PackedJoints {
  Kokkos::View<std::uint32_t*> words;
  std::int64_t count;
};

// --- a domain, and a word of control signatures

struct Bar : worklets::Domain {
  static constexpr char const* name = "bars";
};
/// The places of joints: `Joints` in a control signature.
struct Joints {};

// --- an execution argument

/// It is made in the kernel from what a functor gets for the access. It only reads, so it has
/// `load` and no `save`.
template <class Words>
struct JointsPortal {
  Words const& words;
  [[nodiscard]] KOKKOS_FUNCTION double at(std::int64_t joint) const {
    std::uint32_t const word = words(joint / 2);
    return (joint % 2 == 0 ? word & 0xffffu : word >> 16) / 100.0;
  }
  /// Returns by default where the bar begins.
  KOKKOS_FUNCTION double load(worklets::WorkItem<1> const& bar) const { return at(bar.flat); }
};
struct MakeJointsPortal {
  template <class Words>
  KOKKOS_FUNCTION auto operator()(Words const& words) const {
    return JointsPortal<Words>{words};
  }
};

// --- a word of execution signatures

/// `Stretched(_1, _2)`: the length of the bar between joints `_1`, times the number `_2`.
struct Stretched {};

// --- a kind, which is run for every other bar

struct MapEveryOtherBar : worklets::Words {
  using kind = MapEveryOtherBar;
  using domain = Bar;
  using Joints = rods::Joints;
  using Stretched = rods::Stretched;
};
/// Calls a functor of a worklet for twice the index.
template <class Functor>
struct Twice {
  Functor functor;
  template <class... Views>
  KOKKOS_FUNCTION void operator()(std::int64_t k, Views const&... views) const {
    functor(2 * k, views...);
  }
};

}  // namespace rods

/// Binds `PackedJoints` to `Joints`, in any domain.
template <class Domain>
struct trellis::BindArgument<
    trellis::worklets::Parameter<rods::Joints, trellis::worklets::In, Domain>, rods::PackedJoints> {
  static auto access(rods::PackedJoints const& joints) { return trellis::read(joints.words); }
  template <int rank>
  static worklets::Extents length(rods::PackedJoints const& joints, worklets::Over<Domain, rank>) {
    return worklets::Extents::of(joints.count - 1);  // bars
  }
  static auto exec(rods::PackedJoints const&) { return rods::MakeJointsPortal(); }
  static std::string label(rods::PackedJoints const& joints) { return joints.words.label(); }
};

/// Defines `Stretched(_N, _M)`: it reads two execution arguments.
template <int N, int M, class Bindings>
struct trellis::BindExecution<
    rods::Stretched (*)(trellis::worklets::Argument<N>, trellis::worklets::Argument<M>), Bindings> {
  template <class Item>
  static KOKKOS_FUNCTION double load(Bindings const& bindings, Item const& item) {
    auto const& joints = bindings.template get<N>();
    auto const& factor = bindings.template get<M>();
    return (joints.at(item.flat + 1) - joints.at(item.flat)) *
           factor.load(Bindings::template item<M>(item));
  }
};

/// Defines how worklets of this kind run: over half of the indices.
template <class Worklet>
struct trellis::WorkletScheduler<rods::MapEveryOtherBar, Worklet> {
  template <class Policy, class Bindings>
  static Future<void> submit(Label&& label, Policy const& policy, Worklet const& worklet,
                             Bindings& bindings) {
    auto const extents = bindings.prepare(label, policy);
    auto const functor = bindings.functor(worklet, extents);
    return std::apply(
        [&](auto const&... annotation) {
          return parallel_for(
              std::move(label),
              ResourcePolicy(policy.target(), (extents.count() + 1) / 2, annotation...),
              rods::Twice<std::remove_const_t<decltype(functor)>>{functor});
        },
        std::tuple_cat(bindings.accesses(), policy.annotations()));
  }
};

namespace rods {

struct Measure : MapEveryOtherBar {
  using ControlSignature = void(Joints, Field, Field(InOut));
  using ExecutionSignature = _3(_1, Stretched(_1, _2));
  KOKKOS_FUNCTION double operator()(double begin, double length) const {
    return begin + length / 1000;
  }
};

}  // namespace rods

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  constexpr std::int64_t joints = 8;
  rods::PackedJoints const rod{Kokkos::View<std::uint32_t*>("rod", joints / 2), joints};
  Kokkos::View<double*> bars("bars", joints - 1);
  trellis::parallel_for(
      "pack", trellis::ResourcePolicy(graph, joints / 2, trellis::write(rod.words)),
      KOKKOS_LAMBDA(int w, Kokkos::View<std::uint32_t*> const& words) {
        std::uint32_t const first = 100u * static_cast<unsigned>(2 * w * w);
        std::uint32_t const second = 100u * static_cast<unsigned>(2 * w * w + 2 * w + 1);
        words(w) = first | second << 16;
      });
  trellis::deep_copy("none", trellis::ResourcePolicy(graph), bars, -1.0);
  trellis::invoke("measure", trellis::ResourcePolicy(graph), rods::Measure(), rod, 2.0, bars);
  graph.wait();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), bars);
  for (std::size_t b = 0; b < host.extent(0); ++b) std::printf("bar %zu: %.3f\n", b, host(b));
  return 0;
}

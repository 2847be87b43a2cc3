// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ACCESSLIST_HPP
#define TRELLIS_ACCESSLIST_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Label.hpp>
#include <common/Trellis_RunOn.hpp>
#include <annotations/impl/Trellis_Requests.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

/// With this header you collect the accesses of a task at run time, of any number and kind.
namespace trellis {

namespace Impl {

struct AccessListInternals;

/// Keeps objects of any types, one after the other. They are not moved.
class KeptObjects {
 public:
  KeptObjects() noexcept;
  KeptObjects(KeptObjects&& other) noexcept;
  KeptObjects& operator=(KeptObjects other) noexcept;
  ~KeptObjects();

  template <class T>
  T const& keep(T const& object) {
    T* const place = ::new (take(sizeof(T), alignof(T))) T(object);
    if constexpr (!std::is_trivially_destructible_v<T>)
      note({place, [](void* what) noexcept { static_cast<T*>(what)->~T(); }});
    return *place;
  }
  /// Destroys the objects, and keeps the memory.
  void clear() noexcept;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };
  struct Object {
    void* place;
    void (*destroy)(void*) noexcept;
  };
  void swap(KeptObjects& other) noexcept;
  /// Returns memory for one more object, and makes room for it in the list of objects to destroy.
  void* take(std::size_t size, std::size_t alignment);
  void note(Object const& object) noexcept;

  std::vector<Block> m_blocks;
  std::size_t m_block = 0;
  std::size_t m_used = 0;  ///< used bytes of that block
  std::vector<Object> m_objects;
};

/// Describes a memory space, for a list that learns only later where its Views will be used.
struct MemoryKind {
  char const* name;
  std::type_info const* home;
  bool on_host;     ///< the host reaches it
  bool by_default;  ///< the default execution space reaches it
};
template <class MemorySpace>
inline MemoryKind const memory_kind{MemorySpace::name(),
                                    &typeid(typename MemorySpace::execution_space),
                                    CanTouch<Kokkos::DefaultHostExecutionSpace, MemorySpace>::value,
                                    CanTouch<Kokkos::DefaultExecutionSpace, MemorySpace>::value};

}  // namespace Impl

/// Collects accesses at run time, of any number, kind and mode. Any number of tasks may have it
/// among their annotations:
///
///     trellis::AccessList list;
///     for (int face : faces_of(patch)) list.read(fluxes[face]);
///     if (has_source) list.read(source).exclusive(token);
///     trellis::host_task("update", trellis::ResourcePolicy(graph, trellis::write(u), list), ...);
///
/// It keeps its Views alive as long as it names them. It knows no types, so a functor gets none of
/// its Views as arguments. The submission of a task checks that the task can reach them. For other
/// resources (see Trellis_Resource.hpp) it takes the pieces that they have when added.
///
/// Several threads may submit with one list, as long as none changes it.
class AccessList {
 public:
  AccessList() noexcept;
  AccessList(AccessList&&) noexcept;
  AccessList& operator=(AccessList&&) noexcept;
  ~AccessList();

  // Each of these functions takes Views, Tokens, groups, and ranges of these.
  template <class... R>
  AccessList& read(R&&... resources) {
    return (add(trellis::read(std::forward<R>(resources))), ..., *this);
  }
  template <class... R>
  AccessList& write(R&&... resources) {
    return (add(trellis::write(std::forward<R>(resources))), ..., *this);
  }
  template <class... R>
  AccessList& read_write(R&&... resources) {
    return (add(trellis::read_write(std::forward<R>(resources))), ..., *this);
  }
  template <class... R>
  AccessList& atomic_add(R&&... resources) {
    return (add(trellis::atomic_add(std::forward<R>(resources))), ..., *this);
  }
  template <class... R>
  AccessList& atomic_mul(R&&... resources) {
    return (add(trellis::atomic_mul(std::forward<R>(resources))), ..., *this);
  }
  template <class... R>
  AccessList& exclusive(R&&... resources) {
    return (add(trellis::exclusive(std::forward<R>(resources))), ..., *this);
  }
  /// Adds an access in a mode or state that is chosen at run time, see `trellis::access`.
  template <class R, class State>
  AccessList& access(R&& resource, State const& state) {
    return add(trellis::access(std::forward<R>(resource), state));
  }
  /// Adds the access of an annotation: `list.add(read(x))`.
  template <class Annotation>
  AccessList& add(Annotation const& annotation);

  [[nodiscard]] std::size_t size() const { return m_requests.size(); }
  [[nodiscard]] bool empty() const { return m_requests.empty(); }
  void reserve(std::size_t accesses);
  /// Removes all accesses, and keeps the memory for the next ones.
  void clear();

 private:
  friend struct Impl::AccessListInternals;
  struct Kind {
    Impl::MemoryKind const* memory;
    std::size_t first;  ///< the first access that has such a View
  };
  template <class Annotation>
  void append(Annotation const& annotation) {
    Impl::StatePtr const* state = nullptr;
    if constexpr (requires { annotation.state; })
      if (annotation.state != nullptr) state = &m_kept.keep(annotation.state);
    Mode mode = Annotation::mode;
    if constexpr (requires { annotation.mode_now; }) mode = annotation.mode_now;
    Impl::for_each_single(annotation.resource, [&]<class R>(R const& resource) {
      append(Impl::request_of(m_kept.keep(resource), mode, state));
      if (mode == Mode::none) return;
      if constexpr (Kokkos::is_view_v<R>) note(Impl::memory_kind<typename R::memory_space>);
      if constexpr (std::is_same_v<R, HostMemory>) note(Impl::memory_kind<Kokkos::HostSpace>);
    });
  }
  /// Adds the accesses of a list, which the caller gives up, and takes it over.
  void append(AccessList& list);
  void append(Impl::AccessRequest const& request);
  void note(Impl::MemoryKind const& memory);

  std::vector<Impl::AccessRequest> m_requests;
  Impl::KeptObjects m_kept;  ///< the objects that the requests refer to
  std::vector<Kind> m_kinds;
  std::vector<std::unique_ptr<AccessList>> m_others;  ///< lists whose requests are here, too
};

namespace Impl {

inline AccessList const& list_of(AccessList const& list) {
  return list;
}
inline AccessList const& list_of(ListAccess const& access) {
  return *access.list;
}

struct AccessListInternals {
  template <class Annotation>
  static void append(AccessList& list, Annotation& annotation) {
    list.append(annotation);
  }
  /// Returns the list with mode `none` in all accesses, so that its tasks touch nothing.
  static AccessList without_modes(AccessList& list);
  static std::span<AccessRequest const> requests(AccessList const& list);
  /// Throws when a task that runs on the space cannot reach a View.
  template <class Space>
  static void require_accessible(AccessList const& list, Label const& label) {
    constexpr Reaches reaches = CanTouch<Space, Kokkos::HostSpace>::value ? Reaches::host
                                : std::is_same_v<Space, Kokkos::DefaultExecutionSpace>
                                    ? Reaches::by_default
                                    : Reaches::its_own;
    require_accessible(list, label, reaches, typeid(Space), Space::name());
  }

 private:
  enum class Reaches { host, by_default, its_own };
  static void require_accessible(AccessList const& list, Label const& label, Reaches reaches,
                                 std::type_info const& space, char const* name);
};

void add_access(Requests& to, AccessList const& list);
inline void add_access(Requests& to, ListAccess const& access) {
  add_access(to, *access.list);
}

}  // namespace Impl
}  // namespace trellis

#include <annotations/impl/Trellis_OpenAccess.hpp>  // AccessList::add

#endif

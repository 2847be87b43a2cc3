// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GAUSSSEIDEL_HPP
#define TRELLIS_IMPL_GAUSSSEIDEL_HPP

#include <Trellis_Error.hpp>

#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_gauss_seidel.hpp>
#include <Kokkos_Core.hpp>

#include <type_traits>
#include <utility>

namespace trellis::Impl {

/// Does Gauss-Seidel on a task's own instance. A handle of Kokkos Kernels keeps the instance that
/// it was made with or first called with, and throws when it is called with another one. Tasks with
/// one handle run one by one, but each on the instance of its worker. So the handle gets that
/// instance during the call. Afterwards it has its own one again, which lives longer than the
/// graph.
///
/// (In 4.5 a flag says that the instance must be compared. All handles of a type share it, and each
/// call sets it. It is a plain bool, to which two tasks with two handles write the same value.)
class GaussSeidel {
 public:
  template <class Space, class Handle, class... A>
  static void symbolic(Space const& space, Handle* handle, A const&... arguments) {
    OnInstance<Space, Handle> const here(space, handle);
    KokkosSparse::Experimental::gauss_seidel_symbolic(space, handle, arguments...);
  }
  template <class Space, class Handle, class... A>
  static void numeric(Space const& space, Handle* handle, A const&... arguments) {
    OnInstance<Space, Handle> const here(space, handle);
    KokkosSparse::Experimental::gauss_seidel_numeric(space, handle, arguments...);
  }
  template <class Space, class Handle, class... A>
  static void symmetric_apply(Space const& space, Handle* handle, A const&... arguments) {
    OnInstance<Space, Handle> const here(space, handle);
    KokkosSparse::Experimental::symmetric_gauss_seidel_apply(space, handle, arguments...);
  }
  template <class Space, class Handle, class... A>
  static void forward_apply(Space const& space, Handle* handle, A const&... arguments) {
    OnInstance<Space, Handle> const here(space, handle);
    KokkosSparse::Experimental::forward_sweep_gauss_seidel_apply(space, handle, arguments...);
  }
  template <class Space, class Handle, class... A>
  static void backward_apply(Space const& space, Handle* handle, A const&... arguments) {
    OnInstance<Space, Handle> const here(space, handle);
    KokkosSparse::Experimental::backward_sweep_gauss_seidel_apply(space, handle, arguments...);
  }

 private:
  /// Accesses the protected member of a handle, which has no function that sets it without a
  /// comparison.
  template <class Handle>
  struct Door : Handle {
    static constexpr auto instance() { return &Door::execution_space; }
  };

  template <class Space, class Handle>
  class OnInstance {
   public:
    OnInstance(Space const& space, Handle* handle)
        : m_handle(checked(handle)), m_before(instance()) {
      instance() = space;
    }
    OnInstance(OnInstance const&) = delete;
    OnInstance& operator=(OnInstance const&) = delete;
    ~OnInstance() { instance() = m_before; }

   private:
    using Kept = std::remove_pointer_t<decltype(std::declval<Handle&>().get_gs_handle())>;
    static Kept& checked(Handle* handle) {
      if (handle == nullptr || handle->get_gs_handle() == nullptr)
        throw Error(Error::Kind::bad_input,
                    "Trellis: the handle has not been prepared for Gauss-Seidel: call its "
                    "create_gs_handle() before tasks use it");
      return *handle->get_gs_handle();
    }
    Space& instance() { return m_handle.*Door<Kept>::instance(); }

    Kept& m_handle;
    Space m_before;
  };
};

}  // namespace trellis::Impl

#endif

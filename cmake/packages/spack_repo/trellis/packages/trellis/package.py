# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Trellis(CMakePackage):
    """A Kokkos extension that derives a task graph from annotated parallel patterns."""

    # The recipe builds the clone in which it lies, at the tip of a branch.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *6 * [os.pardir]))
    homepage = git

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")

    # What Kokkos has, Trellis has. The architecture of a GPU is said to Kokkos.
    variant("cuda", default=False, description="Run tasks on NVIDIA GPUs")
    variant("hip", default=False, description="Run tasks on AMD GPUs")
    variant("openmp", default=True, description="Run tasks on pools of OpenMP threads, too")
    variant("mpi", default=False, description="Build Trellis::mpi: messages as tasks")
    variant("kernels", default=False, description="Build Trellis::kernels: Kokkos Kernels as tasks")
    variant("tests", default=False, description="Build the tests")
    variant("shared", default=True, description="Build shared libraries")

    depends_on("c", type="build", when="+mpi")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("kokkos@4.5:+serial")
    depends_on("kokkos+openmp", when="+openmp")
    depends_on("kokkos+cuda", when="+cuda")
    depends_on("kokkos+rocm", when="+hip")
    depends_on("kokkos+pic", when="+shared")
    conflicts("^kokkos@4 cxxstd=17", msg="Trellis needs C++20: ^kokkos cxxstd=20")
    conflicts("+cuda+hip", msg="Kokkos has one kind of GPU")
    depends_on("kokkos-kernels@4.5:", when="+kernels")
    depends_on("hwloc")
    depends_on("spdlog", type="build")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("mpi@3:", when="+mpi")
    depends_on("googletest@1.11:+gmock", when="+tests")

    def cmake_args(self):
        spaces = {"cuda": "Cuda", "hip": "HIP", "openmp": "OpenMP"}
        names = [name for variant, name in spaces.items() if self.spec.satisfies("+" + variant)]
        args = [
            self.define("Kokkos_ROOT", self.spec["kokkos"].prefix),
            self.define("Trellis_REQUIRE_SPACES", ";".join(["Serial"] + names)),
            self.define("Trellis_ENABLE_EXAMPLES", False),
            self.define("Trellis_ENABLE_BENCHMARKS", False),
            self.define_from_variant("Trellis_ENABLE_TESTS", "tests"),
            self.define_from_variant("Trellis_ENABLE_MPI", "mpi"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_KokkosKernels", self.spec.satisfies("~kernels")),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CXX_COMPILER", self["kokkos"].kokkos_cxx))
        elif self.spec.satisfies("+hip"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["hip"].hipcc))
        return args

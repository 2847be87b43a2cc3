// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Here the headers of POSIX and of the standard library come before those of Trellis.
// clang-format off
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <numbers>
#include <numeric>
#include <queue>
#include <random>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>
#include <Trellis_Numbers.hpp>
#include <Trellis_Scheduling.hpp>
#include <Trellis_States.hpp>

#include <Kokkos_Core.hpp>
// clang-format on

#include <gtest/gtest.h>

using namespace trellis;
using namespace std;
using namespace Kokkos;

#define TRELLIS_TEST_NAMES PosixBefore
#include "UsingNamespace.hpp"

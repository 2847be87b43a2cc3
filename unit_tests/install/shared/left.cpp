// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "left.hpp"
#include "right.hpp"

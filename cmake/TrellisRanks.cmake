# How tests, examples and benchmarks of several ranks are started.
#
#   trellis_mpiexec(VARIABLE RANKS)
#       Sets the variable to the words that stand before the program; to none if there is no
#       mpiexec.
#
# More ranks than cores must do, as root too, and no network is needed: only the ranks of tests and
# of small programs on one machine are started like this. Whoever has set MPIEXEC_PREFLAGS knows
# better.

set(trellis_mpiexec_flags)
if(Trellis_HAS_MPI AND NOT MPIEXEC_EXECUTABLE)
  message(STATUS "Trellis: no mpiexec (MPIEXEC_EXECUTABLE says where it is), so tests and programs "
    "of several ranks are not run")
elseif(Trellis_HAS_MPI)
  # The launcher's own word: mpiexec may be another one's than the library (srun).
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version
    ERROR_VARIABLE version TIMEOUT 30)
  if(MPIEXEC_PREFLAGS)
    set(trellis_mpiexec_flags ${MPIEXEC_PREFLAGS})
  elseif(version MATCHES "Open MPI|OpenRTE|PRRTE|prte")
    set(memory sm)
    if(version MATCHES "[)] [0-4][.]") # of that name
      set(memory vader)
    endif()
    set(trellis_mpiexec_flags --allow-run-as-root --oversubscribe --bind-to none
      --mca pml ob1 --mca btl self,${memory})
  elseif(version MATCHES "HYDRA")
    set(trellis_mpiexec_flags -bind-to none -launcher fork)
  endif()
endif()

function(trellis_mpiexec variable ranks)
  set(words)
  if(MPIEXEC_EXECUTABLE)
    set(words ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${trellis_mpiexec_flags})
  endif()
  set(${variable} ${words} PARENT_SCOPE)
endfunction()

# trellis_public_headers(VARIABLE SOURCE PART...)
# trellis_reachable_headers(VARIABLE SOURCE PART...)
#
# The headers that users include, and the headers that an installation has: the public ones, and
# what these include, directly or through others. SOURCE is Trellis's folder; each PART is a library
# of its own (fields, worklets, kernels, mpi). The paths count from SOURCE.
#
# Public are the headers that lie directly in core/ and policies/, in the folders of policies/ with
# a topic or a part, and those of the execution spaces. Includes under an #if count as others.
# TrellisInstall.cmake runs this when it installs, so the list is never older than the headers.

function(trellis_public_headers variable source)
  file(GLOB headers RELATIVE ${source} ${source}/core/*.hpp ${source}/spaces/*/Trellis_Space*.hpp
    ${source}/policies/*.hpp ${source}/policies/*/*.hpp)
  set(hidden impl fields worklets kernels mpi)
  if(ARGN)
    list(REMOVE_ITEM hidden ${ARGN})
  endif()
  foreach(folder ${hidden})
    list(FILTER headers EXCLUDE REGEX "^policies/${folder}/")
  endforeach()
  set(${variable} ${headers} PARENT_SCOPE)
endfunction()

function(trellis_reachable_headers variable source)
  trellis_public_headers(waiting ${source} ${ARGN})
  set(folders core spaces policies)
  foreach(part ${ARGN})
    list(APPEND folders policies/${part})
  endforeach()
  set(reached ${waiting})
  while(waiting)
    list(POP_FRONT waiting header)
    file(STRINGS ${source}/${header} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line ${lines})
      string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]*).*" "\\1" included "${line}")
      get_filename_component(beside ${header} DIRECTORY)
      foreach(folder ${folders} ${beside})
        if(EXISTS ${source}/${folder}/${included})
          if(NOT "${folder}/${included}" IN_LIST reached)
            list(APPEND reached ${folder}/${included})
            list(APPEND waiting ${folder}/${included})
          endif()
          break()
        endif()
      endforeach()
    endforeach()
  endwhile()
  list(SORT reached)
  set(${variable} ${reached} PARENT_SCOPE)
endfunction()

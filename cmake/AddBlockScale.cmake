# blockscale_add_library(<name> <sources...>
#     [BLOCKSCALE_LIBS <lib>...]   libraries of this project
#     [MLIR_LIBS <lib>...]         upstream libraries
#     [DEPENDS <target>...])
#
# The one place that knows about static versus dylib linking: upstream
# libraries go through mlir_target_link_libraries(), so that a binary holds
# either libMLIR.so or the static archives, never both.
function(blockscale_add_library name)
  cmake_parse_arguments(ARG "" "" "BLOCKSCALE_LIBS;MLIR_LIBS;DEPENDS" ${ARGN})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS}
    EXCLUDE_FROM_LIBMLIR
    PARTIAL_SOURCES_INTENDED
    DISABLE_INSTALL
    DEPENDS ${ARG_DEPENDS})
  target_link_libraries(${name} PUBLIC ${ARG_BLOCKSCALE_LIBS})
  mlir_target_link_libraries(${name} PUBLIC ${ARG_MLIR_LIBS})
  set_property(GLOBAL APPEND PROPERTY BLOCKSCALE_LIBS ${name})
endfunction()

# blockscale_add_tool(<name> <sources...> [BLOCKSCALE_LIBS ...] [MLIR_LIBS ...])
function(blockscale_add_tool name)
  cmake_parse_arguments(ARG "" "" "BLOCKSCALE_LIBS;MLIR_LIBS" ${ARGN})
  add_llvm_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_BLOCKSCALE_LIBS})
  mlir_target_link_libraries(${name} PRIVATE ${ARG_MLIR_LIBS})
  llvm_update_compile_flags(${name})
  mlir_check_all_link_libraries(${name})
endfunction()

# blockscale_add_plain_library(<name> <sources...> [LIBS <lib>...])
#
# A static library that includes nothing of LLVM: what runtimes and tests of
# pure functions link.
function(blockscale_add_plain_library name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  llvm_update_compile_flags(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# install.cmake -- what `cmake --install` puts where. All places are relative to the prefix, and what is installed finds its parts by
# relative paths, so that the tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RAGTUNE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ragtune)
install(TARGETS ragtune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ragtune_shared ragtune_static EXPORT ragtuneTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES runtime/ragtune.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The CMake package
set_target_properties(ragtune_shared PROPERTIES EXPORT_NAME shared)
set_target_properties(ragtune_static PROPERTIES EXPORT_NAME static)
install(EXPORT ragtuneTargets NAMESPACE ragtune:: DESTINATION ${RAGTUNE_CMAKE_DIR})
configure_package_config_file(packaging/ragtuneConfig.cmake.in ${CMAKE_BINARY_DIR}/packaging/ragtuneConfig.cmake
                              INSTALL_DESTINATION ${RAGTUNE_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/packaging/ragtuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/packaging/ragtuneConfig.cmake ${CMAKE_BINARY_DIR}/packaging/ragtuneConfigVersion.cmake
        DESTINATION ${RAGTUNE_CMAKE_DIR})

# pkg-config: the libraries behind the static one are named, not required, since whoever links the shared one needs none of them.
file(RELATIVE_PATH RAGTUNE_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" RAGTUNE_PC_TO_PREFIX "${RAGTUNE_PC_TO_PREFIX}")
set(RAGTUNE_PC_PRIVATE "")
foreach(library IN LISTS RAGTUNE_LINK_NAMES)
  string(APPEND RAGTUNE_PC_PRIVATE "-l${library} ")
endforeach()
string(APPEND RAGTUNE_PC_PRIVATE "-pthread")
configure_file(packaging/ragtune.pc.in ${CMAKE_BINARY_DIR}/packaging/ragtune.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/packaging/ragtune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Man page and completions, from the program's own tables
set(RAGTUNE_MANUAL ${CMAKE_BINARY_DIR}/manual)
file(MAKE_DIRECTORY ${RAGTUNE_MANUAL})
function(ragtune_manual kind file destination)
  add_custom_command(OUTPUT ${RAGTUNE_MANUAL}/${file} COMMAND ragtune_manual ${kind} ${RAGTUNE_MANUAL}/${file}
                     DEPENDS ragtune_manual VERBATIM)
  install(FILES ${RAGTUNE_MANUAL}/${file} DESTINATION ${destination} ${ARGN})
endfunction()
file(GLOB MANUAL_SOURCES CONFIGURE_DEPENDS manual/*.c)
add_executable(ragtune_manual ${MANUAL_SOURCES} runtime/cli/option_table.c runtime/cli/options.c
               runtime/cli/nearest.c runtime/cli/message.c runtime/cli/progress.c runtime/cli/units.c)
target_compile_definitions(ragtune_manual PRIVATE RGT_MANUAL_DATE="${RAGTUNE_DATE}")
target_link_libraries(ragtune_manual PRIVATE ragtune_flags ragtune_static)
ragtune_manual(page ragtune.1 ${CMAKE_INSTALL_MANDIR}/man1)
ragtune_manual(bash ragtune.bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ragtune)
ragtune_manual(zsh _ragtune ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
ragtune_manual(fish ragtune.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
add_custom_target(ragtune_manual_files ALL DEPENDS ${RAGTUNE_MANUAL}/ragtune.1 ${RAGTUNE_MANUAL}/ragtune.bash
                  ${RAGTUNE_MANUAL}/_ragtune ${RAGTUNE_MANUAL}/ragtune.fish)

# The program in which candidates run; no user's command, so not in bin/.
install(TARGETS ragtune-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ragtune)

# A tuned database that goes along, where whoever packages this has one (`ragtune db export packaging/tuned.db`): every user's
# dispatch asks it after its own and the site's. It is only read.
install(FILES ${CMAKE_SOURCE_DIR}/packaging/tuned.db DESTINATION ${CMAKE_INSTALL_DATADIR}/ragtune OPTIONAL)

# Tuning on many machines
install(PROGRAMS packaging/slurm/ragtune-fleet.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/ragtune)

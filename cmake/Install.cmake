# SPDX-License-Identifier: Apache-2.0
# install: the command, the library, the public headers, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TWILL_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/twill)
# The static library links these privately, yet a program that uses it must link them too. The small
# INTERFACE target twill_warnings is part of the export because CMake wants every link target named.
install(TARGETS twill_library twill_warnings EXPORT twill_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS twill RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/twill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT twill_targets NAMESPACE twill:: DESTINATION ${TWILL_PACKAGE_DIR})

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/twillConfig.cmake.in ${PROJECT_BINARY_DIR}/twillConfig.cmake
  INSTALL_DESTINATION ${TWILL_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/twillConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/twillConfig.cmake
              ${PROJECT_BINARY_DIR}/twillConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/Dependencies.cmake
        DESTINATION ${TWILL_PACKAGE_DIR})

# The prefix is known when something is installed, or moved, not here: twill.pc finds it from its own place.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(TWILL_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up ${up})
  set(TWILL_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/twill.pc.in ${PROJECT_BINARY_DIR}/twill.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/twill.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

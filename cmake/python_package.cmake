# The component `python`: what the package wootz has beyond libraries, command line and headers, which the other components have.
# The prefix of the installation is the package's folder: the extension finds its libraries in lib/ beside it, and what starts the
# command line lies beside the package, so that it need not be imported for that.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/wootz/ DESTINATION . COMPONENT python EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/python/_wootz_command.py DESTINATION .. COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS wootz_python_10 wootz_python_11 LIBRARY DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS wootz_hostcuda LIBRARY DESTINATION ${hostcuda} COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_BINARY_DIR}/python/wootz/_wootz.pyi DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)

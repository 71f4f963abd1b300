# The same as a module, for projects that look only in CMAKE_MODULE_PATH.
include("${CMAKE_CURRENT_LIST_DIR}/TensorRTConfig.cmake")
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensorRT REQUIRED_VARS TensorRT_INCLUDE_DIR VERSION_VAR TensorRT_VERSION)

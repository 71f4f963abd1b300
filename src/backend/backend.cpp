#include "backend/backend.h"

namespace wootz {

Result<std::vector<DeviceDescription>> Backend::devices() const {
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Device> only, open(0));
  return std::vector<DeviceDescription>{only->describe()};
}

std::string list_devices(const std::vector<DeviceDescription>& devices) {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i)
    text += fmt::format("{}{}: {} ({})", i == 0 ? "" : ", ", i, devices[i].name, devices[i].isa);
  return text;
}

Status check_device_number(std::string_view backend, const std::vector<DeviceDescription>& devices, int number) {
  if (number == kCurrentDevice || (number >= 0 && static_cast<size_t>(number) < devices.size())) return Status();
  return invalid_argument("there is no device {} of backend {}; there {} {}", number, backend,
                          devices.size() == 1 ? "is" : "are", devices.empty() ? "none" : list_devices(devices));
}

}  // namespace wootz

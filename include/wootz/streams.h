// IStreamReader, IStreamReaderV2, IStreamWriter: plans read and written piece by piece.
#pragma once

#include <cstdint>

#include "wootz/cuda_types.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {
namespace v_1_0 {

/// Source of a plan's bytes in order, implemented by the application. Used by one thread at a time.
class IStreamReader : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IStreamReader", 1, 0}; }

  /// Writes the next `nbBytes` bytes to host memory at `destination`. Returns how many there were, fewer only at the
  /// end; negative on error.
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;

  IStreamReader() = default;
  ~IStreamReader() noexcept override = default;

 protected:
  IStreamReader(const IStreamReader&) = default;
  IStreamReader(IStreamReader&&) = default;
  IStreamReader& operator=(const IStreamReader&) & = default;
  IStreamReader& operator=(IStreamReader&&) & = default;
};

/// Sink of a plan's bytes in order, implemented by the application. Used by one thread at a time.
class IStreamWriter : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IStreamWriter", 1, 0}; }

  /// Takes `nbBytes` bytes at `data`, which lives during the call. Returns how many were taken; fewer than asked, or a
  /// negative number, fails the build.
  virtual int64_t write(const void* data, int64_t nbBytes) = 0;

  IStreamWriter() = default;
  ~IStreamWriter() noexcept override = default;

 protected:
  IStreamWriter(const IStreamWriter&) = default;
  IStreamWriter(IStreamWriter&&) = default;
  IStreamWriter& operator=(const IStreamWriter&) & = default;
  IStreamWriter& operator=(IStreamWriter&&) & = default;
};

}  // namespace v_1_0

using IStreamReader = v_1_0::IStreamReader;
using IStreamWriter = v_1_0::IStreamWriter;

/// What an offset counts from.
enum class SeekPosition : int32_t {
  kSET = 0,
  kCUR = 1,
  kEND = 2,
};

namespace v_1_0 {

/// Source with random access, which may deliver straight into device memory. Used by one thread at a time.
class IStreamReaderV2 : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IStreamReaderV2", 1, 0}; }

  /// Writes the next `nbBytes` bytes to `destination`, host or device memory, in order with `stream`: the library
  /// synchronizes it before it looks at the bytes. Returns how many there were, fewer only at the end; negative on
  /// error.
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;

  /// Moves the position to `offset` bytes from `where`. False leaves the position where it was.
  virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;

  IStreamReaderV2() = default;
  ~IStreamReaderV2() noexcept override = default;

 protected:
  IStreamReaderV2(const IStreamReaderV2&) = default;
  IStreamReaderV2(IStreamReaderV2&&) = default;
  IStreamReaderV2& operator=(const IStreamReaderV2&) & = default;
  IStreamReaderV2& operator=(IStreamReaderV2&&) & = default;
};

}  // namespace v_1_0

using IStreamReaderV2 = v_1_0::IStreamReaderV2;

}  // namespace nvinfer1

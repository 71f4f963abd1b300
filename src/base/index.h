// Indices that know what they count: a tensor's is no step's, and a list takes only its own kind.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace wootz {

// The number of an item of the kind `Tag`, or none (any negative number). 32 bits, as in plan files.
template <class Tag>
class Index {
 public:
  constexpr Index() = default;  // none
  template <std::integral Number>
  constexpr explicit Index(Number number) : number_(static_cast<int32_t>(number)) {}

  constexpr bool exists() const { return number_ >= 0; }
  constexpr int32_t number() const { return number_; }
  // As a position in what is no list of this kind; only of one that exists.
  constexpr size_t position() const { return static_cast<size_t>(number_); }

  constexpr auto operator<=>(const Index&) const = default;
  constexpr Index& operator++() { return ++number_, *this; }
  constexpr Index next() const { return Index(number_ + 1); }  // that of the item after it

 private:
  int32_t number_ = -1;
};
// Indices one after the other: for (TensorIndex t : tensors.indices()).
template <class I>
class IndexRange {
 public:
  class Iterator {
   public:
    explicit Iterator(I at) : at_(at) {}
    I operator*() const { return at_; }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    I at_;
  };
  explicit IndexRange(size_t count) : count_(count) {}
  Iterator begin() const { return Iterator(I(0)); }
  Iterator end() const { return Iterator(I(count_)); }

 private:
  size_t count_;
};

// A vector that is read by indices of one kind.
template <class I, class T>
class IndexedVector {
  using Items = std::vector<T>;

 public:
  IndexedVector() = default;
  explicit IndexedVector(size_t count, const T& value = T()) : items_(count, value) {}
  IndexedVector(std::initializer_list<T> items) : items_(items) {}

  typename Items::reference operator[](I index) { return items_[index.position()]; }
  typename Items::const_reference operator[](I index) const { return items_[index.position()]; }
  // Throws where there is no such item.
  const T& at(I index) const { return items_.at(index.position()); }
  bool has(I index) const { return index.exists() && index.position() < items_.size(); }
  // Appends it; its index.
  I add(T item) {
    items_.push_back(std::move(item));
    return I(items_.size() - 1);
  }
  I next() const { return I(items_.size()); }  // of what is added next
  IndexRange<I> indices() const { return IndexRange<I>(items_.size()); }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  typename Items::reference front() { return items_.front(); }
  typename Items::const_reference front() const { return items_.front(); }
  typename Items::reference back() { return items_.back(); }
  typename Items::const_reference back() const { return items_.back(); }
  const T* data() const { return items_.data(); }
  void push_back(T item) { items_.push_back(std::move(item)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    return items_.emplace_back(std::forward<Args>(args)...);
  }
  void pop_back() { items_.pop_back(); }
  void assign(size_t count, const T& value) { items_.assign(count, value); }
  void resize(size_t count) { items_.resize(count); }
  void reserve(size_t count) { items_.reserve(count); }
  void clear() { items_.clear(); }
  bool operator==(const IndexedVector&) const = default;

  // The items as a plain list, for what knows no kind.
  Items& items() { return items_; }
  const Items& items() const { return items_; }

 private:
  Items items_;
};

}  // namespace wootz

// Printed as its number.
template <class Tag>
struct fmt::formatter<wootz::Index<Tag>> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(wootz::Index<Tag> index, Context& context) const {
    return fmt::format_to(context.out(), "{}", index.number());
  }
};

template <class Tag>
struct std::hash<wootz::Index<Tag>> {
  size_t operator()(wootz::Index<Tag> index) const { return std::hash<int32_t>()(index.number()); }
};

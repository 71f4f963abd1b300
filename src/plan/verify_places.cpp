#include "plan/verify_places.h"

#include <utility>

#include "backend/relayout.h"
#include "plan/plan_limits.h"
#include "plan/verify_problem.h"

namespace wootz {
namespace {

std::string place(const PlanTensor& tensor) { return fmt::format("tensor '{}'", shown(tensor.name)); }
bool refers(const PlanTensor& t) { return t.kind == TensorKind::kView || t.kind == TensorKind::kSubview; }

class Places {
 public:
  Places(const Program& program, const ShapeValues& shapes) : p_(program), shapes_(shapes) {}

  Status run(IndexedVector<TensorIndex, TensorIndex>* root) {
    for (const PlanTensor& t : p_.tensors) {
      if (refers(t) && !has(t.view_of))
        return corrupt("{} {} tensor {} of {}", place(t), t.kind == TensorKind::kView ? "views" : "is a subview of",
                       t.view_of, p_.tensors.size());
      if (t.offset != ExpressionIndex()) WOOTZ_RETURN_IF_ERROR(check_offset(t));
      if (t.kind == TensorKind::kView) WOOTZ_RETURN_IF_ERROR(check_view(t));
    }
    WOOTZ_RETURN_IF_ERROR(check_subviews());
    WOOTZ_RETURN_IF_ERROR(check_depth());
    root->resize(p_.tensors.size());
    for (const TensorIndex t : p_.tensors.indices()) {
      TensorIndex at = t;
      while (tensor(at).kind == TensorKind::kView) at = tensor(at).view_of;
      (*root)[t] = at;
    }
    return {};
  }

 private:
  const PlanTensor& tensor(TensorIndex index) const { return p_.tensors[index]; }
  bool has(TensorIndex index) const { return p_.tensors.has(index); }

  Status check_offset(const PlanTensor& t) const {
    if (t.kind != TensorKind::kView) return corrupt("{} has an offset, but views nothing", place(t));
    if (!p_.exprs.has(t.offset))
      return corrupt("{} begins at shape expression {} of {}", place(t), t.offset, p_.exprs.size());
    if (dtype_bits(t.dtype) < 8) return corrupt("{}: a range of {}", place(t), dtype_name(t.dtype));
    return {};
  }

  Status check_view(const PlanTensor& view) const {
    const PlanTensor& source = tensor(view.view_of);
    const bool whole = !view.offset.exists();
    // A transposition may leave everything where it is, and change the layout.
    const bool ordered = whole ? is_plain(view.layout) && is_plain(source.layout)
                               : view.layout == source.layout && view.layout != Layout::kOpaque;
    if (view.dtype != source.dtype || !ordered)
      return corrupt("{} ({} {}) cannot view {} ({} {})", place(view), dtype_name(view.dtype), layout_name(view.layout),
                     place(source), dtype_name(source.dtype), layout_name(source.layout));
    const std::optional<Dims> to = tensor_dims(view, shapes_), from = tensor_dims(source, shapes_);
    if (!to || !from) return {};
    if (whole) {
      if (to->volume() == from->volume()) return {};
      return corrupt("{} of shape {} cannot view {} of shape {}", place(view), to->to_string(), place(source),
                     from->to_string());
    }
    if (!shapes_.known[view.offset]) return {};
    const int64_t first = shapes_.values[view.offset];
    const size_t need = layout_bytes(view.layout, view.dtype, *to),
                 have = layout_bytes(source.layout, source.dtype, *from);
    if (first < 0 || first > limits::kMaxElements || need > have || dtype_bytes(view.dtype, first) > have - need)
      return corrupt("{} of shape {} begins at element {} of {} of shape {}", place(view), to->to_string(), first,
                     place(source), from->to_string());
    return {};
  }

  Status check_subviews() const {
    IndexedVector<TensorIndex, uint8_t> listed(p_.tensors.size(), 0);
    for (const TensorIndex t : p_.tensors.indices()) {
      const PlanTensor& whole = p_.tensors[t];
      if (whole.subviews.empty()) continue;
      const bool may = whole.kind == TensorKind::kIntermediate || whole.kind == TensorKind::kOutput ||
                       whole.kind == TensorKind::kSubview;
      if (!may || dtype_bits(whole.dtype) < 8) return corrupt("{} cannot be put together from subviews", place(whole));
      size_t total = 0;
      bool known = true;
      for (const TensorIndex p : whole.subviews) {
        if (!has(p)) return corrupt("{}: subview {} of {}", place(whole), p, p_.tensors.size());
        const PlanTensor& subview = tensor(p);
        if (subview.kind != TensorKind::kSubview || subview.view_of != t)
          return corrupt("{} lists {}, which is no subview of it", place(whole), place(subview));
        if (std::exchange(listed[p], 1)) return corrupt("{} lists {} twice", place(whole), place(subview));
        if (subview.dtype != whole.dtype || subview.layout != whole.layout || subview.layout == Layout::kOpaque)
          return corrupt("{} ({} {}) cannot be a subview of {} ({} {})", place(subview), dtype_name(subview.dtype),
                         layout_name(subview.layout), place(whole), dtype_name(whole.dtype), layout_name(whole.layout));
        const std::optional<Dims> dims = tensor_dims(subview, shapes_);
        known = known && dims;
        if (dims && __builtin_add_overflow(total, layout_bytes(subview.layout, subview.dtype, *dims), &total))
          return corrupt("{}: the size of its subviews overflows", place(whole));
      }
      const std::optional<Dims> dims = tensor_dims(whole, shapes_);
      if (known && dims && total != layout_bytes(whole.layout, whole.dtype, *dims))
        return corrupt("{} of shape {} has {} bytes, its subviews have {}", place(whole), dims->to_string(),
                       layout_bytes(whole.layout, whole.dtype, *dims), total);
    }
    for (const TensorIndex t : p_.tensors.indices())
      if (p_.tensors[t].kind == TensorKind::kSubview && !listed[t])
        return corrupt("{} does not list its subview {}", place(tensor(p_.tensors[t].view_of)), place(p_.tensors[t]));
    return {};
  }

  Status check_depth() const {
    IndexedVector<TensorIndex, uint16_t> depth(p_.tensors.size(), 0);  // 0: not known yet, otherwise one more
    std::vector<TensorIndex> chain;
    for (const TensorIndex t : p_.tensors.indices()) {
      chain.clear();
      TensorIndex at = t;
      while (depth[at] == 0 && refers(p_.tensors[at]) && chain.size() <= plan_limits::kMaxViewDepth) {
        chain.push_back(at);
        at = p_.tensors[at].view_of;
      }
      if (depth[at] == 0) depth[at] = 1;
      if (depth[at] - 1 + chain.size() > plan_limits::kMaxViewDepth)
        return corrupt("{}: a cycle of views, or more than {} of them", place(p_.tensors[t]),
                       plan_limits::kMaxViewDepth);
      for (size_t k = chain.size(); k-- > 0;)
        depth[chain[k]] = static_cast<uint16_t>(depth[tensor(chain[k]).view_of] + 1);
    }
    return {};
  }

  const Program& p_;
  const ShapeValues& shapes_;
};

}  // namespace

Status verify_places(const Program& program, const ShapeValues& shapes, IndexedVector<TensorIndex, TensorIndex>* root) {
  return Places(program, shapes).run(root);
}

}  // namespace wootz

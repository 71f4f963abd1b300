"""What TensorRT's own plugins compute, written plainly in NumPy: test_stock_plugins.py compares with it."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def iou(a, b, plus=0.0):
    lo, hi = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    lo2, hi2 = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    size = np.minimum(hi, hi2) - np.maximum(lo, lo2) + plus
    if (size <= 0).any():
        return 0.0
    both = np.prod(hi - lo + plus) + np.prod(hi2 - lo2 + plus) - np.prod(size)
    return np.prod(size) / both if both > 0 else 0.0


def greedy(boxes, scores, classes, overlaps, most):
    """Numbers of the candidates that stay, best first. `overlaps(iou)`: the lesser of two is dropped."""
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) == most:
            break
        if not any(classes[i] == classes[k] and overlaps(boxes[i], boxes[k]) for k in kept):
            kept.append(i)
    return kept


def efficient_nms(boxes, scores, anchors=None, score_threshold=0.5, iou_threshold=0.5, max_output_boxes=100,
                  background_class=-1, score_activation=0, class_agnostic=0, box_coding=0):
    boxes, scores = boxes.astype(np.float64), scores.astype(np.float64)
    score_threshold, iou_threshold = float(np.float32(score_threshold)), float(np.float32(iou_threshold))
    n, count, classes = scores.shape
    if boxes.ndim == 3:
        boxes = boxes[:, :, None, :]
    boxes = np.broadcast_to(boxes, (n, count, classes, 4))
    if anchors is not None:
        a = np.broadcast_to(anchors[:, :, None, :], boxes.shape).astype(np.float64)
        if box_coding:
            boxes = np.concatenate([boxes[..., :2] * a[..., 2:] + a[..., :2], a[..., 2:] * np.exp(boxes[..., 2:])], -1)
        else:
            order = lambda v: np.concatenate([np.minimum(v[..., :2], v[..., 2:]), np.maximum(v[..., :2], v[..., 2:])], -1)
            boxes = order(boxes) + order(a)
    if box_coding:
        boxes = np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)
    if score_activation:
        scores = sigmoid(scores)
    number, out_boxes = np.zeros((n, 1), np.int32), np.zeros((n, max_output_boxes, 4))
    out_scores, out_classes = np.zeros((n, max_output_boxes)), np.zeros((n, max_output_boxes), np.int32)
    for i in range(n):
        which = [(b, c) for b in range(count) for c in range(classes)
                 if scores[i, b, c] >= score_threshold and c != background_class]
        kept = greedy(np.array([boxes[i, b, c] for b, c in which]), np.array([scores[i, b, c] for b, c in which]),
                      [0 if class_agnostic else c for _, c in which], lambda a, b: iou(a, b) >= iou_threshold,
                      max_output_boxes)
        number[i] = len(kept)
        for k, at in enumerate(kept):
            b, c = which[at]
            out_boxes[i, k], out_scores[i, k], out_classes[i, k] = boxes[i, b, c], scores[i, b, c], c
    return [number, out_boxes, out_scores, out_classes]


def combined_nms(boxes, scores, max_output_size_per_class=-1, max_total_size=100, iou_threshold=0.5,
                 score_threshold=0.5, pad_per_class=0, clip_boxes=0):
    n, count, classes = scores.shape
    most = max_total_size
    if pad_per_class and max_output_size_per_class > 0:
        most = min(most, max_output_size_per_class * classes)
    all_of = efficient_nms(boxes, scores, score_threshold=score_threshold, iou_threshold=iou_threshold,
                           max_output_boxes=count * classes)
    out = [np.zeros((n, 1), np.int32), np.zeros((n, most, 4)), np.zeros((n, most)), np.zeros((n, most), np.int32)]
    for i in range(n):
        used, k = {}, 0
        for j in range(all_of[0][i, 0]):
            c = all_of[3][i, j]
            used[c] = used.get(c, 0) + 1
            if k == most or 0 < max_output_size_per_class < used[c]:
                continue
            out[1][i, k] = np.clip(all_of[1][i, j], 0, 1) if clip_boxes else all_of[1][i, j]
            out[2][i, k], out[3][i, k] = all_of[2][i, j], c
            k += 1
        out[0][i] = k
    return out


def onnx_nms(boxes, scores, score_threshold=0.5, iou_threshold=0.5, max_output_boxes_per_class=100, center_point_box=0):
    """Rows of image, class and box; TensorRT's order of rows is nobody's business, so images come one by one."""
    n, count, classes = scores.shape
    most, rows = max_output_boxes_per_class, []
    for i in range(n):
        got = efficient_nms(boxes[i:i + 1], scores[i:i + 1], score_threshold=score_threshold,
                            iou_threshold=iou_threshold, max_output_boxes=most, box_coding=center_point_box)
        for k in range(got[0][0, 0]):
            box = [b for b in range(count) if scores[i, b, got[3][0, k]] == np.float32(got[2][0, k])][0]
            rows.append((i, got[3][0, k], box))
    rows += [rows[-1] if rows else (-1, -1, -1)] * (n * most - len(rows))
    return [np.array(rows, np.int32)]


def roi_align(x, rois, batch, coordinate_transformation_mode=1, mode=1, output_height=1, output_width=1,
              sampling_ratio=0, spatial_scale=1.0):
    n, channels, height, width = x.shape
    y = np.zeros((len(rois), channels, output_height, output_width))
    shift = 0.5 if coordinate_transformation_mode else 0

    def corners(at_y, at_x):
        if at_y < -1 or at_y > height or at_x < -1 or at_x > width:
            return []
        at_y, at_x = max(at_y, 0), max(at_x, 0)
        y0, x0 = min(int(at_y), height - 1), min(int(at_x), width - 1)
        y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
        fy, fx = (0 if y0 == height - 1 else at_y - y0), (0 if x0 == width - 1 else at_x - x0)
        return [(y0, x0, (1 - fy) * (1 - fx)), (y0, x1, (1 - fy) * fx), (y1, x0, fy * (1 - fx)), (y1, x1, fy * fx)]

    for r, (x1, y1, x2, y2) in enumerate(rois * spatial_scale - shift):
        h, w = y2 - y1, x2 - x1
        if not coordinate_transformation_mode:
            h, w = max(h, 1.0), max(w, 1.0)
        bh, bw = h / output_height, w / output_width
        gh, gw = sampling_ratio or int(np.ceil(bh)), sampling_ratio or int(np.ceil(bw))
        for p in range(output_height):
            for q in range(output_width):
                for c in range(channels):
                    points = [[x[batch[r], c, a, b] * f for a, b, f in
                               corners(y1 + (p + (s + 0.5) / gh) * bh, x1 + (q + (t + 0.5) / gw) * bw)]
                              for s in range(gh) for t in range(gw)]
                    if mode:
                        y[r, c, p, q] = sum(map(sum, points)) / max(gh * gw, 1)
                    else:
                        y[r, c, p, q] = max(max(v) if v else 0 for v in points)
    return [y]


def instance_norm(x, epsilon=1e-5, scales=None, bias=None, relu=0, alpha=0.0):
    axes = tuple(range(2, x.ndim))
    shape = (1, -1) + (1,) * len(axes)
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)
    y = y * np.reshape(scales, shape) + np.reshape(bias, shape)
    return [np.where(y < 0, alpha * y, y) if relu else y]


def group_norm(x, scale, bias, eps=1e-5, num_groups=1):
    parts = x.reshape(x.shape[0], num_groups, -1)
    y = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + eps)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return [y.reshape(x.shape) * scale.reshape(shape) + bias.reshape(shape)]


def layer_norm(x, gamma, beta, epsilon=1e-5, axis=-1):
    axes = tuple(range(axis % x.ndim, x.ndim))
    return [(x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon) * gamma + beta]

"""What TensorRT's own plugins compute, written plainly in NumPy: test_stock_plugins.py compares with it.

Why so long: a function for each plugin, and nothing to divide them by.
"""
import math

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


def batched_nms(boxes, scores, shareLocation=1, backgroundLabelId=-1, numClasses=0, topK=100, keepTopK=20,
                scoreThreshold=0.0, iouThreshold=0.5, isNormalized=1, clipBoxes=1, scoreBits=16, caffeSemantics=1):
    n, count, classes = scores.shape
    boxes = np.broadcast_to(boxes, (n, count, classes, 4)).astype(np.float64)
    out = [np.zeros((n, 1), np.int32), np.zeros((n, keepTopK, 4)), np.zeros((n, keepTopK)), np.full((n, keepTopK), -1.0)]
    plus = 0.0 if isNormalized else 1.0
    for i in range(n):
        found = []
        for c in range(classes):
            if c == backgroundLabelId:
                continue
            best = [b for b in np.argsort(-scores[i, :, c], kind="stable")[:topK] if scores[i, b, c] > scoreThreshold]
            here = np.array([boxes[i, b, c] for b in best]).reshape(-1, 4)
            kept = greedy(here, -np.arange(len(best), dtype=float), [0] * len(best),
                          lambda p, q: iou(p, q, plus) > np.float32(iouThreshold), len(best))
            found += [(scores[i, best[k], c], c, here[k]) for k in kept]
        found = sorted(found, key=lambda f: -f[0])[:keepTopK]
        out[0][i] = len(found)
        for k, (score, c, box) in enumerate(found):
            out[1][i, k], out[2][i, k], out[3][i, k] = np.clip(box, 0, 1) if clipBoxes else box, score, c
    return out


def detection_output(loc, conf, prior, shareLocation=1, varianceEncodedInTarget=0, numClasses=0, codeType=1,
                     confSigmoid=0, isBatchAgnostic=1, **rest):
    n = loc.shape[0]
    own = 1 if shareLocation else numClasses
    loc, conf = loc.reshape(n, -1, own, 4).astype(np.float64), conf.reshape(n, -1, numClasses).astype(np.float64)
    prior = prior.reshape(prior.shape[0], 2, -1, 1, 4).astype(np.float64)
    prior = np.broadcast_to(prior[:1] if isBatchAgnostic else prior, (n,) + prior.shape[1:])
    p, variance = prior[:, 0], prior[:, 1]
    if codeType == 3:
        loc = loc[..., [1, 0, 3, 2]]
    if not varianceEncodedInTarget or codeType == 3:
        loc = loc * variance
    size, middle = p[..., 2:] - p[..., :2], (p[..., 2:] + p[..., :2]) / 2
    if codeType == 0:
        boxes = p + loc
    elif codeType == 2:
        boxes = p + loc * np.concatenate([size, size], -1)
    else:
        at, reach = loc[..., :2] * size + middle, np.exp(loc[..., 2:]) * size / 2
        boxes = np.concatenate([at - reach, at + reach], -1)
    if confSigmoid:
        conf = sigmoid(conf)
    rest = {k: v for k, v in rest.items() if k != "inputOrder"}
    names = {"confidenceThreshold": "scoreThreshold", "nmsThreshold": "iouThreshold"}
    count, kept, scores, classes = batched_nms(boxes, conf, **{names.get(k, k): v for k, v in rest.items()})
    image = np.broadcast_to(np.arange(n, dtype=float)[:, None], classes.shape)
    table = np.concatenate([image[..., None], classes[..., None], scores[..., None], kept], -1)
    return [table[:, None], count[:, :, None, None]]


def gelu(x, bias=None, type_id=0):
    if bias is not None:
        x = x + np.reshape(bias, (1, 1, -1) + (1,) * (x.ndim - 3))
    return [0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))]


def skip_layer_norm(x, skip, beta, gamma, bias=None, ld=0, type_id=0):
    shape = (1, 1, -1) + (1,) * (x.ndim - 3)
    s = x + skip + (0 if bias is None else np.reshape(bias, shape))
    y = (s - s.mean(2, keepdims=True)) / np.sqrt(s.var(2, keepdims=True) + 1e-5)
    return [y * np.reshape(gamma, shape) + np.reshape(beta, shape)]


def embedding(words, segments, mask, **f):
    width = len(f["bert_embeddings_layernorm_gamma"])
    table = lambda name: np.reshape(f[f"bert_embeddings_{name}_embeddings"], (-1, width))
    s = table("word")[words] + table("token_type")[segments] + table("position")[None, :words.shape[1]]
    y = (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + 1e-5)
    y = y * f["bert_embeddings_layernorm_gamma"] + f["bert_embeddings_layernorm_beta"]
    return [y[..., None, None], mask.sum(1, keepdims=True)]


def attention(q, k, v, tokens=None):
    """All [images, heads, rows, size]; `tokens` of the keys of each image are there."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if tokens is not None:
        scores = np.where(np.arange(k.shape[2]) < np.reshape(tokens, (-1, 1, 1, 1)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def bert_attention(x, tokens=None, num_heads=1, hidden_size=1, has_mask=0, type_id=0):
    s, b = x.shape[:2]
    q, k, v = x.reshape(s, b, num_heads, 3, -1).transpose(3, 1, 2, 0, 4)
    return [attention(q, k, v, tokens).transpose(2, 0, 1, 3).reshape(s, b, -1, 1, 1)]


def self_attention(x):
    return [attention(*x.transpose(3, 0, 2, 1, 4)).transpose(0, 2, 1, 3)]


def cross_attention(q, kv):
    return [attention(q.transpose(0, 2, 1, 3), *kv.transpose(3, 0, 2, 1, 4)).transpose(0, 2, 1, 3)]


def split_gelu(x, fDiv=1.4140625, fAdd=1.0, fMul=0.5):
    left, right = np.split(x.astype(np.float64), 2, -1)
    return [left * right * fMul * (np.vectorize(math.erf)(right / fDiv) + fAdd)]


def group_norm_swish(x, gamma, beta, epsilon=1e-5, bSwish=0):
    groups = x.reshape(x.shape[0], 32, -1)
    y = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + epsilon)
    y = y.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]
    return [y / (1 + np.exp(-y)) if bSwish else y]


def disentangled(c2c, c2p, p2c, span, factor):
    n, length, _ = c2c.shape
    middle, y = span // 2, np.zeros(c2c.shape)

    def bucket(distance):
        place = abs(distance)
        if place > middle:
            start = np.float32(np.log(np.float32(middle)))
            ratio = np.float32(middle - 1) / (np.log(np.float32(c2p.shape[2] - 1)) - start) * (1 - np.float32(1e-7))
            place = int(np.ceil((np.log(np.float32(place)) - start) * ratio)) + middle
        return min(max((-place if distance < 0 else place) + span, 0), 2 * span - 1)

    for q in range(length):
        for k in range(length):
            y[:, q, k] = (c2c[:, q, k] + c2p[:, q, bucket(q - k)] + p2c[:, k, bucket(q - k)]) * factor
    return [y]


def deform_conv(x, offset, mask, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), group=1,
                deformable_group=1):
    n, channels, height, width = x.shape
    outputs, per_group, kh, kw = weight.shape
    _, _, oh, ow = offset.shape
    y = np.zeros((n, outputs, oh, ow))

    def at(plane, v, u):
        total, v0, u0 = 0.0, int(np.floor(v)), int(np.floor(u))
        for a, fa in ((v0, 1 - (v - v0)), (v0 + 1, v - v0)):
            for b, fb in ((u0, 1 - (u - u0)), (u0 + 1, u - u0)):
                if 0 <= a < height and 0 <= b < width:
                    total += plane[a, b] * fa * fb
        return total

    for i in range(n):
        for p in range(oh):
            for q in range(ow):
                for o in range(outputs):
                    for c in range(per_group):
                        channel = o // (outputs // group) * per_group + c
                        g = channel // (channels // deformable_group)
                        for r in range(kh):
                            for s in range(kw):
                                t = (g * kh + r) * kw + s
                                v = p * stride[0] - padding[0] + r * dilation[0] + offset[i, 2 * t, p, q]
                                u = q * stride[1] - padding[1] + s * dilation[1] + offset[i, 2 * t + 1, p, q]
                                y[i, o, p, q] += weight[o, c, r, s] * mask[i, t, p, q] * at(x[i, channel], v, u)
    return [y if bias is None else y + bias[None, :, None, None]]


def deformable_attention(value, shapes, starts, places, weights):
    n, _, heads, depth = value.shape
    _, queries, _, levels, points, _ = places.shape
    y = np.zeros((n, queries, heads, depth))
    for i, q, m, level, p in np.ndindex(n, queries, heads, levels, points):
        h, w = shapes[level]
        image = value[i, starts[level]:starts[level] + h * w, m].reshape(h, w, depth)
        u, v = places[i, q, m, level, p] * (w, h) - 0.5
        for a in (int(np.floor(v)), int(np.floor(v)) + 1):
            for b in (int(np.floor(u)), int(np.floor(u)) + 1):
                if 0 <= a < h and 0 <= b < w:
                    y[i, q, m] += weights[i, q, m, level, p] * image[a, b] * (1 - abs(v - a)) * (1 - abs(u - b))
    return [y]


def pillar_scatter(voxels, coordinates, count, dense_shape):
    n, _, channels = voxels.shape
    y = np.zeros((n, channels, *dense_shape))
    for i in range(n):
        for p in range(count[i]):
            _, _, v, u = coordinates[i, p]
            y[i, :, v, u] = voxels[i, p]
    return [y]


def voxels(points, count, max_num_points_per_voxel, max_voxels, point_cloud_range, voxel_feature_num, voxel_size):
    n, _, given = points.shape
    low, high, size = np.float32(point_cloud_range[:3]), np.float32(point_cloud_range[3:]), np.float32(voxel_size)
    width = int(round(float((high[0] - low[0]) / size[0])))
    out = np.zeros((n, max_voxels, max_num_points_per_voxel, voxel_feature_num))
    coordinates, number = np.zeros((n, max_voxels, 4), np.int32), np.zeros(n, np.int32)
    for i in range(n):
        cells = {}
        for p in points[i, :count[i]]:
            if (p[:3] >= low).all() and (p[:3] < high).all():
                u, v = int(np.floor((p[0] - low[0]) / size[0])), int(np.floor((p[1] - low[1]) / size[1]))
                cells.setdefault(v * width + u, []).append(p)
        number[i] = min(len(cells), max_voxels)
        for k, cell in enumerate(sorted(cells)[:max_voxels]):
            inside = np.array(cells[cell][:max_num_points_per_voxel], np.float64)
            place = np.array([cell % width, cell // width, 0])
            coordinates[i, k] = (0, 0, place[1], place[0])
            xyz = inside[:, :3]
            features = np.concatenate([inside, xyz - xyz.mean(0), xyz - (low + size / 2 + place * size)], 1)
            out[i, k, :len(inside)] = features[:, :voxel_feature_num]
    return [out, coordinates, number]


def grid_anchors(maps, minSize, maxSize, aspectRatios, variance, numLayers):
    outputs, scale = [], lambda i: minSize + (maxSize - minSize) * i / (numLayers - 1)
    for i, (height, width) in enumerate(maps):
        if i == 0:
            sizes = list(zip((0.1, scale(0), scale(0)), aspectRatios[:3]))
        else:
            sizes = [(scale(i), r) for r in aspectRatios]
            sizes.append((np.sqrt(scale(i) * (1.0 if i == numLayers - 1 else scale(i + 1))), 1.0))
        boxes = [[(w + 0.5) / height - s * np.sqrt(r) / 2, (h + 0.5) / height - s / np.sqrt(r) / 2,
                  (w + 0.5) / height + s * np.sqrt(r) / 2, (h + 0.5) / height + s / np.sqrt(r) / 2]
                 for h in range(height) for w in range(width) for s, r in sizes]
        flat = np.array(boxes).reshape(-1)
        outputs.append(np.stack([flat, np.tile(variance, len(boxes))])[None, :, :, None])
    return outputs


def prior_boxes(feature, image, minSize, maxSize=(), aspectRatios=(), flip=1, clip=0, variance=(0.1, 0.1, 0.2, 0.2),
                offset=0.5):
    (height, width), (image_h, image_w) = feature.shape[2:], image.shape[2:]
    ratios = [1.0]
    for r in aspectRatios:
        ratios += [r, 1 / r] if flip else [r]
    boxes = []
    for h in range(height):
        for w in range(width):
            x, y = (w + offset) * image_w / width, (h + offset) * image_h / height
            for i, small in enumerate(minSize):
                sides = [(small * np.sqrt(r), small / np.sqrt(r)) for r in ratios]
                if maxSize:
                    sides.insert(1, (np.sqrt(small * maxSize[i]),) * 2)
                boxes += [[(x - a / 2) / image_w, (y - b / 2) / image_h, (x + a / 2) / image_w, (y + b / 2) / image_h]
                          for a, b in sides]
    flat = np.array(boxes).reshape(-1)
    both = np.stack([np.clip(flat, 0, 1) if clip else flat, np.tile(variance, len(boxes))])
    return [np.broadcast_to(both[None, :, :, None], (feature.shape[0], 2, flat.size, 1))]


def normalize(x, weights, acrossSpatial, channelShared, eps):
    axes = (1, 2, 3) if acrossSpatial else 1
    scale = weights[0] if channelShared else np.reshape(weights, (1, -1, 1, 1))
    return [x / np.sqrt((x ** 2).sum(axes, keepdims=True) + eps) * scale]


def reorg(x, stride):
    """Darknet's loops, as they are written."""
    n, c, h, w = x.shape
    small, memory, y = c // stride ** 2, x.reshape(-1), np.zeros(x.size, x.dtype)
    for b, k, j, i in np.ndindex(n, c, h, w):
        offset = k // small
        u, v = i * stride + offset % stride, j * stride + offset // stride
        y[i + w * (j + h * (k + c * b))] = memory[u + w * stride * (v + h * stride * (k % small + small * b))]
    return [y.reshape(n, c * stride ** 2, h // stride, w // stride)]


def region(x, num, coords, classes):
    n, c, h, w = x.shape
    y = x.reshape(n, num, 5 + classes, h, w).astype(np.float64)
    e = np.exp(y[:, :, 5:] - y[:, :, 5:].max(2, keepdims=True))
    y = np.concatenate([sigmoid(y[:, :, :2]), y[:, :, 2:4], sigmoid(y[:, :, 4:5]), e / e.sum(2, keepdims=True)], 2)
    return [y.reshape(x.shape)]


def coordinates(x):
    n, _, h, w = x.shape
    down = np.broadcast_to(np.linspace(-1, 1, h)[None, None, :, None], (n, 1, h, w))
    right = np.broadcast_to(np.linspace(-1, 1, w)[None, None, None, :], (n, 1, h, w))
    return [np.concatenate([x, down, right], 1)]


def correct(boxes, deltas, factors, pixels=False, height=1.0, width=1.0):
    plus = 1.0 if pixels else 0.0
    deltas, most = deltas * np.array(factors), np.array([height, width]) - plus
    change = np.minimum(deltas[..., 2:], np.log(1000 / 16)) if pixels else deltas[..., 2:]
    size = boxes[..., 2:] - boxes[..., :2] + plus
    middle, now = boxes[..., :2] + size / 2 + deltas[..., :2] * size, np.exp(change) * size
    low = middle - now / 2
    return np.concatenate([np.clip(low, 0, most), np.clip(low + now - plus, 0, most)], -1)


def best_boxes(boxes, scores, first, keep, iou_threshold, wanted):
    """Of one image: numbers of the boxes that stay."""
    top = [i for i in np.argsort(-scores, kind="stable")[:first] if wanted(scores[i])]
    kept = greedy(boxes[top], -np.arange(len(top), dtype=float), [0] * len(top),
                  lambda p, q: iou(p, q) > np.float32(iou_threshold), keep)
    return [top[k] for k in kept]


def proposal_layer(score, delta, prenms_topk, keep_topk, iou_threshold, image_size):
    _, height, width = image_size
    anchors = [[(y - h / 2) / (height - 1), (x - w / 2) / (width - 1), (y + h / 2 - 1) / (height - 1), (x + w / 2 - 1) / (width - 1)]
               for stride, scale in zip((4, 8, 16, 32, 64), (32, 64, 128, 256, 512))
               for y in range(0, height, stride) for x in range(0, width, stride)
               for h, w in [(scale / np.sqrt(r), scale * np.sqrt(r)) for r in (0.5, 1, 2)]]
    out = np.zeros((len(score), keep_topk, 4))
    for i in range(len(score)):
        boxes = correct(np.array(anchors), delta[i, :, :, 0].astype(float), (0.1, 0.1, 0.2, 0.2))
        kept = best_boxes(boxes, score[i, :, 1, 0], prenms_topk, keep_topk, iou_threshold, lambda s: s > 0.01)
        out[i, :len(kept)] = boxes[kept]
    return [out]


def multilevel_propose(*inputs, prenms_topk, keep_topk, fg_threshold, iou_threshold, image_size):
    _, height, width = image_size
    n = len(inputs[0])
    out = np.zeros((n, keep_topk, 4))
    for i in range(n):
        found = []
        for level in range(5):
            stride = 4 << level
            anchors = [[y - 4 * stride * d, x - 4 * stride * a, y + 4 * stride * d, x + 4 * stride * a]
                       for y in range(stride // 2, height, stride) for x in range(stride // 2, width, stride)
                       for a, d in ((1, 1), (1.4, 0.7), (0.7, 1.4))]
            boxes = correct(np.array(anchors), inputs[2 * level][i, :, :, 0].astype(float), (1, 1, 1, 1), True, height, width)
            scores = inputs[2 * level + 1][i, :, 0, 0]
            kept = best_boxes(boxes, scores, prenms_topk, keep_topk, iou_threshold, lambda s: s >= np.float32(fg_threshold))
            found += [(scores[k], boxes[k]) for k in kept]
        for k, (_, box) in enumerate(sorted(found, key=lambda f: -f[0])[:keep_topk]):
            out[i, k] = box
    return [out]


def detection_layer(delta, score, roi, num_classes, keep_topk, score_threshold, iou_threshold, image_size=None):
    n, count = roi.shape[:2]
    score, delta = score.reshape(n, count, -1), delta.reshape(n, count, num_classes, 4).astype(float)
    out = np.zeros((n, keep_topk, 6))
    out[..., 4] = -1
    for i in range(n):
        first = 0 if image_size is None else 1
        which = score[i, :, first:].argmax(1) + first
        best = score[i, np.arange(count), which]
        change = delta[i, np.arange(count), which]
        options = {} if image_size is None else {"pixels": True, "height": image_size[1], "width": image_size[2]}
        boxes = correct(roi[i].astype(float), change, (0.1, 0.1, 0.2, 0.2), **options)
        able = [k for k in range(count) if which[k] != 0 and best[k] >= np.float32(score_threshold) and best[k] > 0.01]
        kept = greedy(boxes[able], best[able], which[able], lambda p, q: iou(p, q) > np.float32(iou_threshold), keep_topk)
        for place, k in enumerate(kept):
            out[i, place] = [*boxes[able[k]], which[able[k]], best[able[k]]]
    return [out]


def bilinear(plane, y, x):
    """Inside of the plane, whose last row and column end it."""
    y, x = min(max(y, 0), plane.shape[-2] - 1), min(max(x, 0), plane.shape[-1] - 1)
    y0, x0 = int(y), int(x)
    y1, x1, fy, fx = min(y0 + 1, plane.shape[-2] - 1), min(x0 + 1, plane.shape[-1] - 1), y - y0, x - x0
    return ((plane[..., y0, x0] * (1 - fx) + plane[..., y0, x1] * fx) * (1 - fy)
            + (plane[..., y1, x0] * (1 - fx) + plane[..., y1, x1] * fx) * fy)


def crop_and_resize(x, boxes, crop_height, crop_width):
    n, channels, h, w = x.shape
    boxes = boxes.reshape(n, -1, 4)
    out = np.zeros((n, boxes.shape[1], channels, crop_height, crop_width))
    places = lambda low, high, count, extent: [
        (low + k * (high - low) / (count - 1) if count > 1 else (low + high) / 2) * (extent - 1) for k in range(count)]
    for i, r in np.ndindex(n, boxes.shape[1]):
        y1, x1, y2, x2 = boxes[i, r]
        for p, v in enumerate(places(y1, y2, crop_height, h)):
            for q, u in enumerate(places(x1, x2, crop_width, w)):
                if 0 <= v <= h - 1 and 0 <= u <= w - 1:
                    out[i, r, :, p, q] = bilinear(x[i], v, u)
    return [out]


def multilevel_crop(boxes, *maps, pooled_size, image_size):
    n, count, _ = boxes.shape
    out = np.zeros((n, count, maps[0].shape[1], pooled_size, pooled_size))
    for i, r in np.ndindex(n, count):
        y1, x1, y2, x2 = boxes[i, r]
        if not (0 <= y1 < y2 <= image_size[1] and 0 <= x1 < x2 <= image_size[2]):
            continue
        level = sum((y2 - y1) * (x2 - x1) > 224 * 224 / 4 * 4 ** k for k in range(4))
        scale = 4 << level
        for p, q in np.ndindex(pooled_size, pooled_size):
            v = (y1 + (y2 - y1) * (p + 0.5) / pooled_size) / scale
            u = (x1 + (x2 - x1) * (q + 0.5) / pooled_size) / scale
            out[i, r, :, p, q] = bilinear(maps[level][i], v, u)
    return [out]


def pyramid_roi_align(boxes, *maps, fpn_scale=224, pooled_size=7, image_size=(1024, 1024), roi_coords_absolute=1,
                      roi_coords_swap=0, roi_coords_plusone=0, roi_coords_transform=2, sampling_ratio=0, legacy=0):
    height, width = image_size
    threshold = fpn_scale ** 2 / (height * width) / 4
    if legacy:
        roi_coords_absolute, roi_coords_swap, roi_coords_plusone, roi_coords_transform, sampling_ratio = 0, 1, 0, -1, 1
        threshold = 224 * 224 * 2 / (1024 * 1024) / 16
    n, count, _ = boxes.shape
    out = np.zeros((n, count, maps[0].shape[1], pooled_size, pooled_size))
    for i, r in np.ndindex(n, count):
        a, b, c, d = (float(v) for v in boxes[i, r])
        y1, x1, y2, x2 = (a, b, c, d) if roi_coords_swap else (b, a, d, c)
        y1, y2, x1, x2 = min(y1, y2), max(y1, y2), min(x1, x2), max(x1, x2)
        if roi_coords_absolute:
            y1, y2, x1, x2 = (np.clip(y1, 0, height) / height, np.clip(y2, 0, height) / height,
                              np.clip(x1, 0, width) / width, np.clip(x2, 0, width) / width)
        y1, y2, x1, x2 = (np.clip(v, 0, 1) for v in (y1, y2, x1, x2))
        plus = (1 / height, 1 / width) if roi_coords_plusone else (0, 0)
        area = (y2 - y1 + plus[0]) * (x2 - x1 + plus[1])
        plane = maps[sum(area > threshold * 4 ** k for k in range(3))][i]
        axes = []
        for low, high, extent in ((y1, y2, plane.shape[1]), (x1, x2, plane.shape[2])):
            if roi_coords_transform == -1:
                axes.append([[low * (extent - 1) + k * (high - low) * (extent - 1) / (pooled_size - 1)] for k in range(pooled_size)])
                continue
            before = 0.5 if roi_coords_transform == 2 else 0
            middle = 0 if roi_coords_transform == 0 else 0.5
            start, step = low * extent - before, (high - low) * extent / pooled_size
            parts = sampling_ratio or max(1, int(np.ceil(np.float32(step))))
            axes.append([[start + step * k + step * (s + middle) / parts for s in range(parts)] for k in range(pooled_size)])
        for p, q in np.ndindex(pooled_size, pooled_size):
            out[i, r, :, p, q] = np.mean([bilinear(plane, v, u) for v in axes[0][p] for u in axes[1][q]], 0)
    return [out]

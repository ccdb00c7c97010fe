"""Compares the figures of `vernier eval --embeddings` with those of the programs of the field.

    python bench/embeddings.py bin/vernier

Needs numpy, scikit-learn, faiss-cpu, pytorch-metric-learning 2.9 and, if it is there,
open-metric-learning. Sets are random and clustered, drawn here. Prints one line for each figure
and ends with status 1 if a figure that is defined alike differs by more than 1e-6.
"""
import json
import subprocess
import sys
import tempfile

import faiss
import numpy as np
import torch
from pytorch_metric_learning.distances import CosineSimilarity, LpDistance
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

failed = False


def show(figure, other, ours, theirs, same=True):
    global failed
    wrong = same and abs(ours - theirs) > 1e-6
    failed = failed or bool(wrong)
    print(f"  {figure:12} {other:46} vernier {ours:.7f}  there {theirs:.7f}{'  DIFFERS' if wrong else ''}")


def vernier(program, x, y, metric):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        np.save(f"{folder}/y.npy", y)
        command = [program, "eval", "--embeddings", f"{folder}/x.npy", "--labels", f"{folder}/y.npy", "--metric", metric, "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["model"]


def neighbors(x, metric):
    """Rows by faiss, the query itself left out by its index."""
    if metric == "cosine":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    index = (faiss.IndexFlatIP if metric == "cosine" else faiss.IndexFlatL2)(x.shape[1])
    index.add(x)
    _, found = index.search(x, len(x))
    return np.array([row[row != i] for i, row in enumerate(found)])


def compare(program, name, x, y, metric):
    print(f"{name}, {len(x)} x {x.shape[1]}, {len(set(y.tolist()))} classes, {metric}")
    ours = vernier(program, x, y, metric)
    right = y[neighbors(x, metric)] == y[:, None]
    for k in 1, 2, 4, 8:
        show(f"recall@{k}", "faiss's neighbors", ours[f"recall@{k}"], 100 * right[:, :k].any(axis=1).mean())
    distance = CosineSimilarity() if metric == "cosine" else LpDistance(normalize_embeddings=False)
    calculator = AccuracyCalculator(("precision_at_1", "r_precision", "mean_average_precision_at_r", "mean_average_precision", "mean_reciprocal_rank"),
                                    k=len(x) - 1, knn_func=CustomKNN(distance), device=torch.device("cpu"))
    pml = calculator.get_accuracy(torch.tensor(x), torch.tensor(y))
    for mine, its in ("precision@1", "precision_at_1"), ("r_precision", "r_precision"), ("map@r", "mean_average_precision_at_r"), \
            ("map", "mean_average_precision"), ("mrr", "mean_reciprocal_rank"):
        show(mine, f"pytorch-metric-learning's {its}", ours[mine], pml[its])
    open_metric_learning(ours, x, y, metric)
    if metric == "euclidean":
        classes = ours["clustering"]["clusters"]
        runs = [KMeans(classes, n_init=1, random_state=seed).fit_predict(x) for seed in range(20)]
        nmi, ami = ([score(y, run) for run in runs] for score in (normalized_mutual_info_score, adjusted_mutual_info_score))
        # Where k-means always ends in the same clusters, the figures are of the same; elsewhere they vary with the draw.
        certain = ours["clustering"]["nmi_std"] < 1e-12 and np.std(nmi) < 1e-12
        note = "" if certain else f" (own k-means, std {np.std(nmi):.4f})"
        show("nmi", f"scikit-learn's, mean of 20{note}", ours["nmi"], np.mean(nmi), certain)
        show("ami", f"scikit-learn's, mean of 20{note}", ours["clustering"]["ami"], np.mean(ami), certain)


def open_metric_learning(ours, x, y, metric):
    try:
        from oml.functional.metrics import calc_retrieval_metrics
    except ImportError as why:
        print(f"  open-metric-learning is not compared: {why}")
        return
    found = neighbors(x, metric)
    ids = [torch.tensor(row.copy()) for row in found]
    right = [torch.tensor(np.flatnonzero((y == y[i]) & (np.arange(len(y)) != i))) for i in range(len(y))]
    oml = calc_retrieval_metrics(ids, right, cmc_top_k=(1, 8), precision_top_k=(1,), map_top_k=(len(x) - 1,), verbose=False)
    for mine, kind, k in ("recall@1", "cmc", 1), ("recall@8", "cmc", 8):
        show(mine, f"open-metric-learning's {kind}@{k}", ours[mine] / 100, float(oml[kind][k]))
    show("precision@1", "open-metric-learning's precision@1", ours["precision@1"], float(oml["precision"][1]))
    show("map", "open-metric-learning's map over all ranks", ours["map"], float(oml["map"][len(x) - 1]))


def main(program):
    draw = np.random.default_rng(1)
    y = draw.integers(0, 25, 500)
    compare(program, "random", draw.normal(size=(500, 32)).astype("f4"), y, "euclidean")
    y = np.repeat(np.arange(30), 20)
    x = (draw.normal(size=(30, 32))[y] + 1.5 * draw.normal(size=(600, 32))).astype("f4")
    compare(program, "clustered", x, y, "cosine")
    compare(program, "clustered", x, y, "euclidean")
    # Four tight clusters whose labels are partly others: k-means has one answer. Farther from 0
    # pytorch-metric-learning's distances, which are in float32, would confuse neighbors.
    place = np.repeat(np.arange(4), 60)
    x = (30 * np.eye(4, 8)[place] + draw.normal(size=(240, 8))).astype("f4")
    y = np.where(draw.random(240) < .2, draw.integers(0, 4, 240), place)
    compare(program, "four clusters", x, y, "euclidean")
    sys.exit(failed)


main(*sys.argv[1:])

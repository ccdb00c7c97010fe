"""Stands in for sentence-transformers: counts of letters in place of an encoder."""
import numpy as np


class SentenceTransformer:
    def __init__(self, name):
        pass

    def encode(self, sentences):
        return np.array([[s.count(c) for c in "abcdefgh"] for s in sentences], np.float32)

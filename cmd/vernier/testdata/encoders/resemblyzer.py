"""Stands in for Resemblyzer: a file's bytes in place of an encoder."""
import numpy as np


def preprocess_wav(path):
    return np.frombuffer(path.read_bytes(), np.uint8)


class VoiceEncoder:
    def embed_utterance(self, wave):
        return wave.astype(np.float32)

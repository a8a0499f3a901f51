import random

import numpy as np
import pytest
import xxhash

from mirrorlake.core.kernels.xxh64 import xxh64


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_hash_is_the_reference_implementations_for_every_length(seed):
    data = random.Random(7).randbytes(300)
    buf = np.frombuffer(data + bytes(64), np.uint8)
    start = buf.ctypes.data
    for n_bytes in range(len(data)):
        assert int(xxh64(np.uint64(seed), start, start + n_bytes)) == xxhash.xxh64_intdigest(data[:n_bytes], seed)

"""HMAC-SHA-256 in kernels equals Python's."""

from __future__ import annotations

import hashlib
import hmac
from random import Random

import pyarrow as pa
import pytest

from mirrorlake.core.values.hmac_sha256 import CHECKED, digest_key, digests

SECRET = b"a secret of the tests"


def hexdigest(key: bytes, message: bytes) -> str:
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def test_digests_of_all_lengths_up_to_three_blocks(seed):
    random = Random(seed)
    values = [random.randbytes(n) for n in range(193)] + [random.randbytes(5000)]
    found = digests(digest_key(SECRET), pa.array(values, pa.binary()))
    assert found.to_pylist() == [hexdigest(SECRET, value) for value in values]


@pytest.mark.parametrize("values", [[], [None], [None, b"x", None, b"", b"y"]])
def test_null_stays_null(values):
    """A slice is read from its own first value on."""
    expected = [None if value is None else hexdigest(SECRET, value) for value in values]
    sliced = pa.array([b"before", *values, b"after"], pa.binary())[1:-1]
    assert digests(digest_key(SECRET), sliced).to_pylist() == expected


@pytest.mark.parametrize("secret", [b"k", b"k" * 63, b"k" * 64, b"k" * 65, b"k" * 200])
def test_check_is_the_digest_of_a_fixed_text(secret):
    key = digest_key(secret)
    assert key.check == hexdigest(secret, CHECKED)
    assert str(key.states[0]) not in repr(key)

"""A folded run beside the same run written out."""

import numpy as np
import pytest

from sim.trace.metrics import bottleneck


def is_written_out(trace, whole):
    """Asserts the same time, bytes per link, bottleneck and hits of faults."""
    assert trace.time == pytest.approx(whole.time, rel=1e-12)
    np.testing.assert_allclose(trace.link_bytes, whole.trace.link_bytes, rtol=1e-9)
    use, fullest = bottleneck(trace), whole.bottleneck
    assert (use is None) == (fullest is None)
    assert use is None or use.share == pytest.approx(fullest.share, rel=1e-9)
    own, written = (np.lexsort(hits[1::-1]) for hits in (trace.hits, whole.trace.hits))
    for column, other in zip(trace.hits[:2], whole.trace.hits[:2], strict=True):
        np.testing.assert_array_equal(column[own], other[written])
    np.testing.assert_allclose(trace.hits.seconds[own], whole.trace.hits.seconds[written], rtol=1e-9, atol=1e-15)

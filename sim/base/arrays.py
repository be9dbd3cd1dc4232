"""Names for the arrays that columns are."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

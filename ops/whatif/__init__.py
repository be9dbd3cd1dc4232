"""Lists of what-ifs: a baseline, its variants, and what each of them does to the time."""

from ops.whatif.sheet import MOST, Sheet, Variant, changes_of
from ops.whatif.table import VariantRow, rows_of, to_csv

__all__ = ["MOST", "Sheet", "Variant", "VariantRow", "changes_of", "rows_of", "to_csv"]

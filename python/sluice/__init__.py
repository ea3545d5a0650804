"""Types for, and a way to try, Python functions that run in Sluice pipelines.

Your module does not need this package: Sluice brings its own host, and a function is any callable on a pyarrow RecordBatch. Install it for type
checkers and for unit tests of your functions:

    import sluice
    table = sluice.call("scorer:Scorer", {"text": ["a", "bb"]}, model="small")
"""

from ._api import Failed, call
from ._find import Mistake
from ._types import Batch, BatchFunction, Columns, Row, RowFunction, Schema, Scorer

__all__ = ["Batch", "BatchFunction", "Columns", "Failed", "Mistake", "Row", "RowFunction", "Schema", "Scorer", "call"]
__version__ = "0.1.0"

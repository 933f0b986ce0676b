from typing import Any

from . import calls as calls
from . import comparison as comparison
from . import heap as heap
from . import lines as lines
from . import memory as memory
from . import middleware as middleware
from . import profiler as profiler
from . import regions as regions
from . import reporter_columns as reporter_columns
from . import reporters as reporters
from . import timing as timing
from ._core import __version__ as __version__
from ._core import count as count
from ._core import instant as instant
from ._core import iter_proxy as iter_proxy
from ._core import region as region
from ._labels import label as label
from ._labels import labels as labels
from ._plot import plot as plot
from ._process import process_label as process_label
from ._profile_decorator import profile as profile
from ._progress import progress as progress
from ._sampling import sampling as sampling
from ._sampling import start as start
from ._sampling import stop as stop
from ._snapshot import Snapshot as Snapshot
from ._snapshot import snapshot as snapshot
from .calls import Profile as Profile
from .calls import describe as describe
from .calls import run as run
from .calls import runctx as runctx
from .comparison import Comparison as Comparison
from .comparison import compare as compare
from .lines import LineProfiler as LineProfiler
from .lines import LineStats as LineStats
from .lines import load_stats as load_stats
from .lines import show_text as show_text
from .regions import RegionProfiler as RegionProfiler
from .regions import func as func
from .regions import install as install
from .timing import Timing as Timing
from .timing import timeit as timeit

def get_include() -> str: ...
def get_library_dir() -> str: ...
def load_ipython_extension(shell: Any) -> None: ...

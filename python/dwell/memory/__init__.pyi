from ._leaks import leaks as leaks
from ._limit import LimitExceeded as LimitExceeded
from ._limit import limit as limit
from ._profile import profile as profile
from ._profile import show_results as show_results
from ._track import mark as mark
from ._track import track as track
from ._usage import memory_usage as memory_usage

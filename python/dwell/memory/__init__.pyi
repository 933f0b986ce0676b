from ._track import mark as mark
from ._track import track as track
from ._usage import memory_usage as memory_usage

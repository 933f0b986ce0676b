from ._track import mark as mark
from ._track import track as track

# SPDX-License-Identifier: MIT
"""PySpark, with UDFs in real workers."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import Rows

pytest.importorskip("pyspark")
pytestmark = pytest.mark.any_python

START = """
import os
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from dwell.cluster.spark import recording

folder = os.path.abspath("profiles")
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config(map=recording(folder))
    .getOrCreate()
)

def spin():
    \"\"\"Until the recording of this worker has grown.\"\"\"
    file, = (entry.path for entry in os.scandir(folder) if f".{os.getpid()}." in entry.name)
    sizes = {os.stat(file).st_size}
    while len(sizes) < 4:
        sum(range(10000))
        sizes.add(os.stat(file).st_size)
"""
ROWS = """
@udf("long")
def first(n):
    spin()
    return n

@udf("long")
def second(n):
    spin()
    return n + 1

numbers = spark.range(2, numPartitions=2)
for function in (first, second):
    print(numbers.select(function("id").alias("n")).groupBy().sum("n").first()[0])
print(spark.sparkContext.parallelize(range(10), 2).map(lambda n: n * n).sum())
spark.stop()
"""
COLUMNS = """
import pandas
from pyspark.sql.functions import pandas_udf

@pandas_udf("long")
def add_two(column: pandas.Series) -> pandas.Series:
    spin()
    return column + 2

def halve(frame: pandas.DataFrame) -> pandas.DataFrame:
    spin()
    return frame // 2

numbers = spark.range(2, numPartitions=2)
print(numbers.select(add_two("id").alias("n")).groupBy().sum("n").first()[0])
print(numbers.groupBy("id").applyInPandas(halve, "id long").groupBy().sum("id").first()[0])
spark.stop()
"""


@pytest.fixture
def prefixes(python_program: Program, run_dwell: Program, rows: Rows, tmp_path: Path):
    """prefixes(PROGRAM, PRINTED): what the tasks of the program are called."""
    if not shutil.which("java"):
        pytest.skip("there is no Java")
    (tmp_path / "profiles").mkdir()

    def run(program: str, printed: str) -> set[str]:
        done = python_program(START + program, env={**os.environ, "PYSPARK_PYTHON": sys.executable})
        assert (done.returncode, done.stdout.split()) == (0, printed.split()), done.stderr
        run_dwell("merge", *(tmp_path / "profiles").glob("*.dwell"), "-o", "run.dwell")
        return {row["task_prefix"] for row in rows("run.dwell", "task_prefix", "--measure", "cpu")}

    return run


def test_udfs_are_told_apart(prefixes):
    assert {"first", "second"} <= prefixes(ROWS, "1 3 285")


def test_udfs_of_pandas_are_told_apart(prefixes):
    pytest.importorskip("pyarrow")
    assert {"add_two", "halve"} <= prefixes(COLUMNS, "5 0")

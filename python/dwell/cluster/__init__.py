# SPDX-License-Identifier: MIT
"""Adapters for engines that run a program on many processes and hosts: dask, libertem, mpi.

Each is a small module of its own, which needs the engine; this package needs none of them.
"""

"""Hostile files: small ones that announce, or unpack to, gigabytes, and types that no recording has."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.simulation.test_trajectory import example
from treesim import Trajectory
from treesim.errors import ArgumentError
from treesim.formats.csv import HEADING
from treesim.formats.description import described
from treesim.formats.npz import ARRAYS

ZEROS = bytes(1 << 20)
MOST = 120  # MB that loading a file of few kB may take
CHILD = """
import sys
from treesim import Trajectory, TreesimError
import treesim.formats, numpy

def megabytes(kind):
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) // 1024 for line in stream if line.startswith(kind))

for path in sys.argv[1:]:
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")  # the most memory is counted anew
    before = megabytes("VmRSS")
    try:
        Trajectory.load(path)
        print("loaded")
    except TreesimError as error:
        print(megabytes("VmHWM") - before, type(error).__name__, error)
"""


def npz_of(path: Path, compression: int = zipfile.ZIP_STORED, **changes: Any) -> Path:
    """Write an archive with some members replaced: by arrays, or by bytes as they are."""
    run = example(3)
    members = {name: getattr(run, name) for name in ARRAYS} | {"description": np.array(described(run))} | changes
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as archive:
        for name, value in members.items():
            if isinstance(value, bytes):
                archive.writestr(f"{name}.npy", value)
                continue
            stream = io.BytesIO()
            np.save(stream, value, allow_pickle=True)
            archive.writestr(f"{name}.npy", stream.getvalue())
    return path


def header_of(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def deflated_zeros(path: Path) -> None:
    npz_of(path, zipfile.ZIP_DEFLATED, q=header_of((200 << 17,)) + 200 * ZEROS)


def announced(path: Path) -> None:
    npz_of(path, q=header_of((1 << 40, 16)) + ZEROS[:1000])


def nested_description(path: Path) -> None:
    npz_of(path, zipfile.ZIP_DEFLATED, description=np.array("[" + "[]," * (2 << 20) + "[]]"))


def many_lists(path: Path) -> None:
    path.write_bytes((HEADING + "[" + "[]," * (2 << 20) + "[]]\r\nt\r\n").encode())


def many_rows(path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"t": np.zeros(1 << 20)})
    with parquet.ParquetWriter(path, table.schema, use_dictionary=True) as writer:
        for _ in range(25):
            writer.write_table(table)


def long_axis(path: Path) -> None:
    pytest.importorskip("xarray")
    example(3).save(path)
    good = path.read_bytes()
    axis = b"\x00\x00\x00\x04time" + struct.pack(">i", 3)
    assert good.count(axis) == 1
    path.write_bytes(good.replace(axis, axis[:8] + struct.pack(">i", 2**31 - 1)))


def mcap_record(code: int, content: bytes, length: int | None = None) -> bytes:
    return struct.pack("<BQ", code, len(content) if length is None else length) + content


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


MAGIC = b"\x89MCAP0\r\n"
HEADER = mcap_record(1, text("ros2") + text("treesim"))
FOOTER = 2


def chunk_bomb(path: Path) -> None:
    """A chunk that unpacks to 500 MB, to which the footer points as to the summary."""
    zstandard = pytest.importorskip("zstandard")
    packer = zstandard.ZstdCompressor().compressobj()
    packed = b"".join([*(packer.compress(ZEROS) for _ in range(500)), packer.flush()])
    start = struct.pack("<QQQI", 0, 1, 500 << 20, 0) + text("zstd") + struct.pack("<Q", len(packed))
    footer = mcap_record(FOOTER, struct.pack("<QQI", len(MAGIC + HEADER), 0, 0))
    path.write_bytes(MAGIC + HEADER + mcap_record(6, start + packed) + footer + MAGIC)


def long_record(path: Path) -> None:
    path.write_bytes(MAGIC + HEADER + mcap_record(9, ZEROS[:100], 3 << 30) + ZEROS[:1000])


def long_attachment(path: Path) -> None:
    start = struct.pack("<QQ", 0, 0) + text("trajectory.npz") + text("application/x-npz") + struct.pack("<Q", 1 << 62)
    path.write_bytes(MAGIC + HEADER + mcap_record(9, start + ZEROS[:1000]) + MAGIC)


def bomb_attached(path: Path) -> None:
    deflated_zeros(path)
    content = path.read_bytes()
    start = struct.pack("<QQ", 0, 0) + text("trajectory.npz") + text("x") + struct.pack("<Q", len(content))
    path.write_bytes(MAGIC + HEADER + mcap_record(9, start + content + struct.pack("<I", 0)) + MAGIC)


BOMBS: dict[str, Callable[[Path], Any]] = {
    "zeros.npz": deflated_zeros, "announced.npz": announced,
    "nested.npz": nested_description, "lists.csv": many_lists, "rows.parquet": many_rows, "axis.nc": long_axis,
    "chunk.mcap": chunk_bomb, "record.mcap": long_record, "attachment.mcap": long_attachment,
    "attached.mcap": bomb_attached,
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the most memory since a time")
@pytest.mark.slow
def test_small_files_take_little_memory_whatever_they_announce(tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    paths = [tmp_path / name for name in BOMBS]
    for path, make in zip(paths, BOMBS.values(), strict=True):
        make(path)
        assert path.stat().st_size < 20 << 20
    child = subprocess.run([sys.executable, "-c", CHILD, *map(str, paths)], capture_output=True, text=True, timeout=300)
    lines = child.stdout.splitlines()
    assert len(lines) == len(BOMBS), child.stdout + child.stderr
    for name, line in zip(BOMBS, lines, strict=True):
        megabytes, error = line.split()[:2]
        assert error == "ArgumentError" and name in line and int(megabytes) < MOST, line


ODD: dict[str, dict[str, Any]] = {
    "objects": {"q": np.array([[None]] * 3, object)},
    "complex": {"q": np.zeros((3, 16), complex)},
    "texts": {"t": np.array(["0", "1", "2"])},
    "records": {"t": np.zeros(3, [("a", float)])},
    "dates": {"t": np.zeros(3, "datetime64[s]")},
    "flags": {"energy": np.zeros(3, bool)},
    "no times": {"t": np.full(3, np.nan)},
    "times that fall": {"t": np.array([0.0, 2.0, 1.0])},
    "a number": {"t": np.array(1.0)},
    "no array": {"t": b"no array"},
    "complex wrenches": {"wrench": np.zeros((3, 0, 6), complex), "solver_info": np.zeros((3, 6))},
    "wrenches of others": {"wrench": np.zeros((3, 2, 6)), "solver_info": np.zeros((3, 6))},
    "one wrench": {"wrench": np.zeros(()), "solver_info": np.zeros(())},
    "pairs of others": {"wrench": np.zeros((3, 0, 6)), "solver_info": np.zeros((3, 6)), "pairs": np.zeros((3, 1, 12))},
    "a description of numbers": {"description": np.zeros(3)},
    "an empty description": {"description": np.array("")},
}


@pytest.mark.parametrize("label", ODD)
def test_arrays_of_other_types_are_refused(tmp_path: Path, label: str) -> None:
    """Without digests, which would find most of them before."""
    plain = json.loads(described(example(3)))
    del plain["digests"]
    changes = {"description": np.array(json.dumps(plain)), **ODD[label]}
    with pytest.raises(ArgumentError, match=r"run\.npz is not a trajectory that treesim wrote, or is damaged"):
        Trajectory.load(npz_of(tmp_path / "run.npz", **changes))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_packed_by_other_methods_are_refused(tmp_path: Path, compression: int) -> None:
    with pytest.raises(ArgumentError, match="packed by a method that NumPy does not write"):
        Trajectory.load(npz_of(tmp_path / "run.npz", compression))
    assert len(Trajectory.load(npz_of(tmp_path / "run.npz", zipfile.ZIP_DEFLATED))) == 3


def test_encrypted_archives_are_refused(tmp_path: Path) -> None:
    path = npz_of(tmp_path / "run.npz")
    whole = bytearray(path.read_bytes())
    for start, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = whole.find(start)
        while at >= 0:
            whole[at + offset] |= 1
            at = whole.find(start, at + 1)
    path.write_bytes(whole)
    with pytest.raises(ArgumentError, match="encrypted"):
        Trajectory.load(path)


def test_an_array_under_the_name_of_an_archive_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "run.npy", np.zeros(3))
    (tmp_path / "run.npy").rename(tmp_path / "run.npz")
    with pytest.raises(ArgumentError, match=r"run\.npz"):
        Trajectory.load(tmp_path / "run.npz")


@pytest.mark.parametrize("row", ["1,2", "1,2,3,4", "a,b,c", "", ",,"])
def test_rows_of_other_lengths_are_refused(tmp_path: Path, row: str) -> None:
    q = np.zeros((2, 1))
    run = Trajectory("one", np.arange(2.0), q, q, q, q[:, 0], ("a",), ("revolute",))
    path = run.save(tmp_path / "run.csv")
    path.write_bytes(path.read_bytes() + row.encode() + b"\r\n" * 2)
    with pytest.raises(ArgumentError, match=r"run\.csv"):
        Trajectory.load(path)


@pytest.mark.parametrize("column", ["t", "energy"])
def test_tables_without_a_column_are_refused(tmp_path: Path, column: str) -> None:
    path = example(3).save(tmp_path / "run.csv")
    heading, header, rest = path.read_text().split("\n", 2)
    renamed = ",".join("other" if name == column else name for name in header.split(","))
    path.write_text("\n".join((heading, renamed, rest)), newline="")
    with pytest.raises(ArgumentError, match=f"it has no column '{column}'"):
        Trajectory.load(path)


def test_columns_of_other_types_are_refused(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = example(3).to_arrow()
    for other in (table["t"].cast(arrow.string()), arrow.chunked_array([[1, 2, 3]]), arrow.chunked_array([[[]] * 3])):
        changed = table.set_column(0, "t", other)
        parquet.write_table(changed.replace_schema_metadata(table.schema.metadata), tmp_path / "run.parquet")
        with pytest.raises(ArgumentError, match="its columns are not all numbers in double precision"):
            Trajectory.load(tmp_path / "run.parquet")


def test_attributes_of_netcdf_change_no_numbers(tmp_path: Path) -> None:
    """Other readers scale numbers and replace some by NaN where attributes say so."""
    xarray = pytest.importorskip("xarray")
    run = replace(example(3), energy=np.array([1.0, 2.0, 3.0]))
    dataset = run.to_xarray()
    dataset["energy"].attrs |= {"scale_factor": 2.0, "_FillValue": 3.0}
    dataset.to_netcdf(tmp_path / "run.nc", engine="scipy", format="NETCDF3_64BIT")
    with xarray.open_dataset(tmp_path / "run.nc", engine="scipy") as other:
        assert other.energy.values[0] == 2.0
    assert Trajectory.load(tmp_path / "run.nc").energy.tolist() == [1.0, 2.0, 3.0]

"""Memory of a kernel's call, as LLVM IR: arrays follow one another in a few blocks, the first of which is kept.

The C library returns large blocks to the system when they are freed. The next call would wait until the system has
mapped and cleared them again, page by page: for a step with contact this took longer than its arithmetic.
"""

from __future__ import annotations

import os

from ...errors import ArgumentError, quoted

# variable with the address of the blocks that calls have left for later ones (`kept_memory`); by default null: none is
# kept
KEPT = "treesim_kept_blocks"
SLOTS = 8  # blocks at most: as many calls may run at once without asking for new memory
LARGEST = 1 << 28  # bytes of a block that is kept
FILL = "TREESIM_FILL"

BEGIN = "  %arena = alloca [5 x ptr]\n  store [5 x ptr] zeroinitializer, ptr %arena"  # of a call
END = "  call void @leave(ptr %arena)"

ARENA = (
    """
@KEPT = global ptr null

; Memory for a call of the entry: arrays follow one another in blocks. The arena has the address of the next free byte,
; of the last array, of the block's end and of the block, and the bytes of all blocks. A block begins with the address
; of the block before, that one's next free byte and end, and its own size. The first block is kept for the next call
; (`KEPT`). These functions hand out the same memory again: by the empty assembly, LLVM moves no access past them.
define internal noalias ptr @allocate(ptr %arena, i64 %bytes) nounwind noinline {
entry:
  call void asm sideeffect "", "~{memory}"()
  %top = load ptr, ptr %arena
  %end_at = getelementptr ptr, ptr %arena, i64 2
  %end = load ptr, ptr %end_at
  %whole = add i64 %bytes, 127
  %behind = getelementptr i8, ptr %top, i64 %whole
  %next = call ptr @llvm.ptrmask.p0.i64(ptr %behind, i64 -64)
  %fits = icmp ule ptr %next, %end
  br i1 %fits, label %done, label %more
more:
  %start = call ptr @another_block(ptr %arena, i64 %whole)
  %behind_start = getelementptr i8, ptr %start, i64 %whole
  %next_there = call ptr @llvm.ptrmask.p0.i64(ptr %behind_start, i64 -64)
  br label %done
done:
  %memory = phi ptr [ %top, %entry ], [ %start, %more ]
  %following = phi ptr [ %next, %entry ], [ %next_there, %more ]
  store ptr %following, ptr %arena
  ret ptr %memory
}

; the first aligned byte of a block
define internal ptr @start_of(ptr %block) nounwind {
  %behind = getelementptr i8, ptr %block, i64 95
  %start = call ptr @llvm.ptrmask.p0.i64(ptr %behind, i64 -64)
  ret ptr %start
}

; add a block to the arena
define internal void @add_block(ptr %arena, ptr %block) nounwind {
  %end_at = getelementptr ptr, ptr %arena, i64 2
  %block_at = getelementptr ptr, ptr %arena, i64 3
  %bytes_at = getelementptr ptr, ptr %arena, i64 4
  %top = load ptr, ptr %arena
  %end = load ptr, ptr %end_at
  %before = load ptr, ptr %block_at
  %top_there = getelementptr ptr, ptr %block, i64 1
  %end_there = getelementptr ptr, ptr %block, i64 2
  %size_there = getelementptr ptr, ptr %block, i64 3
  store ptr %before, ptr %block
  store ptr %top, ptr %top_there
  store ptr %end, ptr %end_there
  %size = load i64, ptr %size_there
  %own_end = getelementptr i8, ptr %block, i64 %size
  %bytes = load i64, ptr %bytes_at
  %all = add i64 %bytes, %size
  store ptr %own_end, ptr %end_at
  store ptr %block, ptr %block_at
  store i64 %all, ptr %bytes_at
  ret void
}

; return a new block
define internal ptr @new_block(i64 %size) nounwind {
  %block = call ptr @malloc(i64 %size)
  %size_at = getelementptr ptr, ptr %block, i64 3
  store i64 %size, ptr %size_at
  ret ptr %block
}

; add a block with room for so many bytes: that of an earlier call, or one twice as large as the last; return its start
define internal ptr @another_block(ptr %arena, i64 %bytes) nounwind noinline {
entry:
  %block_at = getelementptr ptr, ptr %arena, i64 3
  %before = load ptr, ptr %block_at
  %any = icmp ne ptr %before, null
  br i1 %any, label %double, label %take
take:
  %kept = call ptr @take_block()
  %none = icmp eq ptr %kept, null
  br i1 %none, label %fresh, label %use
use:
  call void @add_block(ptr %arena, ptr %kept)
  %start_kept = call ptr @start_of(ptr %kept)
  %behind = getelementptr i8, ptr %start_kept, i64 %bytes
  %end_at = getelementptr ptr, ptr %arena, i64 2
  %end = load ptr, ptr %end_at
  %fits = icmp ule ptr %behind, %end
  br i1 %fits, label %done, label %double
double:
  %last = load ptr, ptr %block_at
  %size_at = getelementptr ptr, ptr %last, i64 3
  %size = load i64, ptr %size_at
  br label %fresh
fresh:
  %known = phi i64 [ 16384, %take ], [ %size, %double ]
  %twice = shl i64 %known, 1
  %needed = add i64 %bytes, 128
  %enough = icmp uge i64 %twice, %needed
  %bytes_new = select i1 %enough, i64 %twice, i64 %needed
  %block = call ptr @new_block(i64 %bytes_new)
  call void @add_block(ptr %arena, ptr %block)
  %start_new = call ptr @start_of(ptr %block)
  br label %done
done:
  %start = phi ptr [ %start_kept, %use ], [ %start_new, %fresh ]
  ret ptr %start
}

; return memory that was handed out after `before` was the next free byte; the first block stays
define internal void @release(ptr %arena, ptr %before) nounwind noinline {
entry:
  call void asm sideeffect "", "~{memory}"()
  %end_at = getelementptr ptr, ptr %arena, i64 2
  %block_at = getelementptr ptr, ptr %arena, i64 3
  br label %test
test:
  %block = load ptr, ptr %block_at
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %some
some:
  %last = load ptr, ptr %end_at
  %above = icmp ugt ptr %before, %block
  %below = icmp ule ptr %before, %last
  %inside = and i1 %above, %below
  br i1 %inside, label %back, label %outside
back:
  store ptr %before, ptr %arena
  br label %end
outside:
  %previous = load ptr, ptr %block
  %first = icmp eq ptr %previous, null
  br i1 %first, label %again, label %drop
again:
  %start = call ptr @start_of(ptr %block)
  store ptr %start, ptr %arena
  br label %end
drop:
  %top_there = getelementptr ptr, ptr %block, i64 1
  %end_there = getelementptr ptr, ptr %block, i64 2
  %top = load ptr, ptr %top_there
  %end_before = load ptr, ptr %end_there
  store ptr %top, ptr %arena
  store ptr %end_before, ptr %end_at
  store ptr %previous, ptr %block_at
  call void @free(ptr %block)
  br label %test
end:
  ret void
}

; return the block of an earlier call, or null
define internal ptr @take_block() nounwind {
entry:
  %slots = load ptr, ptr @KEPT
  %none = icmp eq ptr %slots, null
  br i1 %none, label %nothing, label %test
test:
  %k = phi i64 [ 0, %entry ], [ %next, %more ]
  %slot = getelementptr ptr, ptr %slots, i64 %k
  %block = atomicrmw xchg ptr %slot, ptr null acquire
  %found = icmp ne ptr %block, null
  br i1 %found, label %done, label %more
more:
  %next = add i64 %k, 1
  %goes_on = icmp ult i64 %next, SLOTS
  br i1 %goes_on, label %test, label %nothing
nothing:
  ret ptr null
done:
  ret ptr %block
}

; end a call: keep its first block, as large as all its blocks, for the next call
define internal void @leave(ptr %arena) nounwind noinline {
entry:
  %block_at = getelementptr ptr, ptr %arena, i64 3
  %any = load ptr, ptr %block_at
  %none = icmp eq ptr %any, null
  br i1 %none, label %end, label %some
some:
  call void @release(ptr %arena, ptr null)
  %block = load ptr, ptr %block_at
  %size_at = getelementptr ptr, ptr %block, i64 3
  %size = load i64, ptr %size_at
  %bytes_at = getelementptr ptr, ptr %arena, i64 4
  %bytes = load i64, ptr %bytes_at
  %slots = load ptr, ptr @KEPT
  %nowhere = icmp eq ptr %slots, null
  %large = icmp ugt i64 %bytes, LARGEST
  %drops = or i1 %nowhere, %large
  br i1 %drops, label %drop, label %keep
keep:
  %sufficed = icmp ule i64 %bytes, %size
  br i1 %sufficed, label %test, label %replace
replace:
  call void @free(ptr %block)
  %larger = call ptr @new_block(i64 %bytes)
  br label %test
test:
  %kept = phi ptr [ %block, %keep ], [ %larger, %replace ], [ %kept, %more ]
  %k = phi i64 [ 0, %keep ], [ 0, %replace ], [ %next, %more ]
  %slot = getelementptr ptr, ptr %slots, i64 %k
  %swap = cmpxchg ptr %slot, ptr null, ptr %kept release monotonic
  %done = extractvalue { ptr, i1 } %swap, 1
  br i1 %done, label %end, label %more
more:
  %next = add i64 %k, 1
  %goes_on = icmp ult i64 %next, SLOTS
  br i1 %goes_on, label %test, label %full
full:
  call void @free(ptr %kept)
  br label %end
drop:
  call void @free(ptr %block)
  br label %end
end:
  ret void
}
""".replace("KEPT", KEPT)
    .replace("SLOTS", str(SLOTS))
    .replace("LARGEST", str(LARGEST))
)


def fill_byte() -> int | None:
    """Return the byte in $TREESIM_FILL with which new arrays of kernels are filled, None if it is not set.

    With 255, numbers are NaN and integers -1: a kernel that reads what it has not written yields NaN in every run,
    not only where memory was used before. Raises ArgumentError for anything but a whole number from 0 to 255.
    """
    text = os.environ.get(FILL)
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= 255):
        raise ArgumentError(f"{FILL} is {quoted(text)}, but must be a whole number from 0 to 255")
    return int(text)

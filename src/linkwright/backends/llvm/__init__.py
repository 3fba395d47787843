"""The native backend: LLVM machine code made in the process, scalar and batched, cached on disk."""

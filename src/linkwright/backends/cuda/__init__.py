"""The backend for NVIDIA cards: Programs as PTX, evaluated for many rows, a thread each.

No toolkit is needed: LLVM writes PTX, and the card's own driver compiles and runs it. Operations
are those of the CPU, rounded in the same way, sines and cosines are ours; so are the bits.
"""

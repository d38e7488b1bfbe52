"""Units for quantities: `ram=16 * xm.GiB`, `cpu=0.5 * xm.vCPU`. Bytes and virtual CPUs."""

vCPU = 1.0

KiB: int = 2**10
MiB: int = 2**20
GiB: int = 2**30
TiB: int = 2**40
PiB: int = 2**50

KB: int = 10**3
MB: int = 10**6
GB: int = 10**9
TB: int = 10**12
PB: int = 10**15

"""How kernels are compiled and kept, and the memory that they work on."""

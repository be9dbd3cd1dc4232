"""What runs in every process of a PyTorch program: a process group with a clock, and GPUs that stand for a machine's.

These modules are loaded into the processes of a script under a name of their own, without the rest of the project:
they import each other relatively, and nothing else but torch and the standard library.
"""

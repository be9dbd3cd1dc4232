"""Small faults put into the simulator, one at a time: which of them does no test notice?"""

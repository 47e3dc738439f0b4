"""One Reward under other trainers: verl, OpenRLHF, verifiers, NeMo-Gym, prime-rl.

Importing a module here loads none of them, except `verl_turns`, which subclasses verl's own class.
"""

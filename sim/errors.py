"""What can go wrong, told in one sentence that names the place and the mend."""


class InputError(ValueError):
    """Something a person typed, pasted or passed cannot be used; the message says how to mend it."""


class UnreachableError(InputError):
    """Nothing connects two devices that must talk; the message names them."""


class StalledError(RuntimeError):
    """A collective can never finish; the message names the waiting transfers and the dead link."""

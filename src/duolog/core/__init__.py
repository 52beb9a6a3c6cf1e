"""Decision core: pure state machines that are told the time and do no IO."""

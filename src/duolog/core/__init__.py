"""Decisions: pure state machines that are told the time and touch nothing."""

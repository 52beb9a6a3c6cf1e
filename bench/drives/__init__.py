"""The ways to drive a server of topics: one module per protocol, all of them with clients in C."""

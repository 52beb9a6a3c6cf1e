"""A whole cluster on this machine: an etcd and some nodes, as child processes."""

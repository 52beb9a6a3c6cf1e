"""The async shell: performs what core decides, on the log, one owner per partition."""

"""Topics as data frames: what is read is planned on the driver and read in the tasks."""

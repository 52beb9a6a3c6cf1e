"""A Spark application to be measured, and the sources that the connector is held against."""

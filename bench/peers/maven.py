"""Servers for the JVM, with all that they need, fetched by Maven."""

import shutil
import subprocess
from pathlib import Path

from bench.compiler import BUILD

FETCH_SECONDS_MAX = 600
_PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId>
  <artifactId>{artifact}</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def missing(coordinates: str) -> str | None:
    """Why there are no jars, after an attempt to fetch them; None when they are there."""
    for program in ("java", "mvn"):
        if not shutil.which(program):
            return f"{program} is not installed"
    directory = jars(coordinates)
    if directory.exists():
        return None
    group, artifact, version = coordinates.split(":")
    staged = BUILD / f"{directory.name}.new"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    project = staged / "pom.xml"
    project.write_text(_PROJECT.format(group=group, artifact=artifact, version=version))
    argv = ["mvn", "-q", "-B", "-f", str(project), "dependency:copy-dependencies"]
    try:
        subprocess.run(
            [*argv, f"-DoutputDirectory={staged}"],
            check=True,
            capture_output=True,
            timeout=FETCH_SECONDS_MAX,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return f"Maven could not fetch {coordinates}"
    staged.rename(directory)
    return None


def jars(coordinates: str) -> Path:
    return BUILD / coordinates.replace(":", "-")

"""Spark in another part of the world: the locale and time zone of its JVM, and the session's time zone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timezone

import yaml
from pyspark.sql import SparkSession

from tests.support.project import Project

#: Locale and time zone: a dotless i, digits that are not ASCII, and where most tests run.
PLACES = [("tr-TR", "Asia/Tokyo"), ("ar-EG-u-nu-arab", "America/New_York"), ("en-US", "UTC")]


@contextmanager
def at(spark: SparkSession, place: tuple[str, str]) -> Iterator[None]:
    """The session as it is at a place, and afterwards as it was."""
    tag, zone = place
    java = spark.sparkContext._jvm.java.util  # type: ignore[union-attr]
    locale, clock = java.Locale.getDefault(), java.TimeZone.getDefault()
    session_zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    java.Locale.setDefault(java.Locale.forLanguageTag(tag))
    java.TimeZone.setDefault(java.TimeZone.getTimeZone(zone))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        java.Locale.setDefault(locale)
        java.TimeZone.setDefault(clock)
        spark.conf.set("spark.sql.session.timeZone", session_zone)


@contextmanager
def on_another_day() -> Iterator[list[date]]:
    """This process where it is another day than in UTC. Afterwards the list has UTC's day before and after."""
    now = datetime.now(timezone.utc)
    days, before = [now.date()], os.environ.get("TZ", "UTC")
    os.environ["TZ"] = "Etc/GMT+12" if now.hour < 12 else "Etc/GMT-14"
    time.tzset()
    try:
        yield days
    finally:
        os.environ["TZ"] = before
        time.tzset()
        days.append(datetime.now(timezone.utc).date())


def write_zone(project: Project, zone: str) -> None:
    """dbt's session applies the profile's settings to the session, the zone too."""
    file = project.folder / "profiles.yml"
    profiles = yaml.safe_load(file.read_text())
    profiles["consumer"]["outputs"]["test"]["server_side_parameters"]["spark.sql.session.timeZone"] = zone
    file.write_text(yaml.safe_dump(profiles))


@contextmanager
def in_zone(project: Project, zone: str) -> Iterator[None]:
    """dbt and the session in a time zone, and afterwards in the one before."""
    before = str(project.spark.conf.get("spark.sql.session.timeZone"))
    write_zone(project, zone)
    try:
        yield
    finally:
        write_zone(project, before)
        project.spark.conf.set("spark.sql.session.timeZone", before)

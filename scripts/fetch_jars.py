"""Puts Delta's JARs into DIR/delta-jars, where a local session finds them: python fetch_jars.py DIR

Spark resolves them itself while a session starts, so this also shows that Java, Spark and Delta fit together. What they
need, and Spark brings in versions of its own, is left out: 80 of 90 MB.
"""

from __future__ import annotations

import shutil
import ssl
import sys
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

OWN = ("io.delta_", "io.unitycatalog_")  # Ivy writes the organisation before the name
PASSWORD = "changeit"  # Java's customary one; the store holds public certificates only


def fetch(folder: Path) -> None:
    """The JARs appear all at once, at the very end: a broken download leaves no half of them."""
    ivy = folder / "ivy"
    ivy.mkdir(exist_ok=True)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars.ivy", str(ivy)).config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.extraJavaOptions", trust_options(ivy / "trusted.p12"))
    configure_spark_with_delta_pip(builder).getOrCreate().stop()
    for jar in (ivy / "jars").glob("*.jar"):
        if not jar.name.startswith(OWN):
            jar.unlink()
    shutil.rmtree(folder / "delta-jars", ignore_errors=True)
    (ivy / "jars").rename(folder / "delta-jars")
    shutil.rmtree(ivy)


def trust_options(store: Path) -> str:
    """Java options that make it trust what this machine trusts: a Java from a wheel brings a list of its own."""
    certificates = [pkcs12.PKCS12Certificate(one, b"%d" % n) for n, one in enumerate(trusted_certificates())]
    if not certificates:
        return ""
    store.write_bytes(pkcs12.serialize_java_truststore(certificates, BestAvailableEncryption(PASSWORD.encode())))
    return f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword={PASSWORD}"


def trusted_certificates() -> list[x509.Certificate]:
    """The machine's certificate authorities, from OpenSSL's bundle or else its folder."""
    paths = ssl.get_default_verify_paths()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for file in [paths.cafile] if paths.cafile else Path(paths.capath or "/nonexistent").glob("*.[0-9]"):
        context.load_verify_locations(file)
    certificates = []
    for encoded in context.get_ca_certs(binary_form=True):
        with suppress(ValueError):  # old authorities break rules that the parser has learned to enforce
            certificates.append(x509.load_der_x509_certificate(encoded))
    return certificates


if __name__ == "__main__":
    fetch(Path(sys.argv[1]).resolve())

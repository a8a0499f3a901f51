"""Puts Delta's JARs into DIR/delta-jars, where a local session finds them.

python fetch_jars.py DIR [--recorded FILE] [--record]

Spark resolves them, in a JVM without a session: a session would ask them for classes. What they need, and Spark brings
in versions of its own, is left out: 80 of 90 MB. JARs whose SHA-256 is not the one in delta-jars.sha256 or another FILE
(in the format of sha256sum) are refused; --record, for another version of Delta, writes that file.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import ssl
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from delta import configure_spark_with_delta_pip
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

OWN = ("io.delta_", "io.unitycatalog_")  # Ivy writes the organisation before the name
RECORDED = Path(__file__).with_name("delta-jars.sha256")
PASSWORD = "changeit"  # Java's customary one; the store holds public certificates only


def fetch(folder: Path, recorded: Path = RECORDED, record: bool = False) -> None:
    """The JARs appear all at once, at the very end: neither a broken download nor a refused one leaves any of them."""
    ivy = folder / "ivy"
    ivy.mkdir(exist_ok=True)
    builder = SparkSession.builder.config("spark.jars.ivy", str(ivy))
    builder = builder.config("spark.driver.extraJavaOptions", trust_options(ivy / "trusted.p12"))
    _resolve(configure_spark_with_delta_pip(builder))
    for jar in (ivy / "jars").glob("*.jar"):
        if not jar.name.startswith(OWN):
            jar.unlink()
    if record:
        recorded.write_text(digests(ivy / "jars"))
    refuse_others(ivy / "jars", recorded)
    shutil.rmtree(folder / "delta-jars", ignore_errors=True)
    (ivy / "jars").rename(folder / "delta-jars")
    shutil.rmtree(ivy)


def _resolve(builder: SparkSession.Builder) -> None:
    """Start a JVM with the builder's settings, and end it."""
    conf = SparkConf(loadDefaults=False).setAll(list(builder._options.items()))
    gateway = launch_gateway(conf)
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def digests(folder: Path) -> str:
    """One line per JAR, by name: SHA-256, two blanks, name."""
    jars = sorted(folder.glob("*.jar"), key=lambda jar: jar.name)
    return "".join(f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}\n" for jar in jars)


def refuse_others(folder: Path, recorded: Path = RECORDED) -> None:
    """Raises SystemExit unless the folder holds exactly the recorded JARs, byte for byte."""
    found, wanted = set(digests(folder).splitlines()), set(recorded.read_text().splitlines())
    if found != wanted:
        names = sorted({line.split()[1] for line in found ^ wanted})
        raise SystemExit(f"these JARs are not the ones that {recorded.name} names, by SHA-256: {', '.join(names)}")


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recorded", type=Path, default=RECORDED)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    fetch(arguments.folder.resolve(), arguments.recorded, arguments.record)

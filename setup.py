"""The wheel: metadata, dependencies and the commands. Settings of the tools are in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent
VERSION = (HERE / "src/mirrorlake/__init__.py").read_text(encoding="utf-8").split('__version__ = "')[1].split('"')[0]

setup(
    name="mirrorlake",
    version=VERSION,
    description="Mirror MySQL and MariaDB binlogs into Delta Lake tables",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="mirrorlake maintainers",
    license_expression="Apache-2.0",
    license_files=["LICENSE"],
    keywords=["mysql", "mariadb", "binlog", "cdc", "change data capture", "replication", "delta lake", "spark"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: System Administrators",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3 :: Only",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Topic :: Database",
        "Topic :: System :: Archiving :: Mirroring",
        "Typing :: Typed",
    ],
    python_requires=">=3.10",
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"mirrorlake": ["py.typed", "demo_data/**/*"]},
    entry_points={
        "console_scripts": [
            "mirrorlake = mirrorlake.cli:main",
            "mirrorlake-task = mirrorlake.task:main",
            "mirrorlake-operate = mirrorlake.operate:main",
        ]
    },
    install_requires=[
        "pandas>=2.2,<3",  # pyspark.testing cannot compare frames with pandas 3
        "pyarrow>=18,<27",
        "numpy>=1.26,<3",
        "numba>=0.62.1,<0.69",  # core/kernels/pieces.py uses its inner parts; tried with 0.62.1 and 0.68
        "PyMySQL[rsa]>=1.2.4,<1.3",  # what speaks with servers uses its inner calls; before 1.1.1: CVE-2024-36039
        "PyNaCl>=1.5,<2",  # for PyMySQL's client_ed25519
        "cryptography>=42,<51",
        "typer>=0.15.4,<1",
        "rich>=13,<16",
        "pydantic>=2.7,<3",
        "tenacity>=8.3,<10",
        "PyYAML>=6.0.1,<7",
    ],
    # dbx is no extra: it needs pydantic 1, so an environment of its own: dbx==0.8.19 "click<8.2" "setuptools<82".
    extras_require={
        # For a session on one's own machine. On Databricks both come with the runtime, and a wheel that required them
        # would replace the runtime's PySpark. Delta 4.4.0 is published for Spark 4.2; later pairs do not resolve.
        "spark": ["pyspark==4.2.0", "delta-spark==4.4.0"],
        "connect": ["pyspark[connect]==4.2.0"],  # for SPARK_REMOTE
        # `mirrorlake views --duckdb`; the extension is made for one version of DuckDB. Tried with 1.5.5.
        "duckdb": ["duckdb>=1.5.5,<1.6", "duckdb-extension-delta>=1.5.5,<1.6"],
        "databricks": ["databricks-sdk==0.156.0"],
        "dev": [
            "pytest>=8.2,<9.2",  # with 9.2 the groups of pytest-xdist 3.8 have no effect
            "pytest-timeout>=2.3,<3",
            "pytest-xdist>=3.6,<4",
            "chispa>=0.10,<1",
            "hypothesis>=6.100,<7",
            "ruff>=0.17,<0.18",
            "mypy>=2.4,<3",
            "matplotlib>=3.9,<4",
            "xxhash>=3.4,<5",
            "deltalake>=1.6,<2",  # with polars: readers of mirrors, as docs/read-mirrors.md says
            "polars>=1.30,<3",  # 2.0 and later need Python 3.11
            "databricks-bundles>=1.22,<2",  # models of the bundle's resources; it requires nothing
        ],
    },
)

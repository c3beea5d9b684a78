#!/usr/bin/env python3
"""Writes the licences and the bill of materials (CycloneDX 1.5, JSON) of what a binary of xdscope contains.

To try it, at the root of the source tree; no network is used:

    cargo metadata --locked --offline --format-version 1 --filter-platform x86_64-unknown-linux-gnu > metadata.json
    examples/release/dependencies.py metadata.json licences.txt bill.cdx.json

Packages that only a build needs (build scripts, procedural macros) have the scope "excluded".
"""

import hashlib
import json
import os
import re
import sys
import time
import uuid
from pathlib import Path

TEXT_FILES = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?", re.IGNORECASE)


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def used_packages(metadata):
    """Returns the ids of the packages in the binary, and those of the packages that only its build needs."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found = {True: set(), False: set()}
    open_ends = [(root, True)]
    while open_ends:
        package, is_linked = open_ends.pop()
        is_linked = is_linked and not is_macro(packages[package])
        if package in found[is_linked]:
            continue
        found[is_linked].add(package)
        for dependency in nodes[package]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if None in kinds:
                open_ends.append((dependency["pkg"], is_linked))
            if "build" in kinds:
                open_ends.append((dependency["pkg"], False))
    return root, found[True], found[False] - found[True]


def expression(package):
    """Returns the licence as SPDX expression; old manifests have a slash in place of OR."""
    return re.sub(r"\s*/\s*", " OR ", package["license"] or "")


def texts(package):
    """Returns the files with licences of a package: their names and texts."""
    folder = Path(package["manifest_path"]).parent
    files = {path for path in folder.iterdir() if path.is_file() and TEXT_FILES.fullmatch(path.name)}
    if package["license_file"]:
        files.add(folder / package["license_file"])
    return [(path.name, path.read_text(errors="replace").strip()) for path in sorted(files) if path.is_file()]


def licences(packages, root, built):
    """Returns a list of all packages of others with their licences, then each text once."""
    packages = [package for package in packages if package["source"]]
    lines = [
        f"Licences of the {len(packages)} packages from which {root['name']} {root['version']} is built.",
        "The standard library of Rust (MIT OR Apache-2.0) is part of it too, and of a static binary musl (MIT).",
        "",
    ]
    by_text = {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        licence = expression(package) or f"see {package['license_file']}"
        notes = [" (build only)"] if package["id"] in built else []
        own = texts(package)
        if not own:
            notes.append(" (the package has no file with the text)")
        lines.append(f"{name}: {licence}{''.join(notes)}")
        for file, text in own:
            by_text.setdefault(text, []).append(f"{name} ({file})")
    for text, owners in by_text.items():
        lines += ["", "=" * 80, *owners, "-" * 80, text]
    return "\n".join(lines) + "\n"


def component(package, checksums, built):
    identity = f"pkg:cargo/{package['name']}@{package['version']}"
    made = {"type": "library", "bom-ref": identity, "name": package["name"], "version": package["version"]}
    made["scope"] = "excluded" if package["id"] in built else "required"
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["license"]:
        made["licenses"] = [{"expression": expression(package)}]
    made["purl"] = identity
    if package["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def bill(metadata, packages, root, built):
    """Returns the bill of materials. It depends on its input only, so that two builds can be compared."""
    lock = Path(metadata["workspace_root"], "Cargo.lock").read_text()
    entry = re.compile(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"')
    checksums = {(name, version): checksum for name, version, checksum in entry.findall(lock)}
    ids = {package["id"]: f"pkg:cargo/{package['name']}@{package['version']}" for package in [root, *packages]}
    dependencies = []
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in ids:
            needed = {dependency["pkg"] for dependency in node["deps"]
                      if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])}
            dependencies.append({"ref": ids[node["id"]], "dependsOn": sorted(ids[one] for one in needed if one in ids)})
    product = component(root, checksums, built)
    product["type"] = "application"
    del product["scope"]
    content = {
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", 0)))),
            "component": product,
        },
        "components": [component(package, checksums, built) for package in packages],
        "dependencies": sorted(dependencies, key=lambda one: one["ref"]),
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    serial = uuid.uuid5(uuid.NAMESPACE_OID, digest)
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1, **content}


def main(metadata_file, licences_file, bill_file):
    metadata = json.loads(Path(metadata_file).read_text())
    by_id = {package["id"]: package for package in metadata["packages"]}
    root, linked, built = used_packages(metadata)
    packages = sorted((by_id[one] for one in (linked | built) - {root}), key=lambda one: (one["name"], one["version"]))
    Path(licences_file).write_text(licences(packages, by_id[root], built))
    Path(bill_file).write_text(json.dumps(bill(metadata, packages, by_id[root], built), indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: dependencies.py METADATA LICENCES BILL")
    main(*sys.argv[1:])

/**
 * A software bill of materials in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/). The same packages give the same bytes:
 * its serial number is made from its content, and its time is given.
 */
import { createHash } from "node:crypto";
import type { LockedPackage } from "./locked-packages.ts";

export type Subject = {
  /** What the bill is of: `sekisho`, or a bundle such as `sekisho-worker`. */
  name: string;
  version: string;
  description: string;
};

export type Bill = ReturnType<typeof billOfMaterials>;

export function billOfMaterials({
  subject,
  packages,
  roots,
  at,
}: {
  subject: Subject;
  /** By lock path. What one needs and is not among them is left out: of a bundle, esbuild has left it out too. */
  packages: ReadonlyMap<string, LockedPackage>;
  /** Paths of what the subject itself asks for. */
  roots: readonly string[];
  /** When, as RFC 3339 writes it. Undefined: the bill does not say. */
  at: string | undefined;
}) {
  const ref = `${subject.name}@${subject.version}`;
  const refsOf = (paths: readonly string[]) => {
    const found = paths.flatMap((path) => packages.get(path) ?? []);
    return [...new Set(found.map(purlOf))].sort();
  };
  const byPurl = new Map([...packages.values()].map((one) => [purlOf(one), one]));
  const refs = [...byPurl.keys()].sort();
  const needed = new Map<string, readonly string[]>(
    refs.map((purl) => {
      const copies = [...packages.values()].filter((one) => purlOf(one) === purl);
      return [purl, refsOf(copies.flatMap(({ needs }) => needs)).filter((other) => other !== purl)];
    }),
  );
  const others = new Set([...needed.values()].flat());
  const top = [...new Set([...refsOf(roots), ...refs.filter((purl) => !others.has(purl))])].sort();
  const content = {
    metadata: {
      ...(at !== undefined && { timestamp: at }),
      component: { type: "application", "bom-ref": ref, ...subject },
    },
    components: refs.flatMap((purl) => byPurl.get(purl) ?? []).map(componentOf),
    dependencies: [{ ref, dependsOn: top }, ...[...needed].map(([purl, dependsOn]) => ({ ref: purl, dependsOn }))],
  };
  const serialNumber = serialNumberOf(JSON.stringify(content));
  return { bomFormat: "CycloneDX", specVersion: "1.6", serialNumber, version: 1, ...content };
}

function componentOf(locked: LockedPackage) {
  const { version, license, integrity, isOptional } = locked;
  const [group, name] = locked.name.startsWith("@") ? locked.name.split("/") : [undefined, locked.name];
  return {
    type: "library",
    "bom-ref": purlOf(locked),
    ...(group !== undefined && { group }),
    name: name ?? locked.name,
    version,
    scope: isOptional ? "optional" : "required",
    ...(integrity !== undefined && { hashes: integrity.split(" ").map(hashOf) }),
    ...(license !== undefined && { licenses: [licenseOf(license)] }),
    purl: purlOf(locked),
  };
}

/** As `pkg:npm` is defined: a scope is a namespace, with its `@` percent-encoded. */
function purlOf({ name, version }: LockedPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function licenseOf(license: string): { license: { id: string } } | { expression: string } {
  return /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license };
}

const algorithms: Readonly<Record<string, string>> = {
  sha512: "SHA-512",
  sha384: "SHA-384",
  sha256: "SHA-256",
  sha1: "SHA-1",
};

function hashOf(integrity: string): { alg: string; content: string } {
  const [algorithm = "", base64 = ""] = integrity.split(/-(.*)/s);
  const alg = algorithms[algorithm];
  if (alg === undefined) throw new Error(`package-lock.json has a hash of an unknown kind: ${algorithm}.`);
  return { alg, content: Buffer.from(base64, "base64").toString("hex") };
}

/** A UUID of version 8, whose bits are the maker's own (RFC 9562, section 5.8). */
function serialNumberOf(content: string): string {
  const hex = createHash("sha256").update(content).digest("hex");
  const variant = "89ab"[Number.parseInt(hex.slice(16, 17), 16) % 4];
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return `urn:uuid:${groups.join("-")}`;
}

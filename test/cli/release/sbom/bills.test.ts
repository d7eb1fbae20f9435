/** The bills of materials of this project: their form, what they name, and that they are the same each time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../../lambdas/shared/config/load.ts";
import type { Bundle } from "../../../../lib/cdk/bundle/bundle.ts";
import { bundleNames } from "../../../../lib/cdk/bundle/entry.ts";
import {
  createBill,
  formatBill,
  listBundleContents,
  listProjectContents,
  readLockFile,
  toKebabCase,
} from "../../../../lib/cli/release/sbom/bills.ts";
import type { Bill } from "../../../../lib/cli/release/sbom/cyclonedx.ts";
import { billSchema } from "./bill.ts";

const root = join(import.meta.dirname, "../../../..");
const lock = readLockFile(root);
const config = parseConfig({ json: {} });
const at = "2026-01-31T12:00:00Z";

const contents = bundleNames.map((name) => listBundleContents({ lock, name, config, configDirectory: root }));
const all = [listProjectContents(lock), ...contents].map((one) => [
  one.subject.name,
  createBill({ contents: one, lock, at }),
]);
const bills = new Map(all as [string, Bill][]);

describe.each([...bills])("the bill of %s", (_name, bill) => {
  it("has the form of CycloneDX 1.6, with a hash and a license of each package", () => {
    expect(billSchema.safeParse(bill).error?.issues ?? []).toEqual([]);
  });

  it("names each package once, and everything that it refers to", () => {
    const refs = [bill.metadata.component["bom-ref"], ...bill.components.map((one) => one["bom-ref"])];
    expect(new Set(refs).size).toBe(refs.length);
    expect(bill.dependencies.map(({ ref }) => ref)).toEqual(refs);
    expect(bill.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.includes(ref))).toEqual([]);
  });

  it("leads from its subject to each package", () => {
    const found = new Set<string>();
    const queue = [bill.metadata.component["bom-ref"]];
    for (let ref = queue.pop(); ref !== undefined; ref = queue.pop()) {
      if (found.has(ref)) continue;
      found.add(ref);
      queue.push(...(bill.dependencies.find((one) => one.ref === ref)?.dependsOn ?? []));
    }
    expect(found.size).toBe(bill.components.length + 1);
  });

  it("names no address", () => {
    expect(formatBill(bill)).not.toMatch(/https?:|registry|\/work\/|node_modules/);
  });
});

describe("the bills", () => {
  it("come out the same each time, but for another time", () => {
    const container = () => listBundleContents({ lock, name: "container", config, configDirectory: root });
    const again = createBill({ contents: container(), lock, at });
    expect(formatBill(again)).toBe(formatBill(bills.get("sekisho-container") ?? again));
  });

  it("have numbers of their own", () => {
    const numbers = [...bills.values()].map(({ serialNumber }) => serialNumber);
    expect(new Set(numbers).size).toBe(numbers.length);
    const later = createBill({ contents: listProjectContents(lock), lock, at: "2026-02-01T12:00:00Z" });
    expect(numbers).not.toContain(later.serialNumber);
  });

  it("hold all that package.json asks for to run, and no tool of the development", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const names = namesOf(bills.get("sekisho"));
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(names.filter((name) => ["jest", "esbuild", "typescript", "aws-cdk-lib"].includes(name))).toEqual([]);
  });

  it.each(contents)(
    "name what the code of $subject.name comes from, in the installed version",
    ({ subject, bundle }) => {
      const versions = new Set(manifestsOf(bundle.metafile).map((one) => `${one.name}@${one.version}`));
      const { components = [] } = bills.get(subject.name) ?? {};
      const named = components.map(
        ({ group, name, version }) => `${group === undefined ? "" : `${group}/`}${name}@${version}`,
      );
      expect(named.sort()).toEqual([...versions].sort());
    },
  );

  it("are named as files are", () => {
    expect(bundleNames.map(toKebabCase).filter((name) => !/^[a-z-]+$/.test(name))).toEqual([]);
  });
});

function namesOf(bill: Bill | undefined): string[] {
  return bill?.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`)) ?? [];
}

/** The package.json next above each file of which something is left, and which has a name and a version. */
function manifestsOf(metafile: Bundle["metafile"]): { name: string; version: string }[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(([file, { bytesInOutput }]) => file.includes("node_modules") && bytesInOutput > 0);
  return files.map(([file]) => {
    for (let folder = join(root, file, ".."); folder !== root; folder = join(folder, "..")) {
      const manifest = readManifest(join(folder, "package.json"));
      if (manifest.name !== undefined && manifest.version !== undefined) return { ...manifest } as never;
    }
    throw new Error(`${file} belongs to no package`);
  });
}

const manifests = new Map<string, { name?: string; version?: string }>();
function readManifest(path: string): { name?: string; version?: string } {
  const known = manifests.get(path);
  if (known !== undefined) return known;
  let manifest = {};
  try {
    manifest = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // A folder within a package.
  }
  manifests.set(path, manifest);
  return manifest;
}

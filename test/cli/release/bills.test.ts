/** The bills of materials of the project and of each bundle: what they list, their licenses, and that they are the same each time. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { stop } from "esbuild";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import type { Bundle } from "../../../lib/cdk/bundle/bundle.ts";
import { bundleNames } from "../../../lib/cdk/bundle/entry.ts";
import { bundledPackages } from "../../../lib/cdk/bundle/notices.ts";
import {
  allowedLicenses,
  type Bill,
  bundleContents,
  formatBill,
  licenseProblems,
  projectContents,
  readInstalled,
} from "../../../lib/cli/release/bills.ts";

afterAll(stop);
const root = join(import.meta.dirname, "../../..");
const installed = readInstalled(root);
const config = parseConfig({ json: {} });
const at = "2026-01-31T12:00:00Z";
const bundles = bundleNames.map((name) =>
  bundleContents({ installed, name, config, configDirectory: root }),
);
const all = [projectContents(installed), ...bundles].map((contents) => ({
  name: contents.name,
  text: formatBill({ installed, contents, at }),
}));
const bills = all.map(({ name, text }) => ({ name, text, bill: JSON.parse(text) as Bill }));

describe.each(bills)("the bill of $name", ({ name, text, bill }) => {
  it("is CycloneDX of its name and time, with a version, a hash and a license of each package", () => {
    expect(bill).toMatchObject({
      bomFormat: "CycloneDX",
      metadata: { timestamp: at, component: { name } },
    });
    expect(bill.components.length).toBeGreaterThan(0);
    for (const component of bill.components) {
      const hashes = [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }];
      const purl = expect.stringMatching(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d[\w.+-]*$/);
      expect(component).toMatchObject({
        version: expect.any(String),
        purl,
        hashes,
        licenses: [expect.anything()],
      });
    }
  });

  it("names each package once, and refers to nothing else", () => {
    const refs = [
      bill.metadata.component["bom-ref"],
      ...bill.components.map((one) => one["bom-ref"]),
    ];
    expect(new Set(refs).size).toBe(refs.length);
    const used = bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(used.filter((ref) => !refs.includes(ref))).toEqual([]);
  });

  it("names no address and no path of this machine", () => {
    expect(text).not.toMatch(/https?:(?!\/\/cyclonedx\.org)|registry|node_modules/);
    expect(text).not.toContain(root);
  });
});

describe("the bills", () => {
  it("are the same each time", () => {
    const again = formatBill({
      installed: readInstalled(root),
      contents: projectContents(installed),
      at,
    });
    expect(again).toBe(all[0]?.text);
  });

  it("list all that package.json asks for to run, and no development tool", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const names = bills[0]?.bill.components.map(({ name }) => name) ?? [];
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(
      names.filter((name) => ["jest", "esbuild", "typescript", "aws-cdk-lib"].includes(name)),
    ).toEqual([]);
  });

  it.each(bundles)(
    "list what the code of $name comes from, in the installed version",
    ({ name, bundle }) => {
      const { components = [] } = bills.find((one) => one.name === name)?.bill ?? {};
      const listed = components.map((one) => `${one.name}@${one.version}`);
      expect(listed.sort()).toEqual([...new Set(manifestsOf(bundle.metafile))].sort());
    },
  );
});

/** Name and version of the package.json above each file of which something is left. */
function manifestsOf(metafile: Bundle["metafile"]): string[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(
    ([file, { bytesInOutput }]) => file.includes("node_modules") && bytesInOutput > 0,
  );
  return files.map(([file]) => {
    for (let folder = join(root, file, ".."); folder !== root; folder = join(folder, "..")) {
      const path = join(folder, "package.json");
      const { name, version } = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
      if (name !== undefined && version !== undefined) return `${name}@${version}`;
    }
    throw new Error(`${file} belongs to no package`);
  });
}

it("the packages of a bundle are those of which something is left, wherever node_modules is", () => {
  const inputs = {
    "lambdas/a.ts": { bytesInOutput: 10 },
    "node_modules/zod/index.js": { bytesInOutput: 10 },
    "node_modules/zod/v4/core.js": { bytesInOutput: 10 },
    "../elsewhere/node_modules/@s/c/node_modules/d/lib/node.js": { bytesInOutput: 1 },
    "node_modules/gone/index.js": { bytesInOutput: 0 },
  };
  const packages = bundledPackages({ outputs: { "index.js": { inputs } } });
  expect(packages).toEqual(["node_modules/@s/c/node_modules/d", "node_modules/zod"]);
});

describe("licenses", () => {
  const withLicense = (licenses: unknown) =>
    [{ "bom-ref": "", name: "a", version: "1.0.0", licenses }] as never;

  it.each([
    ["an allowed one", [{ license: { id: "MIT" } }], []],
    ["another one", [{ license: { id: "GPL-3.0-only" } }], ["a@1.0.0 is under GPL-3.0-only"]],
    [
      "one of two",
      [{ license: { id: "MIT" } }, { license: { id: "GPL-3.0-only" } }],
      ["is under MIT, GPL-3.0-only"],
    ],
    ["a choice", [{ expression: "MIT OR GPL-3.0-only" }], ["a@1.0.0 is under MIT OR GPL-3.0-only"]],
    ["one in words", [{}], ["a@1.0.0 is under "]],
    ["none", undefined, ["a@1.0.0 has no license"]],
    ["an empty list", [], ["a@1.0.0 has no license"]],
  ])("of a package with %s", (_name, licenses, said) => {
    expect(licenseProblems(withLicense(licenses))).toEqual(
      said.map((text) => expect.stringContaining(text)),
    );
  });

  it("keep a package out of every bill", () => {
    const { components } = installed.bill;
    const spoilt = {
      ...installed,
      bill: { ...installed.bill, components: components.map(withoutLicense) },
    };
    const contents = projectContents(installed);
    expect(() => formatBill({ installed: spoilt, contents, at })).toThrow("has no license");
  });

  it("are listed in docs/reference/dependencies.md", () => {
    const page = readFileSync(join(root, "docs/reference/dependencies.md"), "utf8");
    const [, section = ""] = page.split(/^## Licenses$/m);
    const listed = [...section.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    expect(listed.sort()).toEqual([...allowedLicenses].sort());
  });
});

function withoutLicense({ licenses: _licenses, ...component }: Bill["components"][number]) {
  return component;
}

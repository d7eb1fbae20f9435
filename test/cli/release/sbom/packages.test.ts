import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { bundledPackages, createBill } from "../../../../lib/cli/release/sbom/bills.ts";
import { allowedLicenses, isAllowed } from "../../../../lib/cli/release/sbom/licenses.ts";
import { readLock } from "../../../../lib/cli/release/sbom/locked-packages.ts";

const integrity = `sha512-${Buffer.alloc(64).toString("base64")}`;
const entry = (over: object = {}) => ({ version: "1.0.0", license: "MIT", integrity, ...over });
const lockWith = (packages: object) =>
  readLock({
    name: "x",
    version: "0.1.0",
    lockfileVersion: 3,
    packages: { "": { version: "0.1.0", dependencies: { a: "1", absent: "1" } }, ...packages },
  });

describe("the packages of a lock file", () => {
  it("find what they need as Node does: the nearest one above", () => {
    const { needs, packages } = lockWith({
      "node_modules/a": entry({ dependencies: { b: "2", "@s/c": "1" } }),
      "node_modules/a/node_modules/b": entry({ version: "2.0.0", dependencies: { "@s/c": "1", d: "1" } }),
      "node_modules/a/node_modules/b/node_modules/d": entry({ version: "4.0.0" }),
      "node_modules/b": entry({ dependencies: { d: "1" } }),
      "node_modules/d": entry(),
      "node_modules/@s/c": entry({ peerDependencies: { b: "1" }, optional: true }),
    });
    expect(needs).toEqual(["node_modules/a"]);
    expect(packages.get("node_modules/a")?.needs).toEqual(["node_modules/a/node_modules/b", "node_modules/@s/c"]);
    expect(packages.get("node_modules/a/node_modules/b")?.needs).toEqual([
      "node_modules/@s/c",
      "node_modules/a/node_modules/b/node_modules/d",
    ]);
    expect(packages.get("node_modules/b")?.needs).toEqual(["node_modules/d"]);
    const scoped = packages.get("node_modules/@s/c");
    expect(scoped).toMatchObject({ name: "@s/c", isOptional: true, isDev: false, needs: ["node_modules/b"] });
  });

  it("are refused from a lock of another form", () => {
    expect(() => readLock({ name: "x", version: "1.0.0", lockfileVersion: 1, dependencies: {} })).toThrow();
  });
});

describe("the packages of a bundle", () => {
  it("are those of which something is left, wherever node_modules is", () => {
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
});

describe("licenses", () => {
  it.each([
    ["MIT", true],
    ["(MIT OR Apache-2.0)", true],
    ["GPL-3.0-only OR MIT", true],
    ["MIT AND BSD-3-Clause", true],
    ["MIT AND GPL-3.0-only", false],
    ["GPL-3.0-only OR MIT AND ISC", true],
    ["(GPL-3.0-only OR MIT) AND LGPL-3.0-only", false],
    ["GPL-3.0-only", false],
    ["SEE LICENSE IN LICENSE.md", false],
    ["UNLICENSED", false],
    ["MIT OR", false],
    ["(MIT", false],
    ["MIT)", false],
    ["MIT WITH Something", false],
    ["", false],
  ])("%j may be used: %p", (expression, allowed) => {
    expect(isAllowed(expression)).toBe(allowed);
  });

  it.each([
    ["another one", "GPL-3.0-only", "a@1.0.0 is under GPL-3.0-only"],
    ["none", undefined, "a@1.0.0 has no license"],
  ])("a package with %s is in no bill", (_name, license, said) => {
    const lock = lockWith({ "node_modules/a": entry({ license }) });
    const contents = { subject: { name: "x", version: "0.1.0", description: "" }, packages: lock.packages };
    expect(() => createBill({ contents, lock, at: undefined })).toThrow(said);
  });

  it("are listed in docs/dependencies.md", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/dependencies.md"), "utf8");
    const [, section = ""] = page.split(/^## Licenses$/m);
    const [, list = ""] =
      /:([\s\S]+?)\./.exec(section.replaceAll(/\d\.\d/g, (version) => version.replace(".", "~"))) ?? [];
    const listed = [...list.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name.replace("~", "."));
    expect(listed.sort()).toEqual([...allowedLicenses].sort());
  });
});

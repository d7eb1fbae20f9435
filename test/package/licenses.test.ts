/** The licenses of all packages that a release contains. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";

type Locked = { dev?: boolean; link?: boolean; license?: string };

const root = join(import.meta.dirname, "../..");
const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Record<string, Locked>;
};

/** By their SPDX names. All allow use, change and distribution, also within closed software. */
const allowed = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

it("uses only packages with licenses that docs/reference/dependencies.md lists", () => {
  const text = readFileSync(join(root, "docs/reference/dependencies.md"), "utf8");
  expect(text).toContain(allowed.map((name) => `\`${name}\``).join(", "));
  const usedNames = Object.entries(packages).filter(
    ([path, { dev, link }]) => path !== "" && !dev && !link,
  );
  expect(usedNames.length).toBeGreaterThan(50);
  const others = usedNames.filter(([, { license = "" }]) => !allowed.includes(license));
  expect(others.map(([path]) => path)).toEqual([]);
});

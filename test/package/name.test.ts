/** The package has one name, in package.json, in README.md and wherever it is imported. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { packageName } from "../../lib/cli/package-name.ts";
import { pages, textOf } from "../docs/pages.ts";

describe("the package's name", () => {
  it("is that of package.json", () => {
    const { name } = JSON.parse(readFileSync(join(__dirname, "../../package.json"), "utf8"));
    expect(name).toBe(packageName);
  });

  it("is the only one of its scope in the documents", () => {
    const scope = packageName.split("/")[0];
    const named = pages.flatMap(
      (page) => textOf(page).match(new RegExp(`${scope}/[\\w-]+`, "g")) ?? [],
    );
    expect(named.length).toBeGreaterThan(5);
    expect([...new Set(named)]).toEqual([packageName]);
  });
});

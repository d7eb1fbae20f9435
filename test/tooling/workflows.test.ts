/** The daily workflow runs scripts that exist. */
import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";

it("runs only scripts of package.json", () => {
  const [, list = ""] =
    /script: \[(.*)\]/.exec(readFileSync(".github/workflows/daily.yml", "utf8")) ?? [];
  const scripts = list.split(",").map((name) => name.replaceAll('"', "").trim());
  const knownNames = Object.keys(JSON.parse(readFileSync("package.json", "utf8")).scripts);
  expect(scripts).toContain("campaign");
  expect(knownNames).toEqual(expect.arrayContaining(scripts));
});

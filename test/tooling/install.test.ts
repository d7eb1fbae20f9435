/** The effects of an installation of the packages, and the packages that one for production leaves out. */
import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";

type Package = { dev?: boolean; devOptional?: boolean };
const { packages }: { packages: Record<string, Package> } = JSON.parse(readFileSync("package-lock.json", "utf8"));

it("runs no script of a package", () => {
  expect(readFileSync(".npmrc", "utf8").split("\n")).toContain("ignore-scripts=true");
});

it("leaves DynamoDB's test engine out where it is for production", () => {
  const engines = Object.entries(packages).filter(([path]) => path.includes("dynoxide"));
  expect(engines.map(([path, { dev }]) => [path, dev])).toEqual([["node_modules/@dynoxide/linux-x64", true]]);
});

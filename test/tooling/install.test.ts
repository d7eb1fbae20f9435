/** The effects of an installation of the packages, and the packages that one for production leaves out. */
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { folderOfTest } from "./cleanup.ts";

type Package = { dev?: boolean; devOptional?: boolean };
const { packages }: { packages: Record<string, Package> } = JSON.parse(
  readFileSync("package-lock.json", "utf8"),
);

it("disables the install scripts of packages", () => {
  expect(readFileSync(".npmrc", "utf8").split("\n")).toContain("ignore-scripts=true");
});

it("installs the test engine of DynamoDB for development only", () => {
  const engines = Object.entries(packages).filter(([path]) => path.includes("dynoxide"));
  expect(engines.map(([path, { dev }]) => [path, dev])).toEqual([
    ["node_modules/@dynoxide/linux-x64", true],
  ]);
});

it("prints no warning if npm itself runs on an older Node than the packages require", () => {
  const folder = folderOfTest();
  const root = { name: "project", version: "1.0.0", engines: { node: ">=99" } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(root));
  const lock = { ...root, lockfileVersion: 3, requires: true, packages: { "": root } };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  // npm hands its settings to the programs that it starts, these tests among them.
  const env = { PATH: process.env.PATH ?? "", HOME: folder };
  const install = () =>
    spawnSync("npm", ["ci", "--offline"], { cwd: folder, encoding: "utf8", env });
  expect(install()).toMatchObject({ status: 0, stderr: expect.stringContaining("EBADENGINE") });
  copyFileSync(".npmrc", join(folder, ".npmrc"));
  expect(install()).toMatchObject({ status: 0, stderr: "" });
});

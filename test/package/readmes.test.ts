/** Each package has a page with an example that runs. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { packages } from "../boundaries/packages.ts";
import { hangMs } from "../tooling/hang.ts";

const root = join(import.meta.dirname, "../..");

it.each(packages)("runs the example of $name", ({ name, folder }) => {
  const page = readFileSync(join(root, folder, "README.md"), "utf8");
  expect(page.startsWith(`# ${name}\n`)).toBe(true);
  const examples = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  expect(examples).toHaveLength(1);
  const args = ["--input-type=module-typescript", "--eval", examples.join("")];
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    timeout: hangMs,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).not.toBe("");
});

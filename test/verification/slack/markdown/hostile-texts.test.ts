import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "@jest/globals";

it("texts of 15 to 100 KB that are made to keep a parser busy are shown like any other, and do not grow", () => {
  const run = () =>
    execFileSync(process.execPath, [join(import.meta.dirname, "children/hostile-texts.ts")], {
      stdio: "pipe",
      timeout: 60_000,
      killSignal: "SIGKILL",
    });
  expect(run).not.toThrow();
});

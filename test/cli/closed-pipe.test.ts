/** The command before a reader that has seen enough (`| head`). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "@jest/globals";

it("a command whose output nobody reads any more ends as it would have", async () => {
  const child = spawn(process.execPath, ["bin/sekisho.mjs", "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect(said).not.toContain("EPIPE");
  expect(code).toBe(0);
});

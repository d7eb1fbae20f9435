import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "@jest/globals";

it("kills a stopped process after its parent is gone", async () => {
  const reaper = spawn(process.execPath, [join(__dirname, "children/reap.cjs")], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  const [still, other] = [1, 2].map(() =>
    spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]),
  );
  if (still === undefined || other === undefined) throw new Error("unreachable");
  still.kill("SIGSTOP");
  reaper.stdin.write(`${still.pid}\n${other.pid}\n-${other.pid}\n`);
  const gone = once(still, "exit");
  const reaped = once(reaper, "exit");
  reaper.stdin.end();
  expect(await gone).toEqual([null, "SIGKILL"]);
  await reaped;
  expect(other.kill()).toBe(true);
  await once(other, "exit");
});

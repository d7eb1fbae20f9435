/** The wrapper that starts the pinned Node where the installed one is too old: it passes on how its child ends, and takes it along. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { expect, it } from "@jest/globals";
import { eventually } from "../execution/test-host.ts";
import { afterTest, folderOfTest } from "../tooling/cleanup.ts";
import { endWithUs } from "../tooling/reaper.ts";

/** What an old Node says of itself. The child that the wrapper starts does not load it. */
const asOldNode =
  "data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } })";

/** The wrapper around a program. Its pinned Node is the one of these tests. */
function startWrapped(program: string) {
  const folder = folderOfTest();
  mkdirSync(join(folder, "bin"));
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  symlinkSync(process.execPath, join(folder, "node_modules/.bin/node"));
  cpSync(
    join(import.meta.dirname, "../../bin/pinned-node.mjs"),
    join(folder, "bin/pinned-node.mjs"),
  );
  const source = `import { runPinned } from "./pinned-node.mjs";\nawait runPinned({ file: import.meta.url, start: async () => { ${program} } });\n`;
  writeFileSync(join(folder, "bin/entry.mjs"), source);
  const wrapper = spawn(process.execPath, ["--import", asOldNode, join(folder, "bin/entry.mjs")], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  endWithUs(wrapper);
  return wrapper;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const waiting = "console.log(process.pid); setInterval(() => {}, 1000); return 0;";

it.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const)(
  "ends its child when it gets %s",
  async (signal) => {
    const wrapper = startWrapped(waiting);
    const [data] = await once(wrapper.stdout, "data");
    const pid = Number(String(data));
    afterTest(() => isAlive(pid) && process.kill(pid, "SIGKILL"));
    expect(pid).not.toBe(wrapper.pid);
    expect(isAlive(pid)).toBe(true);
    wrapper.kill(signal);
    await eventually(() => !isAlive(pid));
  },
);

it("lets its child shut down on SIGTERM and exits with the code of the child", async () => {
  const wrapper = startWrapped(
    "return new Promise((end) => { process.on('SIGTERM', () => { console.log('saved'); clearInterval(timer); end(7); }); " +
      "const timer = setInterval(() => {}, 1000); console.log('ready'); });",
  );
  await once(wrapper.stdout, "data");
  wrapper.kill("SIGTERM");
  const [said, [code]] = await Promise.all([readText(wrapper.stdout), once(wrapper, "exit")]);
  expect({ said, code }).toEqual({ said: "saved\n", code: 7 });
});

it("passes no environment variable of its own to its child", async () => {
  const wrapper = startWrapped("console.log(JSON.stringify(Object.keys(process.env))); return 0;");
  expect(await readText(wrapper.stdout)).not.toContain("SEKISHO");
});

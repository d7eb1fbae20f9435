/** Both zones as processes of their own, which are killed and started again at once, as a supervisor would. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { workspace } from "../../../lib/local/fake-slack/workspace.ts";
import { freePort, type Process, sekisho } from "../../e2e/processes.ts";
import type { Zone } from "./plan.ts";
import type { Zones } from "./run-plan.ts";

/** Resolves when both are ready. `folder` gets their configuration, their stores and what the agent writes. */
export async function startZones({
  folder,
  slackApiUrl,
  secrets,
}: {
  folder: string;
  slackApiUrl: string;
  secrets: Record<string, string>;
}): Promise<Zones> {
  const ports: Record<Zone, number> = { verification: await freePort(), execution: await freePort() };
  const started: Process[] = [];
  const running = new Map<Zone, Process>();
  const problems: string[] = [];
  writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(configOf({ slackApiUrl })));

  function start(zone: Zone): Process {
    const process = sekisho({
      words: [zone, "--port", String(ports[zone])],
      cwd: folder,
      env: {
        ...secrets,
        SEKISHO_PORT: String(ports.verification),
        SEKISHO_EXECUTION_PORT: String(ports.execution),
        SEKISHO_LOG_LEVEL: "debug",
        NODE_COMPILE_CACHE: join(folder, "compiled"),
      },
    });
    started.push(process);
    running.set(zone, process);
    void process.exited.then(({ code, stderr }) => {
      if (running.get(zone) !== process) return;
      problems.push(`The ${zone} zone ended by itself with ${code}: ${stderr.trimEnd().split("\n").at(-1)}`);
      start(zone);
    });
    return process;
  }

  async function startBoth(): Promise<void> {
    const both = { verification: start("verification"), execution: start("execution") };
    await both.verification.prints("Verification zone:");
    await both.execution.prints("Execution zone:");
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const last = [...running.values()];
    running.clear();
    await Promise.all(last.map((process) => process.kill(signal)));
  }

  // What a process compiled is kept when it ends cleanly: each later start takes a third of the time.
  await startBoth();
  await end("SIGTERM");
  await startBoth();
  return {
    eventsUrl: `http://127.0.0.1:${ports.verification}/slack/events`,
    async kill(zone) {
      const process = running.get(zone);
      running.delete(zone);
      await process?.kill("SIGKILL");
      start(zone);
      return true;
    },
    output: () => started.map((process) => process.output()).join(""),
    problems,
    close: () => end("SIGKILL"),
  };
}

/** Times as short as the schema lets them be without a busy machine taking a healthy process for a dead one all the time. */
function configOf({ slackApiUrl }: { slackApiUrl: string }) {
  return {
    slack: { apiUrl: slackApiUrl },
    allowlist: [{ channel: workspace.channel.id }],
    destinations: { local: { transport: "https", deadlineMs: 30_000 } },
    execution: {
      agent: join(import.meta.dirname, "children/agent.ts"),
      syncBudgetMs: 500,
      leaseMs: 1500,
      lostAfterMs: 500,
    },
    limits: { callTimeoutMs: 1200, leaseMs: 2000, visibilityTimeoutMs: 2500, sweepAfterMs: 3000 },
  };
}

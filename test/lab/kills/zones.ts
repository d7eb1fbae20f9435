/** Both zones as processes on this machine, in a folder of their own, and what they wrote there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import {
  isInteraction,
  queueMessageSchema,
  toWakeSeq,
} from "@sekisho/verification/task/messages.ts";
import type { Process } from "../../e2e/processes.ts";
import { isReady, openZoneProcesses, type ZoneProcesses } from "../../world/zone-processes.ts";
import { retryDelaysMs } from "./people.ts";
import type { Zone } from "./plan.ts";
import type { Report } from "./report.ts";
import { type RunRequest, runPlan, type Zones } from "./run-plan.ts";
import { parseAgentLog, readStores, type StoredRecords } from "./stored-records.ts";

/** Runs a plan against the zones. Rejects when `signal` aborts. All processes end in any case. */
export async function runStory(request: RunRequest): Promise<Report> {
  const processes = await openZoneProcesses({ retryDelaysMs });
  try {
    processes.configure(config);
    const zones = await startZones(processes);
    const storedRecords = openSqliteRecords(processes);
    try {
      return await runPlan({ ...request, ...processes, zones, storedRecords });
    } finally {
      await storedRecords.close();
      zones.stop();
    }
  } finally {
    await processes.close();
  }
}

/** Resolves when both are ready. */
async function startZones({ start: startProcess, eventsUrl, output }: ZoneProcesses) {
  const running = new Map<Zone, Process>();
  const problems: string[] = [];

  function start(zone: Zone): Process {
    const process = startProcess(zone);
    running.set(zone, process);
    void process.exited.then(({ code, stderr }) => {
      if (running.get(zone) !== process) return;
      problems.push(
        `The ${zone} zone ended by itself with ${code}: ${stderr.trimEnd().split("\n").at(-1)}`,
      );
      start(zone);
    });
    return process;
  }

  async function startBoth(): Promise<Process[]> {
    const both = { verification: start("verification"), execution: start("execution") };
    await isReady("verification", both.verification);
    await isReady("execution", both.execution);
    return Object.values(both);
  }

  // The first start compiles.
  const compiling = await startBoth();
  running.clear();
  await Promise.all(compiling.map((process) => process.kill("SIGTERM")));
  await startBoth();
  return {
    eventsUrl,
    async kill(zone) {
      const process = running.get(zone);
      // On a busy machine a start takes longer than the time between two kills, and no zone would ever be up.
      if (process !== undefined) await isReady(zone, process);
      running.delete(zone);
      await process?.kill("SIGKILL");
      start(zone);
      return true;
    },
    output,
    problems,
    /** From now on, a process that ends is not replaced. */
    stop: () => running.clear(),
  } satisfies Zones & { stop(): void };
}

/** Times as short as the schema lets them be without a busy machine taking a healthy process for a dead one all the time. */
const config = {
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

function openSqliteRecords({ folder }: ZoneProcesses): StoredRecords {
  const fileOf = (zone: string) => join(folder, ".sekisho", `${zone}.db`);
  const verification = openSqliteEngine({ file: fileOf("verification") });
  const execution = openSqliteEngine({ file: fileOf("execution") });
  const database = openDatabase({ file: fileOf("verification") });
  const messages = database.prepare("SELECT queue, body FROM messages ORDER BY seq");
  const stores = readStores({
    verification: verification.taskStore,
    execution: execution.taskStore,
  });
  const agentFile = join(folder, "agent.log");
  return {
    ...stores,
    async queued() {
      const lines = (messages.all() as { queue: string; body: string }[]).map(
        async ({ queue, body }) => {
          const message = queueMessageSchema.parse(JSON.parse(body));
          if (isInteraction(message) || message.type === "vote_given")
            return [`a ${message.type} is in the queue ${queue}`];
          const task = await stores.record(message.requestId);
          const isSpent = task !== undefined && toWakeSeq({ message, task }) < task.wakeSeq;
          return isSpent
            ? []
            : [`${message.requestId}: a message ${message.type} is in the queue ${queue}`];
        },
      );
      return (await Promise.all(lines)).flat();
    },
    agentLog: () => (existsSync(agentFile) ? parseAgentLog(readFileSync(agentFile, "utf8")) : []),
    async close() {
      await verification.close();
      await execution.close();
      await database.close();
    },
  };
}

/** Both zones as processes on this machine, in a folder of their own, and what they wrote there. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import {
  isInteraction,
  queueMessageSchema,
  toWakeSeq,
} from "@sekisho/verification/task/messages.ts";
import { type Process, sekisho } from "../../e2e/processes.ts";
import { retryDelaysMs } from "./people.ts";
import type { Zone } from "./plan.ts";
import type { Report } from "./report.ts";
import { type RunRequest, runPlan, type Zones } from "./run-plan.ts";
import { parseAgentLog, readStores, type StoredRecords } from "./stored-records.ts";

const secrets = {
  SLACK_SIGNING_SECRET: "a-signing-secret-of-these-runs",
  SLACK_BOT_TOKEN: "xoxb-a-bot-token-of-these-runs",
};

/** Runs a plan against the zones. Rejects when `signal` aborts. All processes end in any case. */
export async function runStory(request: RunRequest): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-faults-"));
  const closers: (() => Promise<void>)[] = [
    async () => rmSync(folder, { recursive: true, force: true }),
  ];
  try {
    const { SLACK_SIGNING_SECRET: signingSecret, SLACK_BOT_TOKEN: botToken } = secrets;
    const fakeSlack = await startFakeSlack({ signingSecret, botToken, retryDelaysMs });
    closers.push(fakeSlack.close);
    const zones = await startZones({ folder, slackApiUrl: fakeSlack.apiUrl, secrets });
    closers.push(zones.close);
    const storedRecords = openSqliteRecords({ folder });
    closers.push(storedRecords.close);
    return await runPlan({ ...request, fakeSlack, zones, storedRecords, secrets });
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

const readyText: Record<Zone, string> = {
  verification: "Verification zone:",
  execution: "Execution zone:",
};

/** Resolves when both are ready. `folder` gets their configuration, their stores and what the agent writes. */
async function startZones({
  folder,
  slackApiUrl,
  secrets,
}: {
  folder: string;
  slackApiUrl: string;
  secrets: Record<string, string>;
}): Promise<Zones> {
  const ports: Record<Zone, number> = {
    verification: await freePort(),
    execution: await freePort(),
  };
  const started: Process[] = [];
  const running = new Map<Zone, Process>();
  const problems: string[] = [];
  writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(configOf({ slackApiUrl })));

  function start(zone: Zone): Process {
    const process = sekisho({
      args: [zone, "--port", String(ports[zone])],
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
      problems.push(
        `The ${zone} zone ended by itself with ${code}: ${stderr.trimEnd().split("\n").at(-1)}`,
      );
      start(zone);
    });
    return process;
  }

  async function startBoth(): Promise<void> {
    const both = { verification: start("verification"), execution: start("execution") };
    await both.verification.prints(readyText.verification);
    await both.execution.prints(readyText.execution);
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
      // On a busy machine a start takes longer than the time between two kills, and no zone would ever be up.
      await process?.prints(readyText[zone]);
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

function openSqliteRecords({ folder }: { folder: string }): StoredRecords {
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

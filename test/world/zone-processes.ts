/** Each zone as a process of the command that people start, in one folder, with the fake Slack in front: to be killed without warning. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFakeSlack } from "@sekisho/local/both-zones.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { type Process, sekisho } from "../e2e/processes.ts";

type Zone = "verification" | "execution";

const readyTexts: Record<Zone, string> = {
  verification: "Verification zone:",
  execution: "Execution zone:",
};

/** Resolves when the zone accepts requests. */
export function isReady(zone: Zone, process: Process): Promise<void> {
  return process.prints(readyTexts[zone]);
}

export type ZoneProcesses = Awaited<ReturnType<typeof openZoneProcesses>>;

/** Starts nothing but the fake Slack. */
export async function openZoneProcesses(slackOptions: Parameters<typeof openFakeSlack>[0] = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-processes-"));
  const { fakeSlack, slack } = await openFakeSlack(slackOptions);
  const ports: Record<Zone, number> = {
    verification: await freePort(),
    execution: await freePort(),
  };
  const secrets = {
    SLACK_SIGNING_SECRET: await slack.signingSecret(),
    SLACK_BOT_TOKEN: await slack.botToken(),
  };
  const processes: Process[] = [];
  return {
    ...{ folder, fakeSlack, secrets },
    eventsUrl: `http://127.0.0.1:${ports.verification}/slack/events`,
    /** Writes the configuration of both zones. */
    configure: (config: object) =>
      writeFileSync(
        join(folder, "sekisho.config.json"),
        JSON.stringify({ slack: { apiUrl: slack.apiUrl }, ...config }),
      ),
    /** The zone listens on the same port each time. */
    start(zone: Zone): Process {
      const process = sekisho({
        args: [zone, "--port", String(ports[zone])],
        cwd: folder,
        env: {
          ...secrets,
          SEKISHO_PORT: String(ports.verification),
          SEKISHO_EXECUTION_PORT: String(ports.execution),
          SEKISHO_LOG_LEVEL: "debug",
          // What a process compiled is kept when it ends cleanly: each later start takes a third of the time.
          NODE_COMPILE_CACHE: join(folder, "compiled"),
        },
      });
      processes.push(process);
      return process;
    },
    /** All that every process has printed. */
    output: () => processes.map((process) => process.output()).join(""),
    async close() {
      await Promise.all(processes.map((process) => process.kill("SIGKILL")));
      await fakeSlack.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

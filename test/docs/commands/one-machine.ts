/** Commands that begin on one machine: the local run, its configuration, its tasks, Slack over Socket Mode. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { startFakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { freePort } from "../../../lib/local/free-port.ts";
import { startSocketModeSlack } from "../../doubles/socket-mode-slack.ts";
import { blocksIn, sectionOf, textOf } from "./documented.ts";
import { onlyPart, type RunEntry } from "./entry.ts";
import type { Machine } from "./machine.ts";
import { lookAtInstall } from "./packages.ts";
import type { ShellCommand } from "./shell-line.ts";

const anyPort = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };

async function startsAndEnds(
  world: Machine,
  start: ShellCommand,
  env: Record<string, string> = {},
): Promise<string> {
  const zones = world.start(start, { env: { ...anyPort, ...env } });
  await zones.prints("Ctrl-C stops everything");
  expect(await zones.kill("SIGINT")).toMatchObject({ code: 0 });
  return zones.output();
}

/** The text without its ports and tokens. */
function withoutChance(text: string): string {
  return text
    .replaceAll(/(?<=127\.0\.0\.1:)\d+/g, "PORT")
    .replaceAll(/(?<=token=)[\w…-]+/g, "TOKEN");
}

export const oneMachine: RunEntry<Machine>[] = [
  {
    command: "npm ci && npm start",
    async run({ parts: [install, start], world }) {
      if (install === undefined || start === undefined)
        throw new Error("Two commands were expected.");
      lookAtInstall([install]);
      const printed = withoutChance(await startsAndEnds(world, start));
      const [lines = ""] = blocksIn(sectionOf(textOf("README.md"), "## Try it"), "text");
      expect(lines).toContain("Local page:");
      expect(printed).toContain(withoutChance(lines));
    },
  },
  {
    command: "npx --no-install sekisho init",
    async run({ parts, world }) {
      const folder = mkdtempSync(join(world.folder, "new-"));
      expect(await world.run(onlyPart(parts), { folder })).toMatchObject({ code: 0 });
      const check = { env: {}, args: ["sekisho", "config", "check"] };
      expect(await world.run(check, { folder })).toMatchObject({ code: 0 });
    },
  },
  {
    command: "npx --no-install sekisho start",
    async run({ parts, world }) {
      expect(await startsAndEnds(world, onlyPart(parts))).toContain("Local page:");
    },
  },
  {
    command: "npx --no-install sekisho start --watch",
    async run({ parts, world }) {
      const [code = ""] = blocksIn(textOf("docs/how-to/agent.md"), "ts");
      writeFileSync(join(world.folder, "agent.ts"), code);
      world.configure({ execution: { agent: "./agent.ts" } });
      world.after(() => world.configure({}));
      expect(await startsAndEnds(world, onlyPart(parts))).toContain("Local page:");
    },
  },
  {
    command: "SLACK_APP_TOKEN=xapp-… SLACK_BOT_TOKEN=xoxb-… npx --no-install sekisho start",
    async run({ parts, world }) {
      const [appToken, botToken] = ["xapp-1-of-a-document", "xoxb-of-a-document"];
      const fakeSlack = await startFakeSlack({ signingSecret: "unused", botToken });
      const slack = await startSocketModeSlack({ appToken, forwardTo: fakeSlack.apiUrl });
      world.after(() => Promise.all([slack.close(), fakeSlack.close()]));
      world.configure({ slack: { apiUrl: slack.apiUrl } });
      world.after(() => world.configure({}));
      const zones = world.start(onlyPart(parts), {
        env: anyPort,
        replace: { "xapp-…": appToken, "xoxb-…": botToken },
      });
      await zones.prints("Connected to Slack over Socket Mode");
      expect(zones.output()).toContain("npx --no-install sekisho allow add --team");
      expect(await zones.kill("SIGINT")).toMatchObject({ code: 0 });
    },
  },
  {
    command: "npx --no-install sekisho manifest --socket",
    async run({ parts, world }) {
      const { code, stdout } = await world.run(onlyPart(parts));
      expect(code).toBe(0);
      expect(JSON.parse(stdout).settings).toMatchObject({ socket_mode_enabled: true });
    },
  },
  {
    command: "npx --no-install sekisho manifest --url https://example.com",
    async run({ parts, world }) {
      const { code, stdout } = await world.run(onlyPart(parts));
      expect({
        code,
        address: JSON.parse(stdout).settings.event_subscriptions.request_url,
      }).toEqual({
        code: 0,
        address: expect.stringMatching(/^https:\/\/example\.com\//),
      });
    },
  },
  {
    command: "npx --no-install sekisho allow add --team T012AB3CD",
    async run({ parts, world }) {
      expect(await world.run(onlyPart(parts))).toMatchObject({ code: 0 });
      const list = await world.run({ env: {}, args: ["sekisho", "allow", "list"] });
      expect(list.stdout).toContain("T012AB3CD");
    },
  },
  {
    command: "npx --no-install sekisho config check",
    async run({ parts, world }) {
      const said = expect.stringContaining("The configuration is valid");
      expect(await world.run(onlyPart(parts))).toMatchObject({ code: 0, stdout: said });
    },
  },
  {
    command: "npx --no-install sekisho doctor",
    async run({ parts, world }) {
      const ports = {
        SEKISHO_PORT: String(await freePort()),
        SEKISHO_EXECUTION_PORT: String(await freePort()),
      };
      const said = expect.stringContaining("0 failed");
      expect(await world.run(onlyPart(parts), { env: ports })).toMatchObject({
        code: 0,
        stdout: said,
      });
    },
  },
];

/** Both zones with a destination of each transport, one of them an AgentCore stub in front of the same host. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "@jest/globals";
import { listButtons } from "@sekisho/local/fake-slack/blocks.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import type { PostedByFakePerson } from "@sekisho/local/fake-slack/persons.ts";
import type { Engine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { startAgentCoreStub } from "../doubles/agentcore-stub.ts";
import { hangMs } from "../tooling/hang.ts";
import { createBrowser } from "../verification/oauth/browser.ts";
import { type StartedZones, startZones } from "../world/started-zones.ts";

/** The destinations of the configuration; two are one transport in two versions of its protocol. */
export const transports = ["in-process", "https", "agentcore", "a2a", "a2a-0-3"] as const;

export type TransportName = (typeof transports)[number];
const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent-abc123";
const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "an-aws-secret-of-this-test" };
export type E2eWorld = Awaited<ReturnType<typeof startWorld>>;

/** A short budget, so that the async path is met soon, and long limits, since nothing here dies. The route is the one line that says over which transport. */
export async function startWorld({
  transport,
  agent = "echo",
  deadlineMs = hangMs,
  allowed = true,
  openEngine,
  slack = {},
  limits = {},
  allowlist = [],
  questions = {},
  forwardBotToken = false,
  install,
  telemetry = {},
  retryDelaysMs,
}: {
  transport: TransportName;
  agent?: string;
  deadlineMs?: number;
  allowed?: boolean;
  /** sqlite where absent. */
  openEngine?: ((zone: "verification" | "execution") => Engine) | undefined;
  /** As in the configuration. */
  slack?: object;
  limits?: object;
  allowlist?: object[];
  questions?: object;
  /** Over https. */
  forwardBotToken?: boolean;
  /** The app's credentials, where Slack lets it be installed into several workspaces. */
  install?: { clientId: string; clientSecret: string };
  telemetry?: object;
  /** When Slack delivers again what was not answered in time; as Slack itself does where absent. */
  retryDelaysMs?: readonly number[];
}) {
  let zones: StartedZones | undefined;
  const host = (request: Request) => {
    const local = new URL(request.url);
    return fetch(`${zones?.executionUrl}${local.pathname}`, {
      method: "POST",
      headers: headersOf(request),
      body: request.body,
      duplex: "half",
    } as RequestInit);
  };
  const stub = await startAgentCoreStub({ handle: host, runtimeArn, credentials });
  process.env.AWS_ACCESS_KEY_ID = credentials.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = credentials.secretAccessKey;
  const each = { deadlineMs, questions };
  zones = await startZones({
    config: {
      slack,
      allowlist,
      telemetry,
      destinations: {
        "in-process": { transport: "in-process", ...each },
        https: { transport: "https", ...each, forwardBotToken },
        agentcore: { transport: "agentcore", runtimeArn, endpoint: stub.endpoint, ...each },
        a2a: { transport: "a2a", ...each },
        "a2a-0-3": { transport: "a2a", version: "0.3", ...each },
      },
      routes: [{ destination: transport }],
      execution: { agent, syncBudgetMs: 300, leaseMs: 60_000, lostAfterMs: 500 },
      limits: { callTimeoutMs: 60_000, leaseMs: 90_000, visibilityTimeoutMs: 100_000, ...limits },
    },
    slack: {
      ...(install === undefined ? {} : { install }),
      ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
    },
    ...(allowed ? {} : { extraRules: [] }),
    openEngine,
  });
  const { storeFolder, close } = zones;
  return {
    ...zones,
    /** All bytes of both zones' stores, or of files whose name is as wished. */
    stored: (isWished: (name: string) => boolean = () => true) =>
      readdirSync(storeFolder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && isWished(entry.name))
        .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"))
        .join(""),
    secrets: { ...zones.secrets, aws: credentials.secretAccessKey },
    async close() {
      await close();
      await stub.close();
    },
  };
}

function headersOf(request: Request): Headers {
  const headers = new Headers(request.headers);
  for (const name of ["host", "content-length", "connection", "authorization"])
    headers.delete(name);
  return headers;
}

export function labelsOf({ blocks = [] }: FakeSlackMessage): string[] {
  return listButtons(blocks).map(({ button }) => button.text.text);
}

/** Resolves to the first message of the bot in the thread that is as wished. */
export function inThread(
  { answersTo }: Pick<E2eWorld, "answersTo">,
  { message }: Pick<PostedByFakePerson, "message">,
  isWished: (message: FakeSlackMessage) => boolean,
): Promise<FakeSlackMessage> {
  const seen = () =>
    answersTo(message).map(({ text, reactions, stream }) => ({ text, reactions, stream }));
  return until(() => answersTo(message).find(isWished), { seen: () => JSON.stringify(seen()) });
}

/** The message with a button of that label. */
export function withButton(
  world: Pick<E2eWorld, "answersTo">,
  post: Pick<PostedByFakePerson, "message">,
  label: string,
): Promise<FakeSlackMessage> {
  return inThread(world, post, (message) => labelsOf(message).includes(label));
}

export function textsOf(messages: readonly FakeSlackMessage[]): string {
  return messages.map(({ text }) => text).join("\n");
}

/** Stories that run at once in one world, since most of a story is waiting; each is heard by a test of its own. */

/** What became of each, by its name. A story that has gone wrong is told of when its test awaits it. */
export function together<Args extends unknown[]>(
  stories: Record<string, (...args: Args) => Promise<void>>,
  ...args: Args
): ReadonlyMap<string, Promise<void>> {
  const storyRuns = new Map<string, Promise<void>>();
  for (const [name, story] of Object.entries(stories)) {
    const end = story(...args);
    end.catch(() => {});
    storyRuns.set(name, end);
  }
  return storyRuns;
}

export function browserAt({ verificationUrl }: E2eWorld) {
  return createBrowser({
    oauth: ({ url, headers }) => {
      const { pathname, search } = new URL(url);
      return fetch(new URL(pathname + search, verificationUrl), { headers, redirect: "manual" });
    },
  });
}

export async function install(
  world: E2eWorld,
  where: { team: string } | { enterprise: string },
): Promise<void> {
  const browser = browserAt(world);
  const { state, authorize } = await browser.begin();
  expect(authorize.searchParams.get("client_id")).toBe("1234.5678");
  const { code } = world.fakeSlack.authorize(where);
  expect(await browser.back({ code, state })).toMatchObject({ status: 200 });
}

const lookEveryMs = 20;

/** Resolves to what `look` finds; rejects with what `seen` tells when it found nothing within `hangMs`. */
export async function until<T>(
  look: () => T | undefined | false,
  { seen = () => "" }: { seen?: () => string } = {},
): Promise<T> {
  const endMs = performance.now() + hangMs;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > endMs) throw new Error(`It did not come. There was: ${seen()}`);
    await wait(lookEveryMs);
  }
}
